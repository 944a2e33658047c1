//! `cangate lab agent`: inside a guest.

use crate::failure::Failure;

/// Does the job that the host left.
pub(crate) fn run() -> Result<(), Failure> {
    Err(Failure::Run("lab agent: not there yet".to_owned()))
}
