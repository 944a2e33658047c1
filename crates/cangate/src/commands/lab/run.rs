//! `cangate lab run`.

use crate::cli::lab::Run;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(_args: &Run) -> Result<(), Failure> {
    Err(Failure::Run("lab run: not there yet".to_owned()))
}
