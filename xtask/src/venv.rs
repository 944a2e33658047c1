//! Folders with a Python environment of their own, so that the user's Python is not changed.

use crate::command::{command, on_path, within};
use crate::setup::{can_use_apt, install_package};
use anyhow::Result;
use std::path::Path;
use std::time::Duration;

/// The longest time to make such a folder, and the longest time of pip for what it fetches.
pub(crate) const FETCH_LIMIT: Duration = Duration::from_secs(300);

/// Makes such a folder; returns the reason if that is not possible. Its path is absolute.
pub(crate) fn make(folder: &Path) -> Result<Option<&'static str>> {
    if !on_path("python3") {
        return Ok(Some("there is no python3 here"));
    }
    let mut venv = command("python3", Path::new("/"));
    venv.args(["-m", "venv"]).arg(folder);
    let mut made = within(FETCH_LIMIT, &mut venv)?;
    // Debian has the other half of this module in a package of its own.
    if !made && can_use_apt() && install_package("python3-venv")? {
        made = within(FETCH_LIMIT, &mut venv)?;
    }
    Ok((!made).then_some("python3 cannot make a folder for it (venv)"))
}
