//! `cangate lab reproduce`.

use crate::cli::lab::Reproduce;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(_args: &Reproduce) -> Result<(), Failure> {
    Err(Failure::Run("lab reproduce: not there yet".to_owned()))
}
