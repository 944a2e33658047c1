//! `cangate lab setup`.

use crate::cli::lab::Setup;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(_args: &Setup) -> Result<(), Failure> {
    Err(Failure::Run("lab setup: not there yet".to_owned()))
}
