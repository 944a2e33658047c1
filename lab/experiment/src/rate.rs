//! The search for the highest rate of frames at which none is lost.
//!
//! Each attempt is an experiment of its own: first a flood, then periods that close in on the one
//! at which loss begins. The search is a function of the results of the attempts, so that a folder
//! with these results continues where it was left, and gives the same rate again without any guest.

use crate::figures::{ExperimentFigures, LatencyFigures, latencies};
use crate::plan::{bit_rate, plan};
use crate::schedule::{ScheduleError, ScheduleTally};
use crate::settings::Experiment;
use crate::store::StoredResult;
use crate::trial::FailedGuest;
use frame::wire;
use probe::traffic::TrafficPattern;
use probe::{FrameRecord, RunResults};
use serde::Serialize;

/// The search ends where a period that loses frames and one that loses none are within one part
/// in this.
const PRECISION: u64 = 200;
/// Periods are whole multiples of this, ns.
const STEP: u64 = 10;
/// A gateway that loses frames even at this period, ns, has no rate.
const SLOWEST: u64 = 1_000_000_000;
/// A queue grows if the frames at the end waited this many periods longer than those at the
/// beginning.
const GROWTH: f64 = 10.0;

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateTry {
    /// The experiment.
    pub name: String,
    /// Its traffic: `flood` or `period:MICROSECONDS`.
    pub traffic: String,
    /// Frames per second on the incoming bus, from the first to the last.
    pub frames_per_s: f64,
    /// Frames that went in.
    pub sent: u64,
    /// Frames that did not come out.
    pub lost: u64,
    /// Whether a queue keeps growing although no frame is lost yet: a longer run would lose some.
    pub queue_grows: bool,
    /// The latencies of those that came out.
    pub latency_ns: Option<LatencyFigures>,
}

impl RateTry {
    fn from_results(experiment: &Experiment, results: &RunResults) -> Self {
        let figures = ExperimentFigures::from_results(experiment, results);
        let spacing = spacing(&results.records);
        Self {
            name: experiment.name(),
            traffic: experiment.traffic.to_string(),
            frames_per_s: if spacing > 0.0 { 1e9 / spacing } else { 0.0 },
            sent: figures.sent,
            lost: figures.lost,
            queue_grows: growth(results) > GROWTH * spacing,
            latency_ns: figures.latency_ns,
        }
    }

    /// Returns whether all frames came through, and would continue to.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.lost == 0 && self.sent > 0 && !self.queue_grows
    }
}

/// Returns the mean time from one incoming frame to the next, ns.
fn spacing(records: &[FrameRecord]) -> f64 {
    let ends = || records.iter().filter_map(|r| Some(r.incoming?.end));
    match (ends().min(), ends().max(), ends().count()) {
        (Some(first), Some(last), n @ 2..) => (last - first) as f64 / (n - 1) as f64,
        _ => 0.0,
    }
}

/// Returns the difference between the latencies of the last tenth of the frames and the second one
/// (the first is the start-up), by their medians, ns.
fn growth(results: &RunResults) -> f64 {
    let all: Vec<i64> = latencies(results).collect();
    let tenth = all.len() / 10;
    let median = |from: usize| {
        let mut part = all.get(from..from + tenth)?.to_vec();
        part.sort_unstable();
        part.get(tenth / 2).copied()
    };
    match (median(tenth), median(all.len() - tenth)) {
        (Some(begin), Some(end)) => (end - begin) as f64,
        _ => 0.0,
    }
}

/// The limit of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLimitedBy {
    /// The gateway: at a higher rate it loses frames.
    Gateway,
    /// The bus, or on the bench without bus time the sender: a flood loses nothing.
    Bus,
    /// The gateway loses frames however slowly they come.
    None,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchedRate {
    /// Frames per second without loss, as measured on the incoming bus.
    pub frames_per_s: f64,
    /// The limit of the rate.
    pub bound: RateLimitedBy,
    /// The fastest attempt without loss.
    pub passed: Option<RateTry>,
    /// The slowest attempt with loss.
    pub failed: Option<RateTry>,
    /// The number of attempts made.
    pub tries: usize,
}

/// A search.
#[derive(Clone, Debug)]
pub struct RateSearch {
    base: Experiment,
    /// The shortest period that the bus can keep, ns.
    floor: u64,
    flood: Option<RateTry>,
    /// The median time between two outgoing frames of the flood, ns.
    pace: u64,
    /// The longest period that lost frames, ns.
    bad: Option<(u64, RateTry)>,
    /// The shortest period without loss.
    good: Option<(u64, RateTry)>,
    tried: Vec<RateTry>,
    end: Option<Result<SearchedRate, FailedGuest>>,
    failing: Option<Experiment>,
}

impl RateSearch {
    /// Creates a search for an experiment, whose own traffic does not matter.
    #[must_use]
    pub fn new(base: &Experiment) -> Self {
        Self {
            base: base.clone(),
            floor: floor(base),
            flood: None,
            pace: 0,
            bad: None,
            good: None,
            tried: Vec::new(),
            end: None,
            failing: None,
        }
    }

    /// Returns the attempt that ended the search by failing.
    #[must_use]
    pub fn failing(&self) -> Option<Experiment> {
        self.failing.clone()
    }

    /// Returns the experiment that the search is for.
    #[must_use]
    pub fn base(&self) -> &Experiment {
        &self.base
    }

    /// Returns the attempts up to now, in their order.
    #[must_use]
    pub fn tried(&self) -> &[RateTry] {
        &self.tried
    }

    /// Returns whether an experiment is one of its attempts.
    #[must_use]
    pub fn is_for(&self, experiment: &Experiment) -> bool {
        let traffic = self.base.traffic;
        let alike = Experiment {
            traffic,
            ..experiment.clone()
        };
        alike == self.base
    }

    /// Returns the number of attempts still expected, based on the results up to now.
    #[must_use]
    pub fn tries_left(&self) -> usize {
        /// Returns the number of attempts until a period that passes and one that does not are
        /// close enough together.
        fn halvings(width: u64, good: u64) -> usize {
            let parts = width as f64 * PRECISION as f64 / good.max(1) as f64;
            parts.log2().ceil().max(0.0) as usize
        }
        let good_or_bad = (&self.bad, &self.good);
        match (&self.end, &self.flood, good_or_bad) {
            (Some(_), ..) => 0,
            // The flood, a period on each side, and the halving of the sixth between them.
            (_, None, _) => 3 + halvings(1, 6),
            (_, Some(flood), _) if flood.passed() => 0,
            (_, _, (None, None)) => 2 + halvings(1, 6),
            (_, _, (Some(_), None)) => 1 + halvings(1, 2),
            (_, _, (None, Some(_))) => 1 + halvings(1, 6),
            (_, _, (Some((bad, _)), Some((good, _)))) => halvings(good.saturating_sub(*bad), *good),
        }
    }

    /// Returns the result, once there is one.
    #[must_use]
    pub fn end(&self) -> Option<&Result<SearchedRate, FailedGuest>> {
        self.end.as_ref()
    }

    /// Continues as far as results exist; returns the next experiment that is missing.
    pub fn follow(&mut self, find: &dyn Fn(&Experiment) -> StoredResult) -> Option<Experiment> {
        while self.end.is_none() {
            let Some(traffic) = self.next() else {
                self.end = Some(Ok(self.found()));
                break;
            };
            let next = Experiment {
                traffic,
                ..self.base.clone()
            };
            match find(&next) {
                StoredResult::Results(results) => self.record(&next, &results),
                StoredResult::Failed(failed) => {
                    self.end = Some(Err(failed));
                    self.failing = Some(next);
                }
                StoredResult::Absent | StoredResult::Stale(_) => return Some(next),
            }
        }
        None
    }

    /// Returns the next traffic to try; `None` at the end.
    fn next(&self) -> Option<TrafficPattern> {
        let Some(flood) = &self.flood else {
            return Some(TrafficPattern::Flood);
        };
        if flood.passed() {
            return None;
        }
        let period = match (&self.bad, &self.good) {
            // A flood costs the gateway more than a rate that it can keep.
            (None, None) => self.pace + self.pace / 20,
            (Some((bad, _)), None) => bad * 2,
            (None, Some((good, _))) => good - good / 6,
            (Some((bad, _)), Some((good, _))) if good - bad <= good / PRECISION => return None,
            (Some((bad, _)), Some((good, _))) => bad.midpoint(*good),
        };
        let period = period.max(self.floor).next_multiple_of(STEP);
        let is = |side: &Option<(u64, RateTry)>| side.as_ref().is_some_and(|s| s.0 == period);
        // Between them there is no period that the bus, or the clock, could distinguish.
        (!is(&self.bad) && !is(&self.good) && period <= SLOWEST)
            .then_some(TrafficPattern::Period(period))
    }

    fn record(&mut self, experiment: &Experiment, results: &RunResults) {
        let tried = RateTry::from_results(experiment, results);
        self.tried.push(tried.clone());
        match experiment.traffic {
            TrafficPattern::Period(period) => {
                let side = if tried.passed() {
                    &mut self.good
                } else {
                    &mut self.bad
                };
                *side = Some((period, tried));
            }
            _ => {
                self.pace = pace(&results.records);
                self.flood = Some(tried);
            }
        }
    }

    fn found(&self) -> SearchedRate {
        let flood = self.flood.clone();
        let (bound, passed, failed) = match (&flood, &self.good) {
            (Some(flood), _) if flood.passed() => (RateLimitedBy::Bus, Some(flood.clone()), None),
            (_, Some((_, good))) => {
                let bad = self.bad.as_ref().map(|bad| bad.1.clone());
                (RateLimitedBy::Gateway, Some(good.clone()), bad.or(flood))
            }
            (_, None) => (
                RateLimitedBy::None,
                None,
                self.bad.as_ref().map(|b| b.1.clone()),
            ),
        };
        SearchedRate {
            frames_per_s: passed.as_ref().map_or(0.0, |p| p.frames_per_s),
            bound,
            passed,
            failed,
            tries: self.tried.len(),
        }
    }
}

/// Returns the shortest period that the bus can keep, ns: its longest frame with intermission.
fn floor(experiment: &Experiment) -> u64 {
    let Ok(Some(rate)) = bit_rate(experiment) else {
        return STEP;
    };
    let plan = tester::TestPlan {
        traffic: TrafficPattern::Flood.into(),
        ..plan(experiment)
    };
    let frames = plan.frames(None).unwrap_or_default();
    let lengths = frames
        .iter()
        .filter_map(|planned| Some(wire::length(planned.frame.view())?.duration(rate, true)));
    lengths.max().unwrap_or(STEP).max(STEP)
}

/// Returns the median time between two outgoing frames, ns; that between incoming ones if none came
/// out.
fn pace(records: &[FrameRecord]) -> u64 {
    let mut ends: Vec<u64> = records
        .iter()
        .filter_map(|r| Some(r.outgoing?.end))
        .collect();
    ends.sort_unstable();
    let mut apart: Vec<u64> = ends
        .windows(2)
        .filter_map(|w| Some(w.last()? - w.first()?))
        .collect();
    apart.sort_unstable();
    let median = apart.get(apart.len() / 2).copied();
    median.unwrap_or(spacing(records) as u64)
}

/// Runs all searches to their ends. `make` runs experiments and stores their results, so that
/// `find` returns them.
///
/// # Errors
/// [`ScheduleError`] of `make`.
pub fn search(
    searches: &mut [RateSearch],
    find: &dyn Fn(&Experiment) -> StoredResult,
    make: &mut dyn FnMut(&[Experiment]) -> Result<ScheduleTally, ScheduleError>,
) -> Result<(), ScheduleError> {
    search_in_rounds(searches, find, &mut |_, todo| make(todo))
}

/// Runs the experiments of a round and stores their results; it also receives the progress of the
/// searches.
pub type MakeRound<'a> =
    dyn FnMut(&[RateSearch], &[Experiment]) -> Result<ScheduleTally, ScheduleError> + 'a;

/// Like [`search`]; `make` also receives the progress of the searches.
///
/// # Errors
/// [`ScheduleError`] of `make`.
pub fn search_in_rounds(
    searches: &mut [RateSearch],
    find: &dyn Fn(&Experiment) -> StoredResult,
    make: &mut MakeRound<'_>,
) -> Result<(), ScheduleError> {
    let mut last = Vec::new();
    loop {
        let todo: Vec<Experiment> = searches.iter_mut().filter_map(|s| s.follow(find)).collect();
        if todo.is_empty() {
            return Ok(());
        }
        if todo == last {
            let names = todo.iter().map(Experiment::name).collect();
            return Err(ScheduleError::NotReadBack(names));
        }
        make(searches, &todo)?;
        last = todo;
    }
}

#[cfg(test)]
mod tests;
