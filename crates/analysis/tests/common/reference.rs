//! Response times computed in the simplest way: events counted one at a time. Each flaw is one that
//! an analysis could have.

use analysis::{Arrival, BusSpec, CompiledBus};
use frame::{Nanos, wire};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flaw {
    None,
    /// No frame of lower priority is ever on the bus.
    NoBlocking,
    /// Only the first frame of a busy period is considered: the test of Tindell, Hansson, Wellings,
    /// *Analysing real-time communications: controller area network (CAN)*, RTSS 1994, which Davis
    /// et al. 2007 refute.
    FirstOnly,
    /// A frame that is released at the very start of another one is too late.
    LateAtStart,
    /// Releases come at their periods.
    NoJitter,
}

/// The times for which frames occupy the bus, ns: with the intermission, and without.
fn lengths(bus: &BusSpec, index: usize) -> (Nanos, Nanos) {
    let frame = analysis::LengthSearch::new()
        .longest_frame(&bus.messages[index].shape)
        .unwrap();
    let length = wire::length(frame.view()).unwrap();
    let frame = length.duration(bus.rate, false);
    (frame + bus.rate.time(wire::INTERMISSION_BITS, 0), frame)
}

/// Returns the earliest time at which event `n` follows event 0; `known` are the events before it.
fn due(arrival: &Arrival, n: u64, known: &mut Vec<Nanos>) -> Nanos {
    let Some(list) = arrival.distances() else {
        return n * arrival.period();
    };
    while known.len() as u64 <= n {
        let last = known.iter().rev().zip(list);
        known.push(last.map(|(before, span)| before + span).max().unwrap());
    }
    known[n as usize]
}

/// Returns the releases from 0 to `until`, one after another.
fn count(arrival: &Arrival, until: Nanos, closed: bool, flaw: Flaw) -> u64 {
    let (jitter, distance) = match flaw {
        Flaw::NoJitter => (0, 0),
        _ => (arrival.jitter(), arrival.distance()),
    };
    let mut n = 0;
    let mut dues = vec![0];
    loop {
        let due = due(arrival, n, &mut dues).saturating_sub(jitter);
        let at = due.max(n * distance);
        if at > until || (at == until && !closed) {
            return n;
        }
        n += 1;
    }
}

/// Returns the latency from release to end of frame of a message that is sent in order of priority,
/// on a bus where all are; `None` where the busy period does not end within `most`.
pub(crate) fn latency(
    bus: &BusSpec,
    _: &CompiledBus,
    index: usize,
    flaw: Flaw,
    most: Nanos,
) -> Option<Nanos> {
    let key = |i: usize| wire::arbitration_key(bus.messages[i].shape.header());
    let all = 0..bus.messages.len();
    let higher: Vec<(Arrival, Nanos)> = all
        .clone()
        .filter(|&i| key(i) < key(index))
        .map(|i| (bus.messages[i].arrival, lengths(bus, i).0))
        .collect();
    let lower = all.filter(|&i| key(i) > key(index));
    let mut blocking = lower.map(|i| lengths(bus, i).0).max().unwrap_or(0);
    if flaw == Flaw::NoBlocking {
        blocking = 0;
    }
    let own = bus.messages[index].arrival;
    let (occupied, frame) = lengths(bus, index);
    let closed = flaw != Flaw::LateAtStart;
    let work = |until, closed| {
        let each = higher.iter();
        each.map(|(arrival, time)| count(arrival, until, closed, flaw) * time)
            .sum::<Nanos>()
    };
    let mut busy = blocking + occupied;
    loop {
        let own = count(&own, busy, false, flaw) * occupied;
        let next = blocking + own + work(busy, false);
        if next == busy {
            break;
        }
        busy = next;
        if busy > most {
            return None;
        }
    }
    let frames = match flaw {
        Flaw::FirstOnly => 1,
        _ => count(&own, busy, false, flaw),
    };
    let mut worst = 0;
    for q in 0..frames {
        let mut start = blocking + q * occupied;
        loop {
            let next = blocking + q * occupied + work(start, closed);
            if next == start {
                break;
            }
            start = next;
        }
        let released = due(&own, q, &mut vec![0]).saturating_sub(own.jitter());
        let released = released.max(q * own.distance());
        worst = worst.max(start + frame - released);
    }
    Some(worst)
}
