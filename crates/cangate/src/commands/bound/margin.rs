//! `cangate bound --margin`: how much the traffic and the buses may degrade.

use super::connected::ConnectedSet;
use super::splits::{self, SplitSource};
use super::{by_bus, can_miss};
use analysis::{Arrival, BusSpec, LengthSearch};
use console::Failure;
use frame::Nanos;
use frame::wire::BitRate;

/// The largest factor of the search, in thousandths.
const MOST: u64 = 100_000;

/// The range of the search for errors: from one per ten seconds to one per 100 µs.
const RAREST: Nanos = 10_000_000_000;
const DENSEST: Nanos = 100_000;

/// The shortest unit of offsets that can be divided into a shorter one, ns: the rounding error is
/// then below a thousandth, up to the largest factor.
const SHORTEST_UNIT: Nanos = 100_000;

/// The margins. Each figure was itself assessed: with it, no deadline can be missed and no queue
/// can overflow.
pub(super) struct BoundMargin {
    /// The factor, in thousandths, by which all messages may come more often; `None` if there is no
    /// margin.
    pub(super) factor: Option<u64>,
    /// All margins, in sentences that continue after "Margin:".
    pub(super) sentences: Vec<String>,
}

pub(super) fn find(
    connected: &ConnectedSet,
    lengths: &mut LengthSearch,
) -> Result<BoundMargin, Failure> {
    if !holds(connected, lengths)? {
        return Ok(BoundMargin {
            factor: None,
            sentences: vec!["none, as it is.".to_owned()],
        });
    }
    let mut sentences = Vec::new();
    let factor = most(1_000, MOST, |factor| {
        holds(&faster(connected, factor)?, lengths)
    })?;
    sentences.push(format!(
        "all messages may come at least {}.{:03} times as often, with their deadlines and jitter as they are.",
        factor / 1000,
        factor % 1000
    ));
    // From all thousandths of the bit rates to none.
    let left = most(0, 999, |less| match slower(connected, 1000 - less) {
        Some(other) => holds(&other, lengths),
        None => Ok(false),
    })?;
    let left = 1000 - left;
    sentences.push(format!(
        "all bit rates may be as low as {}.{} % of what they are.",
        left / 10,
        left % 10
    ));
    // By the number of errors in `RAREST`, from rare to dense.
    let step = RAREST / DENSEST;
    let with_errors = |n: u64| {
        let mut other = connected.clone();
        for bus in &mut other.network.buses {
            bus.errors = Some(RAREST / n);
        }
        other
    };
    if holds(&with_errors(1), lengths)? {
        let n = most(1, step, |n| holds(&with_errors(n), lengths))?;
        sentences.push(format!(
            "there may be an error on each bus every {} µs.",
            (RAREST / n).div_ceil(1000)
        ));
    } else {
        sentences.push(format!(
            "with one error in {} s on each bus, a deadline can be missed or a queue can overflow.",
            RAREST / 1_000_000_000
        ));
    }
    Ok(BoundMargin {
        factor: Some(factor),
        sentences,
    })
}

/// Returns the largest number found, from the first one (which holds) to the last, by bisection.
fn most(
    first: u64,
    last: u64,
    mut holds: impl FnMut(u64) -> Result<bool, Failure>,
) -> Result<u64, Failure> {
    let (mut good, mut bad) = (first, last + 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

/// Returns the network with all bit rates reduced to this many thousandths; `None` if there are no
/// rates that low.
fn slower(connected: &ConnectedSet, thousandths: u64) -> Option<ConnectedSet> {
    let mut other = connected.clone();
    let part = |rate: u32| u32::try_from(u64::from(rate) * thousandths / 1000).ok();
    for bus in &mut other.network.buses {
        let old = bus.rate;
        let data = match old.data() {
            Some(data) => Some(part(data)?),
            None => None,
        };
        bus.rate = BitRate::new(part(old.nominal())?, data).ok()?;
        // A bit time, unless the set specifies another value.
        if bus.joins == BusSpec::bit(old) {
            bus.joins = BusSpec::bit(bus.rate);
        }
    }
    Some(other)
}

/// Returns the network with periods, distances and offsets divided by this many thousandths.
fn faster(connected: &ConnectedSet, factor: u64) -> Result<ConnectedSet, Failure> {
    let mut other = connected.clone();
    for load in &mut other.splits {
        if let SplitSource::Made(arrival) = &mut load.source {
            *arrival = arrival.faster(factor);
        }
    }
    for bus in &mut other.network.buses {
        let units: Vec<Option<Nanos>> = (0..bus.nodes.len()).map(|n| unit(bus, n)).collect();
        for message in &mut bus.messages {
            let old = message.arrival;
            let unit = units.get(message.node).copied().flatten();
            // Messages that share a clock keep their phases: all their times become the same
            // multiples of a shorter unit.
            let timed = message.offset.zip(unit);
            message.offset = timed.map(|(offset, unit)| shorter(offset, unit, factor));
            message.arrival = match timed {
                Some((_, unit)) => {
                    let period = shorter(old.period(), unit, factor).max(1);
                    let distance = old.distance().min(period);
                    Arrival::new(period, old.jitter(), distance).map_err(Failure::run)?
                }
                None => old.faster(factor),
            };
        }
    }
    Ok(other)
}

/// Returns a multiple of this unit, divided by this many thousandths.
fn shorter(time: Nanos, unit: Nanos, factor: u64) -> Nanos {
    let unit_of_it = u128::from(unit) * 1000 / u128::from(factor);
    let time = unit_of_it * u128::from(time / unit);
    Nanos::try_from(time).unwrap_or(Nanos::MAX)
}

/// Returns the unit of which the periods and offsets of a node are multiples, ns; `None` if it is
/// too short to be divided exactly enough. Its messages then have any phase, which is safe.
fn unit(bus: &BusSpec, node: usize) -> Option<Nanos> {
    let timed = bus.messages.iter().filter(|m| m.node == node);
    let times = timed.filter_map(|m| Some([m.offset?, m.arrival.period()]));
    let unit = times.flatten().fold(0, gcd);
    (unit >= SHORTEST_UNIT).then_some(unit)
}

fn gcd(a: Nanos, b: Nanos) -> Nanos {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

/// Returns whether all deadlines are kept and no queue can overflow.
fn holds(connected: &ConnectedSet, lengths: &mut LengthSearch) -> Result<bool, Failure> {
    let assessed = connected.network.assess(lengths).map_err(Failure::input)?;
    let all = by_bus(connected, &assessed);
    let is_full = !splits::overflowing(&connected.splits, &assessed).is_empty();
    Ok(!is_full
        && all.iter().all(|found| {
            let messages = 0..found.spec.messages.len();
            let nodes = 0..found.spec.nodes.len();
            !messages.into_iter().any(|i| can_miss(found, i))
                && !nodes.into_iter().any(|node| found.overflows(node))
        }))
}
