//! `cangate bound --margin`: how much worse it may become.

use super::routes::Connected;
use super::{by_bus, can_miss};
use analysis::{Arrival, BusSpec, Lengths};
use console::Failure;
use frame::Nanos;
use frame::wire::BitRate;

/// Factors are looked for in thousandths, up to this one.
const MOST: u64 = 100_000;

/// Errors are looked for from one each ten seconds on, down to one each 100 µs.
const RAREST: Nanos = 10_000_000_000;
const DENSEST: Nanos = 100_000;

/// A unit of offsets must have as many nanoseconds to be divided into a shorter one: what is
/// rounded is then below a thousandth, up to the greatest factor.
const SHORTEST_UNIT: Nanos = 100_000;

/// What may change. Each figure was assessed itself: with it, no deadline can be missed and no
/// queue can overflow.
pub(super) struct Margin {
    /// So many thousandths as often may all messages come; `None` if there is no margin.
    pub(super) factor: Option<u64>,
    /// All of it, in sentences that go on after "Margin:".
    pub(super) sentences: Vec<String>,
}

pub(super) fn find(connected: &Connected, lengths: &mut Lengths) -> Result<Margin, Failure> {
    if !holds(connected, lengths)? {
        return Ok(Margin {
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
    // In steps of a tenth of a millisecond, from rare to dense.
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
            "there may be an error on each bus each {} µs.",
            (RAREST / n).div_ceil(1000)
        ));
    } else {
        sentences.push(format!(
            "with one error in {} s on each bus, a deadline can be missed or a queue can overflow.",
            RAREST / 1_000_000_000
        ));
    }
    Ok(Margin {
        factor: Some(factor),
        sentences,
    })
}

/// The greatest number found from one that holds to the last, by halving.
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

/// With so many thousandths of all bit rates; `None` where there are none so low.
fn slower(connected: &Connected, thousandths: u64) -> Option<Connected> {
    let mut other = connected.clone();
    let part = |rate: u32| u32::try_from(u64::from(rate) * thousandths / 1000).ok();
    for bus in &mut other.network.buses {
        let old = bus.rate;
        let data = match old.data() {
            Some(data) => Some(part(data)?),
            None => None,
        };
        bus.rate = BitRate::new(part(old.nominal())?, data).ok()?;
        // A bit time, where nothing else was said.
        if bus.joins == BusSpec::bit(old) {
            bus.joins = BusSpec::bit(bus.rate);
        }
    }
    Some(other)
}

/// With periods, distances and offsets divided by so many thousandths.
fn faster(connected: &Connected, factor: u64) -> Result<Connected, Failure> {
    let mut other = connected.clone();
    for bus in &mut other.network.buses {
        let units: Vec<Option<Nanos>> = (0..bus.nodes.len()).map(|n| unit(bus, n)).collect();
        for message in &mut bus.messages {
            let old = message.arrival;
            let unit = units.get(message.node).copied().flatten();
            // What shares a clock keeps its phases: all its times are as many of a shorter unit.
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

/// A multiple of this unit, divided by so many thousandths.
fn shorter(time: Nanos, unit: Nanos, factor: u64) -> Nanos {
    let unit_of_it = u128::from(unit) * 1000 / u128::from(factor);
    let time = unit_of_it * u128::from(time / unit);
    Nanos::try_from(time).unwrap_or(Nanos::MAX)
}

/// Of what the periods and offsets of a node are multiples, ns; `None` if that is too short to be
/// divided exactly enough. Its messages then have any phase, which is safe.
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

/// Are all deadlines kept, and do all queues have room?
fn holds(connected: &Connected, lengths: &mut Lengths) -> Result<bool, Failure> {
    let assessed = connected.network.assess(lengths).map_err(Failure::input)?;
    let all = by_bus(connected, &assessed);
    Ok(all.iter().all(|found| {
        let messages = 0..found.spec.messages.len();
        let nodes = 0..found.spec.nodes.len();
        !messages.into_iter().any(|i| can_miss(found, i))
            && !nodes.into_iter().any(|node| found.overflows(node))
    }))
}
