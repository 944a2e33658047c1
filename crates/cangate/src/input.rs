//! Gateway files that are given on the command line.

use crate::kinds::kinds;
use config::SourceText;
use console::Failure;
use gateway::config::GatewayConfig;

/// Loads a gateway file: returns its configuration, and its warnings as text.
pub(crate) fn load_config(
    source: &SourceText,
    color: bool,
) -> Result<(GatewayConfig, String), Failure> {
    match gateway::config::load(source, &kinds()) {
        Ok((config, warnings)) => Ok((config, config::render(source, &warnings, color))),
        Err(found) => Err(Failure::Mistakes(config::render(source, &found, color))),
    }
}
