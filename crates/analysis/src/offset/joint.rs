//! The longest time that messages of one clock occupy in a window.

use super::phases::{self, ClockPhase, led, phases, work};
use crate::stream::RivalStream;
use alloc::vec::Vec;
use frame::Nanos;

/// Maximum number of releases from which a table is computed.
const MAX_RELEASES: u64 = 100_000;

/// Messages that share a clock, among the rivals of a frame of another clock.
#[derive(Clone, Debug)]
pub(crate) struct JointMessages {
    /// Each message with its index and its offset.
    members: Vec<(usize, Nanos, RivalStream)>,
    /// Spans, each with the time that they occupy from this span on; both grow.
    steps: Vec<(Nanos, Nanos)>,
    /// The table is for spans below this one.
    piece: Nanos,
    /// The additional time that they occupy per `piece`.
    of_piece: Nanos,
}

impl JointMessages {
    /// Creates a table up to `busy` at most. `None` where offsets have no effect.
    pub(super) fn new(members: Vec<(usize, Nanos, RivalStream)>, busy: Nanos) -> Option<Self> {
        Self::limited(members, busy, MAX_RELEASES)
    }

    /// The same with at most `most` releases in the table.
    pub(super) fn limited(
        members: Vec<(usize, Nanos, RivalStream)>,
        busy: Nanos,
        most: u64,
    ) -> Option<Self> {
        if members.len() < 2 {
            return None;
        }
        let streams: Vec<RivalStream> = members.iter().map(|(_, _, stream)| *stream).collect();
        let all = phases(&points(&members))?;
        let mut piece = busy.saturating_add(1);
        let mut repeats = None;
        let periods: Vec<Nanos> = streams.iter().map(|s| s.arrival.period()).collect();
        let common = phases::count(&periods).and_then(|common| Nanos::try_from(common).ok());
        // After a common multiple, each number is greater by the number of frames in one multiple.
        // (A distance could make it greater by more.)
        if let Some(common) = common.filter(|common| *common <= piece)
            && streams.iter().all(|s| s.arrival.distance() == 0)
        {
            piece = common;
            let each = streams
                .iter()
                .map(|s| common / s.arrival.period() * s.occupied);
            repeats = Some(each.fold(0, Nanos::saturating_add));
        }
        let releases = |until: Nanos| {
            let each = streams.iter().map(|s| s.within(until));
            let one = each.fold(0, u64::saturating_add);
            one.saturating_mul(all.len() as u64)
        };
        while piece > 1 && releases(piece - 1) > most {
            (piece, repeats) = (piece / 2, None);
        }
        let each = all
            .iter()
            .flat_map(|phase| work(&streams, phase, piece - 1));
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
        // Two intervals together hold no more than one after the other.
        let most = steps.last().map_or(0, |step| step.1);
        Some(Self {
            members,
            steps,
            piece,
            of_piece: repeats.unwrap_or(most),
        })
    }

    /// Returns the longest time that they occupy, of the frames released in an interval of this
    /// length, both ends included, ns.
    pub(crate) fn within(&self, span: Nanos) -> Nanos {
        let more = (span / self.piece).saturating_mul(self.of_piece);
        let left = span % self.piece;
        let place = self.steps.partition_point(|(at, _)| *at <= left);
        let step = place.checked_sub(1).and_then(|place| self.steps.get(place));
        let joint = step.map_or(0, |step| step.1).saturating_add(more);
        if more == 0 {
            return joint;
        }
        let each = self.members.iter();
        let each = each.map(|(_, _, s)| s.within(span).saturating_mul(s.occupied));
        joint.min(each.fold(0, Nanos::saturating_add))
    }

    /// Returns the least time by which an interval must be longer than `span` for them to occupy
    /// more, ns.
    pub(crate) fn next(&self, span: Nanos) -> Nanos {
        let left = span % self.piece;
        let place = self.steps.partition_point(|(at, _)| *at <= left);
        let next = self.steps.get(place).map_or(self.piece, |(at, _)| *at) - left;
        let each = self.members.iter();
        let each = each.map(|(_, _, s)| s.earliest(s.within(span)).saturating_sub(span));
        each.min().unwrap_or(next).min(next)
    }

    /// Returns the part of the bus that they occupy.
    pub(crate) fn load(&self) -> f64 {
        self.members.iter().map(|(_, _, s)| s.load()).sum()
    }

    /// Returns the time on their clock at which an interval of this length begins in which they
    /// occupy most; with the index of one of them.
    pub(super) fn worst(&self, span: Nanos) -> Option<(usize, Nanos)> {
        let sum = |phase: &ClockPhase| {
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

/// Returns the last instants.
fn points(members: &[(usize, Nanos, RivalStream)]) -> Vec<(Nanos, Nanos)> {
    let each = members.iter().map(|(_, offset, stream)| {
        let last = offset.saturating_add(stream.arrival.jitter());
        (last, stream.arrival.period())
    });
    each.collect()
}
