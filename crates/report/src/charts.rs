//! The charts of a run.

use crate::data::Data;
use crate::draw::PHONE;
use crate::model::{Axis, Chart, Clock, Mark, Series};
use crate::text::count;
use probe::{LatencyProfile, Record};

/// More distinct values than this are not drawn one by one.
const STEPS: usize = 1_000;
/// More series than this cannot be told apart; the smallest are drawn as one.
const SERIES: usize = 7;

/// A unit that suits values up to `max` ns: its name, and nanoseconds in one.
fn unit(max: i64) -> (&'static str, f64) {
    if max < 50_000_000 {
        ("µs", 1e3)
    } else {
        ("ms", 1e6)
    }
}

/// What was measured of one route's frames.
struct Group {
    name: String,
    colour: usize,
    /// End of frame in, ns, and the value.
    values: Vec<(f64, i64)>,
}

/// The charts that the data can fill: none that would be empty.
#[must_use]
pub fn charts(data: &Data) -> Vec<Chart> {
    let latencies = by_route(data, Record::latency);
    let all: LatencyProfile = data.results.latencies(None).collect();
    let mut charts = Vec::new();
    if all.count() > 0 {
        charts.push(profile(data, &latencies, &all));
        charts.push(over_time(data, &latencies, &all));
        charts.push(histogram(data, &all));
    }
    if data.buses.iter().any(|b| !b.load.is_empty()) {
        charts.push(load(data));
    }
    // Less than a nanosecond has no place on a logarithmic axis.
    let processing = by_route(data, |r| i64::try_from(r.processing?.max(1)).ok());
    if !processing.is_empty() {
        charts.push(real_time(&processing));
    }
    charts
}

const LATENCY: &str = "end of frame in to end of frame out, minus the outgoing frame's duration";

/// What `value` gives for the routes' records, in the routes' order; where there are more than
/// seven, the busiest six and all others together.
fn by_route(data: &Data, value: impl Fn(&Record) -> Option<i64>) -> Vec<Group> {
    let group = |(colour, name): (usize, &String)| Group {
        name: name.clone(),
        colour,
        values: Vec::new(),
    };
    let mut groups: Vec<Group> = data.results.routes.iter().enumerate().map(group).collect();
    groups.push(group((groups.len(), &"no route".to_owned())));
    let last = groups.len() - 1;
    for record in &data.results.records {
        let Some(v) = value(record) else { continue };
        let at = record.incoming.map_or(0, |f| f.end) as f64;
        let route = record.route.map_or(last, usize::from).min(last);
        groups[route].values.push((at, v));
    }
    groups.retain(|g| !g.values.is_empty());
    if groups.len() > SERIES {
        groups.sort_by_key(|g| std::cmp::Reverse(g.values.len()));
        let others = groups.split_off(SERIES - 1);
        groups.sort_by_key(|g| g.colour);
        let name = format!("{} others", others.len());
        let mut values: Vec<(f64, i64)> = others.into_iter().flat_map(|g| g.values).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        groups.push(Group {
            name,
            colour: 0,
            values,
        });
        for (colour, group) in groups.iter_mut().enumerate() {
            group.colour = colour;
        }
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

/// Series and y axis of a profile, and what its note must say.
fn stairs_of(groups: &[Group], per_unit: f64) -> (Vec<Series>, Axis, &'static str) {
    let mut thinned = "";
    let mut most = 1;
    let series = groups.iter().map(|group| {
        let profile: LatencyProfile = group.values.iter().map(|v| v.1).collect();
        most = most.max(profile.count());
        let (points, distinct) = stairs(&profile, per_unit);
        if points.len() < distinct {
            thinned = " · drawn in 1000 steps, the worst value exact";
        }
        Series {
            name: group.name.clone(),
            colour: group.colour,
            points,
        }
    });
    let series = series.collect();
    let y = Axis::linear("frames with this time or more", "frames")
        .log()
        .from_to(0.7, most as f64 * 1.3);
    (series, y, thinned)
}

fn profile(data: &Data, groups: &[Group], all: &LatencyProfile) -> Chart {
    let unit = unit(all.values()[all.values().len() - 1]);
    let (series, y, thinned) = stairs_of(groups, unit.1);
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

fn over_time(data: &Data, groups: &[Group], all: &LatencyProfile) -> Chart {
    let (name, per_unit) = unit(all.values()[all.values().len() - 1]);
    let values = || groups.iter().flat_map(|g| &g.values);
    let first = values().map(|p| p.0).fold(f64::MAX, f64::min);
    // Stamps of a wall clock would leave no room for the digits that matter.
    let (from, since) = if first > 86_400e9 {
        (first, ", since the first frame")
    } else {
        (0.0, "")
    };
    let series: Vec<Series> = groups
        .iter()
        .map(|group| {
            let mut values = group.values.clone();
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            let points = values
                .iter()
                .map(|v| ((v.0 - from) / 1e9, v.1 as f64 / per_unit));
            Series {
                name: group.name.clone(),
                colour: group.colour,
                points: points.collect(),
            }
        })
        .collect();
    let thinned = series
        .iter()
        .any(|s| s.points.len() > PHONE.dots / series.len());
    let thinned = if thinned {
        " · not all dots: a sample, and the least and greatest of each slice of time"
    } else {
        ""
    };
    Chart {
        id: "latency-over-time",
        title: "Latency over time".to_owned(),
        description: format!(
            "The latency of {} frames at the time at which they came in.",
            count(values().count() as u64)
        ),
        note: format!("{LATENCY}{thinned}"),
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
    // A bar of one frame beside one of thousands is seen on a logarithmic axis only.
    let least = bars.iter().map(|b| b.1).min().unwrap_or(1);
    let y = if highest.1 / least.max(1) > 100 {
        Axis::linear("frames (logarithmic)", "frames")
            .log()
            .from_to(0.7, highest.1 as f64 * 1.3)
    } else {
        Axis::linear("frames", "frames").from_to(0.0, highest.1 as f64 * 1.08)
    };
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
        y,
        mark: Mark::Bars { width: wide },
        series: vec![Series {
            name: String::new(),
            colour: 0,
            points: points.collect(),
        }],
    }
}

fn load(data: &Data) -> Chart {
    let mut window = 0;
    let series: Vec<Series> = data
        .buses
        .iter()
        .enumerate()
        .map(|(colour, bus)| {
            window = window.max(bus.load.first().map_or(0, |p| p.length));
            let points = bus.full_windows().map(|p| {
                let middle = p.start as f64 + p.length as f64 / 2.0;
                (middle / 1e9, p.share() * 100.0)
            });
            Series {
                name: bus.name.clone(),
                colour,
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

fn real_time(groups: &[Group]) -> Chart {
    let max = groups
        .iter()
        .flat_map(|g| &g.values)
        .map(|v| v.1)
        .max()
        .unwrap_or(0);
    let unit = if max < 20_000 { ("ns", 1.0) } else { unit(max) };
    let (series, y, thinned) = stairs_of(groups, unit.1);
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
        x: Axis::linear(format!("processing time ({})", unit.0), unit.0).log(),
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
