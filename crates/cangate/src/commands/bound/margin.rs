//! `cangate bound --margin`: how much worse it may become.

use super::routes::Connected;
use super::{by_bus, can_miss};
use crate::failure::Failure;
use analysis::Lengths;
use frame::Nanos;

/// Factors are looked for in thousandths, up to this one.
const MOST: u64 = 100_000;

/// Errors are looked for from one each ten seconds on, down to one each 100 µs.
const RAREST: Nanos = 10_000_000_000;
const DENSEST: Nanos = 100_000;

/// What may change. Each figure was assessed itself: with it, no deadline can be missed and no queue can overflow.
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
        holds(&faster(connected, factor), lengths)
    })?;
    sentences.push(format!(
        "all messages may come at least {}.{:03} times as often, with their deadlines and jitter as they are.",
        factor / 1000,
        factor % 1000
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
            "there may not even be an error on each bus each {} s.",
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

/// With periods and distances divided by so many thousandths.
fn faster(connected: &Connected, factor: u64) -> Connected {
    let mut other = connected.clone();
    let messages = other
        .network
        .buses
        .iter_mut()
        .flat_map(|bus| &mut bus.messages);
    for message in messages {
        message.arrival = message.arrival.faster(factor);
    }
    other
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
