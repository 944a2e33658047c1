//! Common parts of the claims about two kinds of driver: round trips between two controllers of one
//! bus (drivers-2009 §3.1), by sockets and by character devices.
//!
//! The paper: a Pentium 4 with SJA1000 cards at 1 Mbit/s, 8 bytes, 10 000 round trips, programs
//! with real-time priority, mostly kernels with PREEMPT_RT. Here: the timed bench with SJA1000
//! controllers (`--cpu pc`), the same bus and frames. The overhead is compared: a round trip less
//! both frames' time on the bus.

use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::figure::{AxisPlace, FigureAxis, FigureValue, axis, micros};
use crate::setups::placement;
use crate::stats::us;
use experiment::{
    BenchKind, Experiment, ExperimentTask, GatewayChoice, Kernel, MachineLoad, Tuning, WayPair,
    round_trip,
};

use probe::LatencySummary;

/// The gateway with read(2) and write(2), as canping uses them.
pub(super) const SOCKETS: GatewayChoice = GatewayChoice::User(WayPair::READ_WRITE);
pub(super) const DEVICE: GatewayChoice = GatewayChoice::Chardev;
/// The kernels of claims about PREEMPT_RT, and about ordinary ones.
pub(super) const RT: Kernel = Kernel::V6_1_RT;
pub(super) const PLAIN: Kernel = Kernel::V6_1;

/// Returns the paper's round trip, on an idle machine.
pub(super) fn idle(extent: Extent, kernel: Kernel, gateway: GatewayChoice) -> Experiment {
    Experiment {
        kernel,
        bench: BenchKind::Timed,
        task: ExperimentTask::RoundTrip,
        gateway,
        payload: 8,
        frames: extent.pick(500, 10_000),
        ..Experiment::default()
    }
}

/// Returns the same experiment during a load.
pub(super) fn loaded(
    extent: Extent,
    kernel: Kernel,
    gateway: GatewayChoice,
    load: MachineLoad,
    tuning: Tuning,
) -> Experiment {
    Experiment {
        load,
        tuning,
        apart: placement(load),
        // With 400 tasks running, each round trip takes the host a tenth of a second.
        frames: match load {
            MachineLoad::Cpu => 1000,
            _ => extent.pick(500, 10_000),
        },
        ..idle(extent, kernel, gateway)
    }
}

/// Overheads, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct OverheadTimes {
    pub(super) p50: i64,
    pub(super) p99: i64,
    pub(super) max: i64,
}

/// Returns the time of a round trip in addition to both frames' time on the bus.
pub(super) fn overhead(
    evidence: &ClaimEvidence,
    experiment: &Experiment,
) -> Result<OverheadTimes, MissingEvidence> {
    let LatencySummary { p50, p99, max, .. } = evidence.summary(experiment)?;
    let results = evidence.results(experiment)?;
    let bus = round_trip::bus_time(results).ok_or_else(|| MissingEvidence {
        experiment: experiment.name(),
        why: "its results do not contain the frames' time on the bus".to_owned(),
    })?;
    Ok(OverheadTimes {
        p50: p50 - bus,
        p99: p99 - bus,
        max: max - bus,
    })
}

/// Formats the median and worst case as a claim shows them.
pub(super) fn shown(overhead: &OverheadTimes) -> String {
    format!("{} (worst {})", us(overhead.p50), us(overhead.max))
}

/// The section of the values that the paper states.
pub(super) const SOURCE: &str = "drivers-2009 §3.2";

/// Returns the overheads of round trips, by kind of driver.
pub(super) fn drivers(
    evidence: &ClaimEvidence,
    e: &Experiment,
    setting: String,
    x: AxisPlace,
) -> Result<Vec<FigureValue>, MissingEvidence> {
    let found = overhead(evidence, e)?;
    Ok(vec![FigureValue {
        setting,
        x,
        median: micros(found.p50),
        worst: Some(micros(found.max)),
    }])
}

pub(super) const OVERHEAD: FigureAxis = axis("round trip less both frames' time on the bus", "µs");

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::claim::{Claim, Verdict};
    use experiment::fake;
    use probe::RunResults;

    /// Returns the verdict where an experiment's overheads are these, ns.
    pub(in crate::list) fn verdict(
        claim: &Claim,
        extent: Extent,
        of: impl Fn(&Experiment) -> Vec<u64>,
    ) -> Verdict {
        let mut evidence = ClaimEvidence::default();
        for e in claim.needs(extent) {
            let results = trips(of(&e));
            evidence.add(e, Ok(results));
        }
        claim.judge(&evidence, extent).verdict
    }

    /// Returns round trips with these overheads, ns.
    pub(in crate::list) fn trips(overheads: Vec<u64>) -> RunResults {
        const BUS: u64 = 249_000;
        let latencies = overheads.into_iter().map(|ns| ns + BUS);
        let mut results = fake::results(fake::with_latencies(latencies));
        let bus = ("time on the bus, ns".to_owned(), BUS.to_string());
        results.description.more.push(bus);
        results
    }
}
