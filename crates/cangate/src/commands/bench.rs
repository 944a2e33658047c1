//! `cangate bench`.

use crate::cli::bench::Bench;
use crate::failure::Failure;

/// Times a gateway between real interfaces.
pub(crate) fn run(_args: &Bench) -> Result<(), Failure> {
    Err(Failure::Run("bench: not there yet".to_owned()))
}
