//! All phases of messages that share a clock.

use super::MOST_PHASES;
use crate::Arrival;
use crate::stream::RivalStream;
use alloc::vec::Vec;
use frame::Nanos;

/// A shift so late that it does not matter.
pub(super) const FAR: Nanos = Nanos::MAX;

/// Returns a common multiple of these periods; `None` if they have more than [`MOST_PHASES`] points
/// in it.
pub(super) fn count(periods: &[Nanos]) -> Option<u128> {
    let mut common: u128 = 1;
    for &period in periods {
        let period = u128::from(period.max(1));
        common = common / gcd(common, period) * period;
        let shortest = periods.iter().copied().min().unwrap_or(1).max(1);
        if common / u128::from(shortest) > u128::from(MOST_PHASES) {
            return None;
        }
    }
    let each = periods
        .iter()
        .map(|&period| common / u128::from(period.max(1)));
    (each.sum::<u128>() <= u128::from(MOST_PHASES)).then_some(common)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A time *s* on a clock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ClockPhase {
    /// For each point, the time from *s* to its next occurrence, ns.
    pub(super) shifts: Vec<Nanos>,
    /// *s*, ns.
    pub(super) at: Nanos,
}

/// Returns the times at which one of these periodic points occurs, those with the same shifts only
/// once. `None` if there are more than [`MOST_PHASES`].
pub(super) fn phases(points: &[(Nanos, Nanos)]) -> Option<Vec<ClockPhase>> {
    let periods: Vec<Nanos> = points.iter().map(|(_, period)| *period).collect();
    let common = count(&periods)?;
    let mut all = Vec::new();
    for &(point, period) in points {
        for n in 0..common / u128::from(period.max(1)) {
            let at = u128::from(point) + n * u128::from(period);
            let at = Nanos::try_from(at % common).ok()?;
            let shift = |&(other, period): &(Nanos, Nanos)| behind(other, at, period);
            let shifts = points.iter().map(shift).collect();
            all.push(ClockPhase { shifts, at });
        }
    }
    once(&mut all);
    Some(all)
}

/// Returns the time from `at` to the next occurrence of a periodic point, ns.
pub(crate) fn behind(point: Nanos, at: Nanos, period: Nanos) -> Nanos {
    let period = period.max(1);
    let (point, at) = (point % period, at % period);
    if point >= at {
        point - at
    } else {
        period - (at - point)
    }
}

fn once(phases: &mut Vec<ClockPhase>) {
    phases.sort_unstable();
    phases.dedup_by(|one, other| one.shifts == other.shifts);
}

/// Keeps those phases of which no other has all shifts as small or smaller.
pub(super) fn keep_least(phases: &mut Vec<ClockPhase>) {
    keep(phases, |shift, other| other <= shift);
}

/// Keeps those phases of which no other has the same shifts where they matter, and at least as many
/// that matter.
pub(super) fn keep_fullest(phases: &mut Vec<ClockPhase>) {
    keep(phases, |shift, other| shift == FAR || other == shift);
}

fn keep(phases: &mut Vec<ClockPhase>, no_worse: impl Fn(Nanos, Nanos) -> bool) {
    once(phases);
    let covered = |one: usize| {
        let phase = &phases[one].shifts;
        phases.iter().enumerate().any(|(place, other)| {
            let mut both = phase.iter().zip(&other.shifts);
            place != one && both.all(|(&shift, &other)| no_worse(shift, other))
        })
    };
    let kept: Vec<bool> = (0..phases.len()).map(|one| !covered(one)).collect();
    let mut kept = kept.into_iter();
    phases.retain(|_| kept.next() == Some(true));
}

/// Returns the same messages with their next last instant `shift` ns after *s*.
pub(crate) fn led(stream: RivalStream, shift: Nanos) -> RivalStream {
    let arrival = stream.arrival;
    let left = arrival.jitter().saturating_sub(shift);
    RivalStream {
        // The values were valid with more jitter.
        arrival: Arrival::new(arrival.period(), left, arrival.distance()).unwrap_or(arrival),
        lead: match shift {
            FAR => FAR,
            _ => shift.saturating_sub(arrival.jitter()),
        },
        ..stream
    }
}

/// Returns the times at which frames can be released in a phase, up to `until`, with the time that
/// all frames up to then occupy.
pub(super) fn work(
    streams: &[RivalStream],
    phase: &ClockPhase,
    until: Nanos,
) -> Vec<(Nanos, Nanos)> {
    let mut all = Vec::new();
    for (stream, &shift) in streams.iter().zip(&phase.shifts) {
        let stream = led(*stream, shift);
        let count = stream.within(until);
        all.extend((0..count).map(|n| (stream.earliest(n), stream.occupied)));
    }
    all.sort_unstable();
    let mut sum: Nanos = 0;
    for (_, work) in &mut all {
        sum = sum.saturating_add(*work);
        *work = sum;
    }
    all
}
