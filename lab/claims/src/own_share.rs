//! The part of a median that the bench costs, and the part that is the gateway's own.

use crate::evidence::{ClaimEvidence, MissingEvidence};
use experiment::Experiment;
use experiment::settings::Setting;
use probe::traffic::TrafficPattern;
use serde::Serialize;

/// The median of an experiment with one frame at a time, and an ideal gateway's part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnShare {
    /// The settings in which it differs from the claim's other experiments: `gateway bpf, filters
    /// list:2048`.
    pub what: String,
    /// The median latency, ns.
    pub p50: i64,
    /// The ideal gateway's median on the same bench, ns.
    pub floor: i64,
}

impl OwnShare {
    /// Returns the gateway's own part, ns.
    #[must_use]
    pub const fn own(&self) -> i64 {
        self.p50 - self.floor
    }
}

/// Returns a median less the bench's floor, ns.
pub(crate) fn own(
    evidence: &ClaimEvidence,
    experiment: &Experiment,
) -> Result<i64, MissingEvidence> {
    let floor = experiment.floor().ok_or_else(|| MissingEvidence {
        experiment: experiment.name(),
        why: "its bench has no floor".to_owned(),
    })?;
    Ok(evidence.summary(experiment)?.p50 - evidence.summary(&floor)?.p50)
}

/// Settings that do not identify the gateway.
const COUNTS: [Setting; 3] = [Setting::Traffic, Setting::Frames, Setting::Seed];

/// Returns the own shares of the experiments in which frames come one at a time and without another
/// load: where frames wait for one another, the bench's part overlaps the gateway's.
pub(crate) fn own_shares(evidence: &ClaimEvidence, needs: &[Experiment]) -> Vec<OwnShare> {
    let alone = |e: &&Experiment| {
        e.traffic == TrafficPattern::OneAtATime
            && e.load == experiment::MachineLoad::None
            && e.gateway.has_routes()
    };
    let alone: Vec<_> = needs.iter().filter(alone).collect();
    let differs = |s: &Setting| {
        let mut words = alone.iter().map(|e| s.word(e));
        let first = words.next();
        words.any(|word| Some(word) != first)
    };
    let differing: Vec<_> = Setting::ALL
        .iter()
        .filter(|s| **s == Setting::Gateway || !COUNTS.contains(s) && differs(s))
        .collect();
    let one = |e: &&Experiment| {
        let what: Vec<_> = differing
            .iter()
            .map(|s| format!("{s} {}", s.word(e)))
            .collect();
        Some(OwnShare {
            what: what.join(", "),
            p50: evidence.summary(e).ok()?.p50,
            floor: evidence.summary(&e.floor()?).ok()?.p50,
        })
    };
    alone.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::{FilterChoice, GatewayChoice, fake};
    use probe::RunResults;

    fn add(evidence: &mut ClaimEvidence, experiment: &Experiment, ns: u64) {
        let results = RunResults {
            records: fake::records(9, ns),
            ..RunResults::default()
        };
        evidence.add(experiment.clone(), Ok(results));
    }

    #[test]
    fn the_floor_is_taken_off_and_what_differs_is_named() {
        let cangw = Experiment::default();
        let bpf = Experiment {
            gateway: GatewayChoice::Bpf,
            filters: FilterChoice::List(8),
            ..cangw.clone()
        };
        let flood = Experiment {
            traffic: TrafficPattern::Flood,
            ..cangw.clone()
        };
        let mut evidence = ClaimEvidence::default();
        add(&mut evidence, &cangw, 17_000);
        add(&mut evidence, &bpf, 16_000);
        add(&mut evidence, &flood, 30_000);
        let needs = [cangw.clone(), bpf, flood];
        assert_eq!(own_shares(&evidence, &needs), [], "no floor was made");
        add(&mut evidence, &cangw.floor().unwrap(), 3_000);
        let shares = own_shares(&evidence, &needs);
        let shown: Vec<_> = shares.iter().map(|s| (s.what.as_str(), s.own())).collect();
        assert_eq!(
            shown,
            [
                ("gateway cangw, filters none", 14_000),
                ("gateway bpf, filters list:8", 13_000)
            ]
        );
    }
}
