//! `cangate bench --syscalls`.

use crate::cli::bench::Bench;
use crate::failure::Failure;

pub(crate) fn run(_interface: &str, _args: &Bench) -> Result<(), Failure> {
    Err(Failure::Run("not there yet".to_owned()))
}
