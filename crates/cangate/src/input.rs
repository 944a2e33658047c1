//! Gateway files that are given on the command line.

use crate::kinds::kinds;
use config::SourceText;
use console::Failure;
use gateway::config::GatewayConfig;
use gateway::run::files_beside;
use std::path::Path;

/// Loads a gateway file, with the databases that it names: returns its configuration, and its
/// warnings as text. `file` is the path of `source`; `-` is standard input.
pub(crate) fn load_config(
    source: &SourceText,
    file: &Path,
    color: bool,
) -> Result<(GatewayConfig, String), Failure> {
    let file = Some(file).filter(|file| *file != Path::new("-"));
    match gateway::config::load_with(source, &kinds(), &files_beside(file)) {
        Ok((config, warnings)) => Ok((config, config::render(source, &warnings, color))),
        Err(found) => Err(Failure::Mistakes(config::render(source, &found, color))),
    }
}
