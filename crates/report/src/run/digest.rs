//! The page's data, made from a run's records and counters.

use super::data::{BusRow, FrameAccount, RouteRow, RunData};
use super::lead::{RunFrames, RunLead, lead};
use crate::cloud::DotCloud;
use crate::curve::ProfileCurve;
use crate::settings::{TimeBase, everything};
use probe::{FrameRecord, LatencyProfile, LatencySummary, LoadPoint, Status};
use serde::Serialize;

/// Approximate number of dots of the time chart, for all routes together.
const DOTS: usize = 4_000;
/// Least number of dots for one route.
const FEWEST_DOTS: usize = 100;
/// Greatest number of bars of the histogram.
const BARS: u64 = 60;
/// Stamps beyond this, in ns (a day), are from a clock whose origin is long ago.
const LONG_AGO: u64 = 86_400_000_000_000;

/// All data of the page.
#[derive(Serialize)]
pub(super) struct RunDigest<'a> {
    cangate: &'a str,
    title: &'a str,
    lead: RunLead,
    clock: TimeBase,
    time: &'a str,
    /// Rows of the results.
    rows: usize,
    delivered: u64,
    /// Time from the first end of frame in to the last end of frame out, ns.
    span: u64,
    notes: &'a [String],
    routes: Vec<RouteLine>,
    accounts: Vec<AccountLine>,
    buses: Vec<BusLine<'a>>,
    /// Length of a window of the buses' load, ns.
    window: u64,
    description: Vec<(String, String)>,
    /// The latency of all routes together.
    latency: Option<RunFigures>,
    histogram: Option<LatencyHistogram>,
    /// One series for each route that has values, in the routes' order.
    series: Vec<RouteSeries>,
    /// Whether times of the time chart are since the first frame, not since 0.
    since_first: bool,
}

/// Figures of a distribution, ns.
#[derive(Serialize)]
struct RunFigures {
    count: u64,
    min: i64,
    p50: i64,
    p99: i64,
    max: i64,
}

impl From<LatencySummary> for RunFigures {
    fn from(s: LatencySummary) -> Self {
        Self {
            count: s.count,
            min: s.min,
            p50: s.p50,
            p99: s.p99,
            max: s.max,
        }
    }
}

#[derive(Serialize)]
struct RouteLine {
    #[serde(flatten)]
    row: RouteRow,
    stopped_sum: u64,
    latency: Option<RunFigures>,
}

#[derive(Serialize)]
struct AccountLine {
    #[serde(flatten)]
    account: FrameAccount,
    sum: u64,
    adds_up: bool,
}

#[derive(Serialize)]
struct BusLine<'a> {
    name: &'a str,
    bit_rate: &'a str,
    frames: u64,
    errors: u64,
    /// Busy share of the time.
    mean: f64,
    /// Busy share of the busiest full window.
    highest: f64,
    /// The middle of each full window, ns, and its busy share.
    load: Vec<(f64, f64)>,
}

/// The number of values in each interval.
#[derive(Serialize)]
struct LatencyHistogram {
    /// Width of a bar, ns.
    width: u64,
    /// The start of each bar, ns, and the number of its values.
    bars: Vec<(i64, u64)>,
}

/// The measurements of one route's frames.
#[derive(Serialize)]
struct RouteSeries {
    name: String,
    curve: Option<ProfileCurve>,
    cloud: DotCloud,
    /// Profile of the processing times, real time.
    processing: Option<ProfileCurve>,
}

/// Returns all data that the page shows.
pub(super) fn digest(data: &RunData) -> RunDigest<'_> {
    let results = &data.results;
    let records = &results.records;
    let ends_in = || records.iter().filter_map(|r| r.incoming).map(|f| f.end);
    let first = ends_in().min().unwrap_or(0);
    let last = records.iter().filter_map(|r| r.outgoing).map(|f| f.end);
    let all: LatencyProfile = results.latencies(None).collect();
    let since_first = first > LONG_AGO;
    let full = data.buses.iter().find_map(|b| b.full_windows().next());
    RunDigest {
        cangate: &results.description.version,
        title: &results.description.title,
        lead: lead(
            RunFrames {
                names: &data.names,
                ..results.into()
            },
            data.waiting_only,
        ),
        clock: TimeBase::from_description(&results.description),
        time: &data.time,
        rows: records.len(),
        delivered: records
            .iter()
            .filter(|r| r.status == Status::Delivered)
            .count() as u64,
        span: last.max().map_or(0, |last| last.saturating_sub(first)),
        notes: &data.notes,
        routes: routes(data, &all),
        accounts: accounts(data),
        buses: data.buses.iter().map(bus).collect(),
        window: full.map_or(0, |p| p.length),
        description: everything(&results.description),
        histogram: histogram(&all),
        latency: all.summary().map(RunFigures::from),
        series: series(data, if since_first { first } else { 0 }),
        since_first,
    }
}

fn stopped(route: &RouteRow) -> u64 {
    let reasons = route.stopped.iter();
    reasons.fold(0, |sum, (_, n)| sum.saturating_add(*n))
}

fn routes(data: &RunData, all: &LatencyProfile) -> Vec<RouteLine> {
    let line = |row: RouteRow, latencies: &LatencyProfile| RouteLine {
        stopped_sum: stopped(&row),
        latency: latencies.summary().map(RunFigures::from),
        row,
    };
    let mut by_route: Vec<Vec<i64>> = vec![Vec::new(); data.routes.len()];
    for record in &data.results.records {
        let of_route = record.route.and_then(|r| by_route.get_mut(usize::from(r)));
        if let Some((of_route, latency)) = of_route.zip(record.latency()) {
            of_route.push(latency);
        }
    }
    let rows = data.routes.iter().cloned().zip(by_route);
    let mut lines: Vec<RouteLine> = rows
        .map(|(row, latencies)| line(row, &latencies.into_iter().collect()))
        .collect();
    if data.routes.len() > 1 {
        let sum =
            |of: fn(&RouteRow) -> u64| data.routes.iter().map(of).fold(0, u64::saturating_add);
        let total = RouteRow {
            name: "all routes".to_owned(),
            text: String::new(),
            taken: sum(|r| r.taken),
            out: sum(|r| r.out),
            stopped: vec![(String::new(), sum(stopped))],
        };
        lines.push(line(total, all));
    }
    lines
}

fn accounts(data: &RunData) -> Vec<AccountLine> {
    let fates = data.results.fates().into_iter();
    let rows = FrameAccount {
        title: "rows of the results".to_owned(),
        total: data.results.records.len() as u64,
        parts: fates.map(|(s, n)| (s.as_str().to_owned(), n)).collect(),
    };
    let line = |account: FrameAccount| AccountLine {
        sum: account.sum(),
        adds_up: account.adds_up(),
        account,
    };
    data.accounts
        .iter()
        .cloned()
        .chain([rows])
        .map(line)
        .collect()
}

fn bus(bus: &BusRow) -> BusLine<'_> {
    let point = |p: &LoadPoint| (p.start as f64 + p.length as f64 / 2.0, p.share());
    BusLine {
        name: &bus.name,
        bit_rate: &bus.bit_rate,
        frames: bus.frames,
        errors: bus.errors,
        mean: if bus.elapsed == 0 {
            0.0
        } else {
            bus.busy as f64 / bus.elapsed as f64
        },
        highest: bus.full_windows().map(LoadPoint::share).fold(0.0, f64::max),
        load: bus.full_windows().map(point).collect(),
    }
}

/// Returns 1, 2 or 5 times a power of ten ns, so that the values fill at most [`BARS`] bars.
fn bar_width(span: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let width = power.saturating_mul(factor);
            if span / width < BARS || width == u64::MAX {
                return width;
            }
        }
        power = power.saturating_mul(10);
    }
}

fn histogram(all: &LatencyProfile) -> Option<LatencyHistogram> {
    let (low, high) = (all.values().first()?, all.values().last()?);
    let width = bar_width(high.abs_diff(*low));
    Some(LatencyHistogram {
        width,
        bars: all.histogram(width),
    })
}

/// Returns the measurements by route; frames that no route took come last.
fn series(data: &RunData, origin: u64) -> Vec<RouteSeries> {
    let names = data.results.routes.iter().cloned();
    let names: Vec<String> = names.chain(["no route".to_owned()]).collect();
    let mut groups: Vec<Vec<&FrameRecord>> = vec![Vec::new(); names.len()];
    for record in &data.results.records {
        let last = groups.len() - 1;
        let route = record.route.map_or(last, usize::from).min(last);
        if let Some(group) = groups.get_mut(route) {
            group.push(record);
        }
    }
    let used = groups.iter().filter(|g| !g.is_empty()).count();
    let dots = (DOTS / used.max(1)).max(FEWEST_DOTS);
    let curve = |profile: &LatencyProfile| {
        (profile.count() > 0).then(|| ProfileCurve::from_profile(profile))
    };
    let one = |(name, group): (String, Vec<&FrameRecord>)| {
        // A logarithmic axis cannot show zero.
        let processing = |r: &&FrameRecord| i64::try_from(r.processing?.max(1)).ok();
        let dot = |r: &&FrameRecord| Some((r.incoming?.end, r.latency()?, None));
        RouteSeries {
            name,
            curve: curve(&group.iter().filter_map(|r| r.latency()).collect()),
            cloud: DotCloud::new(group.iter().filter_map(dot).collect(), origin, &[0], dots),
            processing: curve(&group.iter().filter_map(processing).collect()),
        }
    };
    let all = names.into_iter().zip(groups).map(one);
    all.filter(|s| s.curve.is_some() || s.processing.is_some())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_sixty_bars() {
        for span in [0, 1, 59, 60, 61, 1_234_567, u64::MAX] {
            assert!(span / bar_width(span) < BARS, "{span}");
        }
        assert_eq!(bar_width(59), 1);
        assert_eq!(bar_width(1_000_000), 20_000);
    }
}
