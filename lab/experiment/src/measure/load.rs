//! The load on the gateway's machine (gateway-2011 §2.2).

use super::apart::SignalLink;
use super::error::MeasureError;
use crate::apart::{LOAD, StepSignal};
use crate::choices::MachineLoad;
use crate::settings::Experiment;
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::BackgroundProgram;
use std::time::Duration;

/// Time for a load to start, of the guest's time. A loaded guest costs the host twenty times its
/// time, so this is not much longer than hackbench needs to start all its tasks.
const GET_GOING: Duration = Duration::from_millis(300);

/// The addresses of a guest's two network cards, outside and inside the gateway's namespace.
const OUTSIDE: &str = "192.0.2.1";
const INSIDE: &str = "192.0.2.2";

/// A load that runs until it is dropped.
pub(super) struct RunningLoad {
    /// The program on this machine; `None` if the load comes from another one.
    program: Option<BackgroundProgram>,
    /// The access to the machine that is the other end, if it is another one.
    other: Option<SignalLink>,
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        drop(self.program.take());
        if let Some(other) = &self.other {
            // Without this signal the other machine does not end, and the run fails at its limit.
            let _ = other.send(StepSignal::LoadEnds);
        }
    }
}

/// Starts the experiment's load.
pub(super) fn start(experiment: &Experiment) -> Result<Option<RunningLoad>, MeasureError> {
    let here = |program| RunningLoad {
        program: Some(program),
        other: None,
    };
    let load = match (experiment.load, experiment.is_apart()) {
        (MachineLoad::None, _) => return Ok(None),
        // hackbench's own number of tasks (400); enough loops to outlast every experiment.
        (MachineLoad::Cpu, _) => here(background(
            Some(GATEWAY),
            &["hackbench", "-l", "1000000000"],
        )?),
        (MachineLoad::EthRx, false) => here(ping(None, INSIDE)?),
        (MachineLoad::EthTx, false) => here(ping(Some(GATEWAY), OUTSIDE)?),
        (MachineLoad::EthRx, true) => {
            let mut other = SignalLink::open()?;
            other.send(StepSignal::LoadBegins)?;
            other.wait(StepSignal::LoadRuns)?;
            RunningLoad {
                program: None,
                other: Some(other),
            }
        }
        (MachineLoad::EthTx, true) => {
            let other = SignalLink::open()?;
            RunningLoad {
                program: Some(ping(None, LOAD)?),
                other: Some(other),
            }
        }
    };
    Ok(Some(load))
}

/// Starts a flood of packets to a host, each of 60 kB, which the host sends back.
pub(super) fn ping(namespace: Option<&str>, to: &str) -> Result<BackgroundProgram, MeasureError> {
    background(namespace, &["ping", "-f", "-q", "-s", "60000", to])
}

fn background(namespace: Option<&str>, line: &[&str]) -> Result<BackgroundProgram, MeasureError> {
    let mut running = BackgroundProgram::start(namespace, line, "/tmp/load")?;
    std::thread::sleep(GET_GOING);
    match running.ended() {
        Some(ended) => Err(MeasureError::LoadEnded(ended)),
        None => Ok(running),
    }
}

/// Checks that the load has not ended on its own, and ends it.
pub(super) fn still_runs(mut running: BackgroundProgram) -> Result<(), MeasureError> {
    match running.ended() {
        Some(ended) => Err(MeasureError::LoadEnded(ended)),
        None => Ok(()),
    }
}
