//! `cangate lab list`.

use crate::cli::lab::List;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(_args: &List) -> Result<(), Failure> {
    Err(Failure::Run("lab list: not there yet".to_owned()))
}
