//! One machine of several: its part of an experiment, and the signals between the parts.

mod between;
mod peer;
mod sender;
mod signals;

pub(super) use sender::flood;
pub(super) use signals::{SignalError, SignalLink};

use super::balance;
use super::counts::GatewayCounts;
use super::error::MeasureError;
use super::finished;
use crate::apart::{MachinePart, PartTask};
use crate::settings::Experiment;
use guest::agent::JobOutputs;
use tester::TesterOutcome;

/// Does a machine's part, and passes what it made to the host.
///
/// # Errors
/// [`MeasureError`]: a missing resource, or frames that do not come through.
pub(crate) fn run(task: &PartTask, outputs: &mut JobOutputs) -> Result<(), MeasureError> {
    let experiment = &task.experiment;
    match task.part {
        MachinePart::Gateway => between::run(experiment, outputs),
        MachinePart::Tester => sender::run(experiment, outputs),
        MachinePart::Bench => super::measure(super::prepare(experiment)?, experiment, outputs),
        MachinePart::Load => peer::run(experiment),
    }
}

/// Compares the frames on the buses with the counts that the gateway's machine has handed out, and
/// returns the results' file.
///
/// # Errors
/// [`MeasureError`]: the counts that do not agree.
pub(crate) fn accounted(
    experiment: &Experiment,
    mut outcome: TesterOutcome,
    counts: &[u8],
) -> Result<Vec<u8>, MeasureError> {
    if let Some(failure) = &outcome.failure {
        return Err(MeasureError::Run(failure.clone()));
    }
    let counts: GatewayCounts = serde_json::from_slice(counts).map_err(MeasureError::PartCounts)?;
    // The driver counts one error for several frames that its FIFO lost, and the buses show all
    // that it was to receive.
    let records = outcome.results.records.iter();
    let went_in = records.filter(|record| record.incoming.is_some()).count() as u64;
    outcome.overruns = Some(went_in.saturating_sub(counts.received));
    let more = balance::check(experiment, &outcome, &counts)?;
    finished(experiment, &mut outcome, more)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the counts of a gateway that received, missed (in one overrun or none) and sent
    /// these frames, as its machine hands them out.
    pub(crate) fn counted(received: u64, overruns: u64, sent: u64) -> Vec<u8> {
        let counts = GatewayCounts {
            received,
            receive_errors: overruns,
            sent,
            handled: sent,
            ..GatewayCounts::default()
        };
        serde_json::to_vec(&counts).unwrap()
    }
}
