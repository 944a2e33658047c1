//! The data of one experiment's records: figures for the index, curves for its charts.

use crate::cloud::DotCloud;
use crate::curve::ProfileCurve;
use crate::settings::{TimeBase, everything, settings};
use probe::matching::ReorderCount;
use probe::{FrameRecord, LatencyProfile, RunResults, Status};
use serde::Serialize;

/// The assumed cost of an access to a device register, ns: virtual time charges one instruction,
/// hardware a value between these.
pub(super) const COSTS: [u32; 3] = [0, 100, 1_000];

/// Approximate number of dots of a time chart.
const DOTS: usize = 400;
/// Number of slices of a run, for the chart of where losses happened.
const SLICES: usize = 100;

/// Figures of a distribution, ns; quantiles by nearest rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct SiteFigures {
    pub(super) count: u64,
    pub(super) min: i64,
    pub(super) p50: i64,
    pub(super) p99: i64,
    pub(super) p999: i64,
    pub(super) max: i64,
}

impl SiteFigures {
    fn from_profile(profile: &LatencyProfile) -> Option<Self> {
        let s = profile.summary()?;
        Some(Self {
            count: s.count,
            min: s.min,
            p50: s.p50,
            p99: s.p99,
            p999: profile.quantile(999)?,
            max: s.max,
        })
    }
}

/// Register accesses of the frames that have a latency and a count of accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RegisterAccesses {
    pub(super) frames: u64,
    pub(super) sum: u64,
    pub(super) min: u32,
    pub(super) max: u32,
}

/// An experiment's line in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct IndexLine {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) clock: TimeBase,
    pub(super) stamp: String,
    /// The settings in the order of [`crate::settings::KNOWN`].
    pub(super) settings: Vec<String>,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) lost: u64,
    pub(super) reordered: u64,
    pub(super) duplicated: u64,
    /// One entry for each of [`COSTS`]; those above 0 only if accesses were counted.
    pub(super) latency: Vec<Option<SiteFigures>>,
    pub(super) accesses: Option<RegisterAccesses>,
}

/// The parts of the run in which frames were lost.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub(super) struct LossPlaces {
    /// Length of the run by incoming frames, ns.
    pub(super) span: u64,
    /// Frames that came in, for each slice of the run.
    pub(super) frames: Vec<u64>,
    /// Number of lost frames in each slice.
    pub(super) lost: Vec<u64>,
    /// Number of sequences of consecutive losses.
    pub(super) runs: u64,
    /// The length of the longest sequence.
    pub(super) longest: u64,
    /// Number of lost frames without a stamp that places them in the run.
    pub(super) unplaced: u64,
}

/// The data that is loaded when an experiment is drawn or viewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ExperimentDetails {
    /// One curve for each of [`COSTS`], those above 0 only if accesses were counted.
    pub(super) curves: Vec<Option<ProfileCurve>>,
    /// Latency over the end of the incoming frame, since the first one.
    pub(super) time: DotCloud,
    pub(super) losses: LossPlaces,
    /// Each status with its number of frames.
    pub(super) fates: Vec<(&'static str, u64)>,
    pub(super) description: Vec<(String, String)>,
}

/// Returns all data of one experiment.
pub(super) fn digest(name: &str, results: &RunResults) -> (IndexLine, ExperimentDetails) {
    let records = &results.records;
    let profiles = profiles(records);
    let with = |status: Status| records.iter().filter(|r| r.status == status).count() as u64;
    let (duplicated, unexpected) = (with(Status::Duplicated), with(Status::Unexpected));
    let d = &results.description;
    let line = IndexLine {
        name: name.to_owned(),
        title: d.title.clone(),
        clock: TimeBase::from_description(d),
        stamp: d.stamp.clone(),
        settings: settings(d),
        sent: (records.len() as u64).saturating_sub(duplicated.saturating_add(unexpected)),
        received: with(Status::Delivered),
        lost: with(Status::Lost),
        reordered: reordered(records),
        duplicated,
        latency: profiles.iter().map(SiteFigures::from_profile).collect(),
        accesses: accesses(records),
    };
    let curve = |p: &LatencyProfile| (p.count() > 0).then(|| ProfileCurve::from_profile(p));
    let details = ExperimentDetails {
        curves: profiles.iter().map(curve).collect(),
        time: over_time(records),
        losses: losses(records),
        fates: results
            .fates()
            .into_iter()
            .map(|(s, n)| (s.as_str(), n))
            .collect(),
        description: everything(d),
    };
    (line, details)
}

/// Returns a frame's latency if an access costs `cost` ns: at 0 for every frame that has a latency,
/// else for those whose accesses were counted.
fn latency(record: &FrameRecord, cost: u32) -> Option<i64> {
    let latency = record.latency()?;
    if cost == 0 {
        return Some(latency);
    }
    let more = i64::from(record.accesses?).saturating_mul(i64::from(cost));
    Some(latency.saturating_add(more))
}

fn profiles(records: &[FrameRecord]) -> Vec<LatencyProfile> {
    let profile = |cost: u32| records.iter().filter_map(|r| latency(r, cost)).collect();
    COSTS.into_iter().map(profile).collect()
}

fn accesses(records: &[FrameRecord]) -> Option<RegisterAccesses> {
    let timed = records.iter().filter(|r| r.latency().is_some());
    let mut all = timed.filter_map(|r| r.accesses);
    let first = all.next()?;
    let start = RegisterAccesses {
        frames: 1,
        sum: u64::from(first),
        min: first,
        max: first,
    };
    Some(all.fold(start, |sum, a| RegisterAccesses {
        frames: sum.frames + 1,
        sum: sum.sum.saturating_add(u64::from(a)),
        min: sum.min.min(a),
        max: sum.max.max(a),
    }))
}

/// Returns the number of delivered frames that left through a port after a frame that had come in
/// later than they did, by the same port (as RFC 4737 §3.3 counts, with the stamps for sequence
/// numbers).
fn reordered(records: &[FrameRecord]) -> u64 {
    let delivered = records.iter().filter(|r| r.status == Status::Delivered);
    let mut ways: Vec<(u16, u16, u64, u64)> = delivered
        .filter_map(|r| {
            let (i, o) = (r.incoming?, r.outgoing?);
            Some((i.port, o.port, o.end, i.end))
        })
        .collect();
    ways.sort_unstable();
    let mut order = ReorderCount::default();
    let overtaken =
        |&&(from, to, _, came): &&(u16, u16, u64, u64)| order.overtaken((from, to), came);
    ways.iter().filter(overtaken).count() as u64
}

fn over_time(records: &[FrameRecord]) -> DotCloud {
    let dots: Vec<(u64, i64, Option<u32>)> = records
        .iter()
        .filter_map(|r| Some((r.incoming?.end, r.latency()?, r.accesses)))
        .collect();
    let first = dots.iter().map(|d| d.0).min().unwrap_or(0);
    DotCloud::new(dots, first, &COSTS, DOTS)
}

fn losses(records: &[FrameRecord]) -> LossPlaces {
    let sent = records
        .iter()
        .filter(|r| !matches!(r.status, Status::Duplicated | Status::Unexpected));
    let (mut unplaced, mut frames) = (0, Vec::new());
    for record in sent {
        let lost = record.status == Status::Lost;
        match record.incoming {
            Some(incoming) => frames.push((incoming.end, record.tag, lost)),
            None => unplaced += u64::from(lost),
        }
    }
    frames.sort_unstable();
    let mut losses = LossPlaces {
        unplaced,
        ..LossPlaces::default()
    };
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else {
        return losses;
    };
    if frames.iter().all(|f| !f.2) {
        losses.span = last.0 - first.0;
        return losses;
    }
    losses.span = last.0 - first.0;
    losses.frames = vec![0; SLICES];
    losses.lost = vec![0; SLICES];
    let mut run = 0;
    for &(end, _, lost) in &frames {
        let share = u128::from(end - first.0) * SLICES as u128 / u128::from(losses.span.max(1));
        let slice = (share as usize).min(SLICES - 1);
        losses.frames[slice] += 1;
        losses.lost[slice] += u64::from(lost);
        losses.runs += u64::from(lost && run == 0);
        run = if lost { run + 1 } else { 0 };
        losses.longest = losses.longest.max(run);
    }
    losses
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
