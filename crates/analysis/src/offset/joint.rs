//! The most that messages of one clock occupy in a window.

use super::phases::{self, Phase, led, phases, work};
use crate::window::Stream;
use alloc::vec::Vec;
use frame::Nanos;

/// A table is made of as many releases at most.
const MOST_RELEASES: u64 = 100_000;

/// Messages that share a clock, among the rivals of a frame of another one.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    /// Each with its index and its offset.
    members: Vec<(usize, Nanos, Stream)>,
    /// From which span on they occupy how much, both growing.
    steps: Vec<(Nanos, Nanos)>,
    /// The table ends with this span.
    known: Nanos,
    /// After so long, so much more: it repeats itself.
    again: Option<(Nanos, Nanos)>,
}

impl Joint {
    /// With a table up to `busy` at most. `None` where offsets say nothing.
    pub(super) fn new(members: Vec<(usize, Nanos, Stream)>, busy: Nanos) -> Option<Self> {
        if members.len() < 2 {
            return None;
        }
        let streams: Vec<Stream> = members.iter().map(|(_, _, stream)| *stream).collect();
        let all = phases(&points(&members))?;
        let (mut known, mut again) = (busy, None);
        let periods: Vec<Nanos> = streams.iter().map(|s| s.arrival.period()).collect();
        let common = phases::count(&periods).and_then(|common| Nanos::try_from(common).ok());
        // Behind a common multiple each number is greater by as many frames as it has in one. (A distance could make it
        // greater by more.)
        if let Some(common) = common.filter(|common| *common <= busy)
            && streams.iter().all(|s| s.arrival.distance() == 0)
        {
            known = common - 1;
            let each = streams
                .iter()
                .map(|s| common / s.arrival.period() * s.occupied);
            again = Some((common, each.fold(0, Nanos::saturating_add)));
        }
        let releases = |until: Nanos| {
            let each = streams.iter().map(|s| s.within(until));
            let one = each.fold(0, u64::saturating_add);
            one.saturating_mul(all.len() as u64)
        };
        while known > 0 && releases(known) > MOST_RELEASES {
            (known, again) = (known / 2, None);
        }
        let each = all.iter().flat_map(|phase| work(&streams, phase, known));
        let mut table: Vec<(Nanos, Nanos)> = each.collect();
        table.sort_unstable();
        let mut steps: Vec<(Nanos, Nanos)> = Vec::new();
        for (at, work) in table {
            match steps.last_mut() {
                Some(last) if work <= last.1 => {}
                Some(last) if at == last.0 => last.1 = work,
                _ => steps.push((at, work)),
            }
        }
        Some(Self {
            members,
            steps,
            known,
            again,
        })
    }

    /// What they occupy at most, of those released in an interval of this length, both ends included, ns.
    pub(crate) fn within(&self, span: Nanos) -> Nanos {
        let (span, more) = match self.again {
            Some((common, work)) => (span % common, (span / common).saturating_mul(work)),
            None => (span, 0),
        };
        if span > self.known {
            let each = self.members.iter();
            let each = each.map(|(_, _, s)| s.within(span).saturating_mul(s.occupied));
            return each.fold(more, Nanos::saturating_add);
        }
        let place = self.steps.partition_point(|(at, _)| *at <= span);
        let step = place.checked_sub(1).and_then(|place| self.steps.get(place));
        step.map_or(0, |step| step.1).saturating_add(more)
    }

    /// How much longer than `span` an interval is, at least, in which they can occupy more, ns.
    pub(crate) fn next(&self, span: Nanos) -> Nanos {
        let within = self.again.map_or(span, |(common, _)| span % common);
        let place = self.steps.partition_point(|(at, _)| *at <= within);
        let next = match self.steps.get(place) {
            Some((at, _)) => *at,
            None if within <= self.known => self.known + 1,
            None => {
                let each = self.members.iter();
                let each = each.map(|(_, _, s)| s.earliest(s.within(within)));
                each.min().unwrap_or(Nanos::MAX)
            }
        };
        next - within
    }

    /// The part of the bus that they take.
    pub(crate) fn load(&self) -> f64 {
        self.members.iter().map(|(_, _, s)| s.load()).sum()
    }

    /// When on their clock an interval of this length begins in which they occupy most; with one of them.
    pub(super) fn worst(&self, span: Nanos) -> Option<(usize, Nanos)> {
        let sum = |phase: &Phase| {
            let each = self.members.iter().zip(&phase.shifts);
            let each = each.map(|((_, _, s), &shift)| {
                let frames = led(*s, shift).within(span);
                frames.saturating_mul(s.occupied)
            });
            each.fold(0, Nanos::saturating_add)
        };
        let all = phases(&points(&self.members))?;
        let worst = all.iter().max_by_key(|phase| sum(phase))?;
        Some((self.members.first()?.0, worst.at))
    }
}

/// The last instants.
fn points(members: &[(usize, Nanos, Stream)]) -> Vec<(Nanos, Nanos)> {
    let each = members.iter().map(|(_, offset, stream)| {
        let last = offset.saturating_add(stream.arrival.jitter());
        (last, stream.arrival.period())
    });
    each.collect()
}
