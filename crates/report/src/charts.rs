//! The charts of a run.

use crate::data::Data;
use crate::model::{Axis, Chart, Clock, Mark, Series};
use crate::text::count;
use probe::{LatencyProfile, Record};

/// More distinct values than this are not drawn one by one.
const STEPS: usize = 1_000;
/// More series than this cannot be told apart; the smallest are drawn as one.
const SERIES: usize = 7;

/// A unit that suits values up to `max` ns: its name, and nanoseconds in one.
fn unit(max: i64) -> (&'static str, f64) {
    match max {
        ..50_000 => ("µs", 1e3),
        50_000..50_000_000 => ("µs", 1e3),
        _ => ("ms", 1e6),
    }
}

/// The charts that the data can fill: none that would be empty.
#[must_use]
pub fn charts(data: &Data) -> Vec<Chart> {
    let latencies = by_route(data, Record::latency);
    let all: LatencyProfile = data.results.latencies(None).collect();
    let mut charts = Vec::new();
    if all.count() > 0 {
        charts.push(profile(data, &latencies, &all));
        charts.push(over_time(data, &all));
        charts.push(histogram(data, &all));
    }
    if data.buses.iter().any(|b| !b.load.is_empty()) {
        charts.push(load(data));
    }
    let processing = by_route(data, |r| i64::try_from(r.processing?).ok());
    if !processing.is_empty() {
        charts.push(real_time(&processing));
    }
    charts
}

const LATENCY: &str = "end of frame in to end of frame out, minus the outgoing frame's duration";

/// The routes' names with what `value` gives for their records, busiest first; past the seventh
/// all others together.
fn by_route<T>(data: &Data, value: impl Fn(&Record) -> Option<T>) -> Vec<(String, Vec<(f64, T)>)> {
    let mut groups: Vec<(String, Vec<(f64, T)>)> = data
        .results
        .routes
        .iter()
        .map(|name| (name.clone(), Vec::new()))
        .collect();
    let mut without = Vec::new();
    for record in &data.results.records {
        let Some(v) = value(record) else { continue };
        let at = record.incoming.map_or(0, |f| f.end) as f64;
        let group = record.route.and_then(|r| groups.get_mut(usize::from(r)));
        match group {
            Some((_, values)) => values.push((at, v)),
            None => without.push((at, v)),
        }
    }
    if !without.is_empty() {
        groups.push(("no route".to_owned(), without));
    }
    groups.retain(|(_, values)| !values.is_empty());
    groups.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    if groups.len() > SERIES {
        let others = groups.split_off(SERIES - 1);
        let name = format!("{} other routes", others.len());
        let mut values: Vec<(f64, T)> = others.into_iter().flat_map(|g| g.1).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        groups.push((name, values));
    }
    groups
}

/// A profile's points to draw: all, or the first of each of a thousand slices and the last.
fn stairs(profile: &LatencyProfile, per_unit: f64) -> (Vec<(f64, f64)>, usize) {
    let points = profile.points();
    let distinct = points.len();
    let scaled = |p: &(i64, u64)| (p.0 as f64 / per_unit, p.1 as f64);
    if distinct <= STEPS {
        return (points.iter().map(scaled).collect(), distinct);
    }
    let (low, high) = (
        profile.values()[0],
        profile.values()[profile.values().len() - 1],
    );
    let width = (high.abs_diff(low) / STEPS as u64).max(1);
    let slice = |v: i64| v.abs_diff(low) / width;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for chunk in points.chunk_by(|a, b| slice(a.0) == slice(b.0)) {
        kept.extend(chunk.first().map(scaled));
    }
    kept.extend(points.last().map(scaled));
    kept.dedup();
    (kept, distinct)
}

fn profile_chart(
    groups: &[(String, Vec<(f64, i64)>)],
    (name, per_unit): (&'static str, f64),
) -> (Vec<Series>, Axis, String) {
    let mut thinned = String::new();
    let mut most = 1;
    let series = groups
        .iter()
        .map(|(name, values)| {
            let profile: LatencyProfile = values.iter().map(|v| v.1).collect();
            most = most.max(profile.count());
            let (points, distinct) = stairs(&profile, per_unit);
            if points.len() < distinct {
                thinned = " · drawn in 1000 steps, worst value exact".to_owned();
            }
            Series {
                name: name.clone(),
                points,
            }
        })
        .collect();
    let y = Axis::linear("frames with this time or more", "frames")
        .log()
        .from_to(0.7, most as f64 * 1.3);
    let _ = name;
    (series, y, thinned)
}

fn profile(data: &Data, groups: &[(String, Vec<(f64, i64)>)], all: &LatencyProfile) -> Chart {
    let unit = unit(all.values()[all.values().len() - 1]);
    let (series, y, thinned) = profile_chart(groups, unit);
    let worst = series
        .iter()
        .filter_map(|s| {
            Some(format!(
                "{}: worst {:.1} {}",
                s.name,
                s.points.last()?.0,
                unit.0
            ))
        })
        .collect::<Vec<_>>();
    Chart {
        id: "latency-profile",
        title: "Latency profile".to_owned(),
        description: format!(
            "For every latency, how many frames had that latency or a longer one, on a \
             logarithmic axis. {}.",
            worst.join("; ")
        ),
        note: format!("{LATENCY}{thinned}"),
        clock: data.clock,
        x: Axis::linear(format!("latency ({})", unit.0), unit.0),
        y: Axis {
            title: "frames with this latency or more".to_owned(),
            ..y
        },
        mark: Mark::Falling,
        series,
    }
}

fn over_time(data: &Data, all: &LatencyProfile) -> Chart {
    let groups = by_route(data, Record::latency);
    let (name, per_unit) = unit(all.values()[all.values().len() - 1]);
    let first = groups
        .iter()
        .flat_map(|g| g.1.first())
        .map(|p| p.0)
        .fold(f64::MAX, f64::min);
    // Stamps of a wall clock would leave no room for the digits that matter.
    let (from, since) = if first > 86_400e9 {
        (first, ", since the first frame")
    } else {
        (0.0, "")
    };
    let total: usize = groups.iter().map(|g| g.1.len()).sum();
    let series: Vec<Series> = groups
        .into_iter()
        .map(|(name, mut values)| {
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            let points = values
                .iter()
                .map(|v| ((v.0 - from) / 1e9, v.1 as f64 / per_unit));
            Series {
                name,
                points: points.collect(),
            }
        })
        .collect();
    Chart {
        id: "latency-over-time",
        title: "Latency over time".to_owned(),
        description: format!(
            "The latency of {} frames at the time at which they came in.",
            count(total as u64)
        ),
        note: format!(
            "{LATENCY} · where dots would lie on each other, least and greatest are drawn"
        ),
        clock: data.clock,
        x: Axis::linear(format!("end of frame in (s{since})"), "s"),
        y: Axis::linear(format!("latency ({name})"), name),
        mark: Mark::Dots,
        series,
    }
}

/// 1, 2 or 5 times a power of ten ns, so that the values fill at most 60 bins.
fn bin_width(span: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let width = power.saturating_mul(factor);
            if span / width < 60 || width == u64::MAX {
                return width;
            }
        }
        power = power.saturating_mul(10);
    }
}

fn histogram(data: &Data, all: &LatencyProfile) -> Chart {
    let (low, high) = (all.values()[0], all.values()[all.values().len() - 1]);
    let width = bin_width(high.abs_diff(low));
    let (name, per_unit) = unit(high);
    let bars = all.histogram(width);
    let points = bars.iter().map(|b| (b.0 as f64 / per_unit, b.1 as f64));
    let highest = bars.iter().max_by_key(|b| b.1).copied().unwrap_or_default();
    let wide = width as f64 / per_unit;
    Chart {
        id: "latency-histogram",
        title: "Latency histogram".to_owned(),
        description: format!(
            "How many frames had which latency, all routes together. The highest bar, {} frames, \
             begins at {} {name}.",
            count(highest.1),
            highest.0 as f64 / per_unit
        ),
        note: format!("{LATENCY} · all routes · a bar is {wide} {name} wide"),
        clock: data.clock,
        x: Axis::linear(format!("latency ({name})"), name),
        y: Axis::linear("frames", "frames").from_to(0.0, highest.1 as f64 * 1.08),
        mark: Mark::Bars { width: wide },
        series: vec![Series {
            name: String::new(),
            points: points.collect(),
        }],
    }
}

fn load(data: &Data) -> Chart {
    let mut window = 0;
    let series: Vec<Series> = data
        .buses
        .iter()
        .map(|bus| {
            window = window.max(bus.load.first().map_or(0, |p| p.length));
            let points = bus.load.iter().map(|p| {
                let middle = p.start as f64 + p.length as f64 / 2.0;
                (middle / 1e9, p.share() * 100.0)
            });
            Series {
                name: bus.name.clone(),
                points: points.collect(),
            }
        })
        .collect();
    let most = series
        .iter()
        .flat_map(|s| &s.points)
        .map(|p| p.1)
        .fold(0.0, f64::max);
    let top = if most > 50.0 {
        105.0
    } else {
        (most * 1.25).max(1.0)
    };
    Chart {
        id: "bus-load",
        title: "Bus load over time".to_owned(),
        description: format!("The share of time in which each bus was busy; at most {most:.1} %."),
        note: format!(
            "share of busy time in windows of {} ms",
            window as f64 / 1e6
        ),
        clock: data.clock,
        x: Axis::linear("time (s)", "s"),
        y: Axis::linear("bus load (%)", "%").from_to(0.0, top),
        mark: Mark::Line,
        series,
    }
}

fn real_time(groups: &[(String, Vec<(f64, i64)>)]) -> Chart {
    let max = groups
        .iter()
        .flat_map(|g| &g.1)
        .map(|v| v.1)
        .max()
        .unwrap_or(0);
    let unit = if max < 20_000 { ("ns", 1.0) } else { unit(max) };
    let (series, y, thinned) = profile_chart(groups, unit);
    Chart {
        id: "processing-time",
        title: "Processing time profile (real time)".to_owned(),
        description: format!(
            "For every processing time, how many frames took the CPU that long or longer. \
             Worst: {:.1} {}.",
            max as f64 / unit.1,
            unit.0
        ),
        note: format!(
            "measured on the machine that made this run; not part of any latency{thinned}"
        ),
        clock: Clock::Real,
        x: Axis::linear(format!("processing time ({})", unit.0), unit.0),
        y,
        mark: Mark::Falling,
        series,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_sixty_bars() {
        for span in [0, 1, 59, 60, 61, 1_234_567, u64::MAX] {
            assert!(span / bin_width(span) < 60, "{span}");
        }
        assert_eq!(bin_width(59), 1);
        assert_eq!(bin_width(1_000_000), 20_000);
    }

    #[test]
    fn a_long_profile_keeps_its_ends() {
        let profile: LatencyProfile = (0..100_000).map(|n| n * 17).collect();
        let (points, distinct) = stairs(&profile, 1.0);
        assert_eq!(distinct, 100_000);
        assert!(points.len() <= STEPS + 3);
        assert_eq!(points[0], (0.0, 100_000.0));
        assert_eq!(points[points.len() - 1], (99_999.0 * 17.0, 1.0));
        assert!(
            points
                .iter()
                .all(|p| profile.at_least(p.0 as i64) as f64 == p.1)
        );
    }
}
