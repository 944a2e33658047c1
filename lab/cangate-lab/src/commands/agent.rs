//! `cangate lab agent`: inside a guest.

use console::Failure;

/// Runs the job that the host left.
pub(crate) fn run() -> Result<(), Failure> {
    guest::agent::run(&experiment::ExperimentAgent).map_err(Failure::run)
}
