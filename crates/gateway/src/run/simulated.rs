//! A run on embedded buses in place of interfaces.

use super::error::RunError;
use super::files::{RunOptions, SimulatedRun, run_as};
use super::options::RunSummary;
use crate::config::GatewayConfig;
use crate::notice::Listener;
use crate::simulate::SimulationOptions;
use port::PortKinds;
use port::embedded::BusTraffic;

/// Runs a gateway on embedded buses in real time, as [`super::run`] runs it on interfaces.
/// `traffic` is what other nodes send on the buses.
///
/// # Errors
/// [`RunError`].
pub fn run_simulated(
    config: GatewayConfig,
    kinds: &PortKinds,
    options: &RunOptions,
    simulation: SimulationOptions,
    traffic: Option<Box<dyn BusTraffic>>,
    listener: &Listener<'_>,
) -> Result<RunSummary, RunError> {
    let run = SimulatedRun {
        options: simulation,
        traffic,
    };
    run_as(config, kinds, options, Some(run), listener)
}
