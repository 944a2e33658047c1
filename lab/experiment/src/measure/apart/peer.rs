//! The machine that is the other end of an Ethernet load.

use super::signals::SignalLink;
use crate::apart::{MEASURED, StepSignal};
use crate::choices::MachineLoad;
use crate::measure::error::MeasureError;
use crate::measure::load;
use crate::settings::Experiment;

pub(super) fn run(experiment: &Experiment) -> Result<(), MeasureError> {
    let mut signals = SignalLink::open()?;
    if experiment.load == MachineLoad::EthRx {
        signals.wait(StepSignal::LoadBegins)?;
        let ping = load::ping(None, MEASURED)?;
        signals.send(StepSignal::LoadRuns)?;
        signals.wait(StepSignal::LoadEnds)?;
        load::still_runs(ping)
    } else {
        // The kernel answers what comes.
        signals.wait(StepSignal::LoadEnds)?;
        Ok(())
    }
}
