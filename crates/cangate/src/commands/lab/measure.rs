//! `cangate lab measure`.

use crate::cli::lab::Measure;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(_args: &Measure) -> Result<(), Failure> {
    Err(Failure::Run("lab measure: not there yet".to_owned()))
}
