//! The pictures of the documents: the tests that compare them write them here.

use crate::command::{on_path, show};
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::Result;

/// The variable that makes those tests write.
const WRITE: &str = "CANGATE_PICTURES";

/// Draws all of `docs/pictures` again.
pub(crate) fn make(workspace: &Workspace) -> Result<TestTally> {
    let names = [
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ];
    let browser = std::env::var_os("CHROMIUM").is_some() || names.iter().any(|name| on_path(name));
    let mut test = workspace.cargo("test");
    test.args([
        "-p",
        "cangate",
        "-p",
        "cangate-lab",
        "--bin",
        "cangate",
        "--test",
        "cli",
        "picture",
    ]);
    test.env(WRITE, "write");
    let mut tally = TestTally::check(show(&mut test)?);
    if !browser {
        tally.add(TestTally::skipped(
            "the pictures of pages because there is no Chromium",
        ));
    }
    Ok(tally)
}
