//! A summary of the results of an experiment.

use crate::settings::Experiment;
use probe::{FrameRecord, LatencyProfile, RunResults, Status};
use serde::Serialize;

/// The costs of a register access for which latencies are shown, ns.
pub const ACCESS_COSTS: [u32; 3] = [0, 100, 1000];

/// Four figures of latencies, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatencyFigures {
    /// The least.
    pub min: i64,
    /// The median.
    pub p50: i64,
    /// 99th percentile.
    pub p99: i64,
    /// The greatest.
    pub max: i64,
}

impl LatencyFigures {
    fn from_values(values: impl IntoIterator<Item = i64>) -> Option<Self> {
        let summary = values.into_iter().collect::<LatencyProfile>().summary()?;
        Some(Self {
            min: summary.min,
            p50: summary.p50,
            p99: summary.p99,
            max: summary.max,
        })
    }
}

/// Latencies under the assumption that a register access has this cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AtCost {
    /// Assumed cost of an access, ns.
    pub access_ns: u32,
    /// The latencies at that cost.
    pub latency_ns: LatencyFigures,
}

/// Register accesses between a frame's two stamps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RegisterFigures {
    /// The fewest.
    pub min: u32,
    /// The median.
    pub p50: u32,
    /// The most.
    pub max: u32,
    /// The latencies at each assumed cost.
    pub at_cost: Vec<AtCost>,
}

/// The figures of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExperimentFigures {
    /// The gateway's latencies; `None` where no frame came back.
    pub latency_ns: Option<LatencyFigures>,
    /// Frames that went in.
    pub sent: u64,
    /// Frames that came out.
    pub received: u64,
    /// Frames that did not come out.
    pub lost: u64,
    /// Frames that left after one that had come in later.
    pub reordered: u64,
    /// Frames that came out a second time.
    pub duplicated: u64,
    /// Frames that came out and had not gone in.
    pub unexpected: u64,
    /// `virtual` or `real`.
    pub time: &'static str,
    /// Register accesses, where they were recorded.
    pub register_accesses: Option<RegisterFigures>,
}

impl ExperimentFigures {
    /// Returns the figures of results.
    #[must_use]
    pub fn from_results(experiment: &Experiment, results: &RunResults) -> Self {
        let records = &results.records;
        let count = |status| records.iter().filter(|r| r.status == status).count() as u64;
        let (duplicated, unexpected) = (count(Status::Duplicated), count(Status::Unexpected));
        Self {
            latency_ns: LatencyFigures::from_values(latencies(results)),
            sent: records.iter().filter(|r| r.incoming.is_some()).count() as u64 - duplicated,
            received: count(Status::Delivered),
            lost: count(Status::Lost),
            reordered: reordered(records),
            duplicated,
            unexpected,
            time: if experiment.is_real_time() {
                "real"
            } else {
                "virtual"
            },
            register_accesses: registers(records),
        }
    }
}

/// Returns the latencies of the frames that came back, in the records' order.
pub fn latencies(results: &RunResults) -> impl Iterator<Item = i64> + '_ {
    let delivered = |r: &&FrameRecord| r.status == Status::Delivered;
    results
        .records
        .iter()
        .filter(delivered)
        .filter_map(FrameRecord::latency)
}

/// Counts the frames that left after one that had come in later (RFC 4737 §3.3).
fn reordered(records: &[FrameRecord]) -> u64 {
    let delivered = records.iter().filter(|r| r.status == Status::Delivered);
    let ends = delivered.filter_map(|r| Some((r.outgoing?.end, r.incoming?.end)));
    let mut ends: Vec<_> = ends.collect();
    ends.sort_unstable();
    let mut latest = 0;
    let late = |&(_, end): &(u64, u64)| {
        let late = end < latest;
        latest = latest.max(end);
        late
    };
    ends.iter().copied().filter(late).count() as u64
}

fn registers(records: &[FrameRecord]) -> Option<RegisterFigures> {
    let pairs: Vec<_> = records
        .iter()
        .filter_map(|r| Some((r.latency()?, r.accesses?)))
        .collect();
    let counts = pairs
        .iter()
        .map(|p| i64::from(p.1))
        .collect::<LatencyProfile>();
    let counts = counts.summary()?;
    let small = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    let at_cost = ACCESS_COSTS.iter().filter_map(|&access_ns| {
        let cost = i64::from(access_ns);
        let with = pairs
            .iter()
            .map(|p| p.0.saturating_add(i64::from(p.1) * cost));
        Some(AtCost {
            access_ns,
            latency_ns: LatencyFigures::from_values(with)?,
        })
    });
    Some(RegisterFigures {
        min: small(counts.min),
        p50: small(counts.p50),
        max: small(counts.max),
        at_cost: at_cost.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    fn results(records: Vec<FrameRecord>) -> RunResults {
        RunResults {
            records,
            ..RunResults::default()
        }
    }

    #[test]
    fn frames_are_counted_by_what_became_of_them() {
        let mut records = fake::records(6, 1000);
        records[1].status = Status::Lost;
        records[1].outgoing = None;
        records[2].status = Status::Duplicated;
        records[5].status = Status::Unexpected;
        records[5].incoming = None;
        let f = ExperimentFigures::from_results(&Experiment::default(), &results(records));
        assert_eq!((f.sent, f.received, f.lost), (4, 3, 1));
        assert_eq!((f.duplicated, f.unexpected, f.reordered), (1, 1, 0));
        assert_eq!(f.latency_ns.unwrap().max, 1000);
        assert_eq!(f.time, "virtual");
    }

    #[test]
    fn a_frame_that_was_overtaken_is_reordered() {
        let mut records = fake::records(4, 1000);
        let last = records[3].outgoing.unwrap().end;
        records[0].outgoing.as_mut().unwrap().end = last + 1;
        let f = ExperimentFigures::from_results(&Experiment::default(), &results(records));
        assert_eq!(f.reordered, 1);
    }

    #[test]
    fn accesses_are_charged() {
        let mut records = fake::records(3, 1000);
        for (record, n) in records.iter_mut().zip([10, 20, 30]) {
            record.accesses = Some(n);
        }
        let f = ExperimentFigures::from_results(&Experiment::default(), &results(records));
        let r = f.register_accesses.unwrap();
        assert_eq!((r.min, r.p50, r.max), (10, 20, 30));
        let p50: Vec<_> = r.at_cost.iter().map(|c| c.latency_ns.p50).collect();
        assert_eq!(p50, [1000, 3000, 21_000]);
    }

    #[test]
    fn where_nothing_came_back_there_is_no_latency() {
        let f = ExperimentFigures::from_results(&Experiment::default(), &RunResults::default());
        assert_eq!((f.latency_ns, f.register_accesses), (None, None));
    }
}
