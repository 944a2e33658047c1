//! `cangate lab exec`.

use crate::cli::lab::Exec;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(_args: &Exec) -> Result<(), Failure> {
    Err(Failure::Run("lab exec: not there yet".to_owned()))
}
