//! `cangate report`.

use crate::cli::report::Report;
use crate::failure::Failure;

/// Makes a site of a folder of results.
pub(crate) fn run(_args: &Report) -> Result<(), Failure> {
    Err(Failure::Run("report: not there yet".to_owned()))
}
