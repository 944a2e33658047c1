//! Busy periods in each phase of a clock.

use super::phases::{self, ClockPhase, FAR, led, phases};
use super::{JointMessages, OffsetUse};
use crate::compiled::{CompiledBus, RivalFrames};
use crate::priority::{self, LatencyBound};
use crate::stream::RivalStream;
use crate::window::{BusyWindow, NoBound};
use crate::{Arrival, QueueService};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use frame::Nanos;

/// A busy period under consideration.
pub(crate) struct BusyPeriod<'w> {
    pub(crate) window: &'w BusyWindow,
    /// The streams of the messages in question.
    pub(crate) own: &'w [RivalStream],
    /// The time on the clock of `own` at which it begins, if the events of `own` are known.
    pub(crate) begins: Option<Nanos>,
}

impl CompiledBus {
    /// Returns the use that was made of the offsets of a node; `None` if none of its messages has
    /// one.
    pub(crate) fn offsets_of(
        &self,
        node: usize,
        service: QueueService,
        arrivals: &[Arrival],
    ) -> Option<OffsetUse> {
        let mut offsets = *self.offsets.get(node)?;
        offsets.own = service != QueueService::Queue || self.phased(&self.of_node(node), arrivals);
        (offsets.given > 0).then_some(offsets)
    }

    /// Returns whether the frames of a queue with these messages can be considered in each phase of
    /// their clock.
    fn phased(&self, own: &[usize], arrivals: &[Arrival]) -> bool {
        let mut own = own.iter();
        own.all(|&i| self.messages[i].offset.is_some() && arrivals[i].distance() == 0)
    }

    /// Returns the bound of a message that is sent in order of priority.
    pub(crate) fn priority_bound(
        &self,
        index: usize,
        arrivals: &[Arrival],
        against: RivalFrames,
    ) -> Result<LatencyBound, NoBound> {
        let mut worst: Option<LatencyBound> = None;
        let frame = self.messages[index].frame;
        self.in_each_phase(&[index], arrivals, against, false, |looked| {
            let [own] = looked.own else {
                return Ok(());
            };
            let own = RivalStream {
                train: None,
                ..*own
            };
            if let Some(new) = priority::bound(looked.window, own, frame)? {
                worst = Some(worst.map_or(new, |old| old.worse_of(new)));
            }
            Ok(())
        })?;
        // The first frame of a busy period begins it in one of the phases.
        worst.ok_or(NoBound::TooLong)
    }

    /// Calls `look` for the busy periods of `own`, all of one node, in each phase of the node's
    /// clock that matters. `queue`: they are sent through a queue in order of arrival.
    pub(crate) fn in_each_phase(
        &self,
        own: &[usize],
        arrivals: &[Arrival],
        against: RivalFrames,
        queue: bool,
        mut look: impl FnMut(&BusyPeriod<'_>) -> Result<(), NoBound>,
    ) -> Result<(), NoBound> {
        let mut rivals: Vec<usize> = against.rivals.iter().map(|(i, _, _)| *i).collect();
        let mut window = self.window(against, own);
        let mut streams = self.streams(own, arrivals, window.pause);
        let offset = |i: usize| self.messages[i].offset;
        let any = rivals.iter().chain(own).any(|&i| offset(i).is_some());
        // A busy period with any phase is at least as long.
        let busy = match any {
            true => window.busy(&streams)?,
            false => 0,
        };
        let clock = own.first().map(|&i| self.messages[i].node);
        let shares = |i: usize| offset(i).is_some() && Some(self.messages[i].node) == clock;
        let usable = match queue {
            true => self.phased(own, arrivals),
            false => own.iter().all(|&i| shares(i)),
        };
        self.join(
            &mut window,
            &mut rivals,
            busy,
            usable.then_some(clock).flatten(),
        );
        let mates = rivals.iter().filter(|&&i| usable && shares(i)).count();
        let first = rivals.len() - mates;
        let members = own.iter().chain(&rivals[first..]).copied();
        let plain: Vec<RivalStream> = streams
            .iter()
            .chain(&window.rivals[first..])
            .copied()
            .collect();
        let points = members.zip(&plain).map(|(i, stream)| {
            let last = offset(i)
                .unwrap_or(0)
                .saturating_add(stream.arrival.jitter());
            (last, stream.arrival.period())
        });
        let points: Vec<(Nanos, Nanos)> = points.collect();
        let found = if usable { phases(&points) } else { None };
        let Some(mut found) = found else {
            return look(&BusyPeriod {
                window: &window,
                own: &streams,
                begins: None,
            });
        };
        for phase in &mut found {
            for (shift, stream) in phase.shifts.iter_mut().zip(&plain) {
                if *shift >= stream.arrival.jitter().saturating_add(busy) {
                    *shift = FAR;
                }
            }
        }
        if queue {
            phases::keep_fullest(&mut found);
        } else {
            found.retain(|phase| phase.shifts.first() != Some(&FAR));
            phases::keep_least(&mut found);
        }
        for phase in found {
            let mut shifted = plain
                .iter()
                .zip(&phase.shifts)
                .map(|(s, &shift)| led(*s, shift));
            for (stream, new) in streams.iter_mut().zip(shifted.by_ref()) {
                *stream = new;
            }
            for (stream, new) in window.rivals[first..].iter_mut().zip(shifted) {
                *stream = new;
            }
            look(&BusyPeriod {
                window: &window,
                own: &streams,
                begins: Some(phase.at),
            })?;
        }
        Ok(())
    }

    /// Groups rivals that share a clock; moves those of the clock `own` to the end of the list.
    fn join(
        &self,
        window: &mut BusyWindow,
        rivals: &mut Vec<usize>,
        busy: Nanos,
        own: Option<usize>,
    ) {
        let mut clocks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, &i) in rivals.iter().enumerate() {
            let sent = self.messages[i];
            if sent.offset.is_some() {
                clocks.entry(sent.node).or_default().push(place);
            }
        }
        let mut mates = Vec::new();
        let mut out = Vec::new();
        for (clock, places) in clocks {
            if Some(clock) == own {
                mates = places;
                continue;
            }
            let member = |&place: &usize| {
                let i = rivals[place];
                (
                    i,
                    self.messages[i].offset.unwrap_or(0),
                    window.rivals[place],
                )
            };
            if let Some(joint) = JointMessages::new(places.iter().map(member).collect(), busy) {
                window.joint.push(joint);
                out.extend(places);
            }
        }
        let left = (0..rivals.len()).filter(|place| !out.contains(place) && !mates.contains(place));
        let order: Vec<usize> = left.chain(mates.iter().copied()).collect();
        window.rivals = order.iter().map(|&place| window.rivals[place]).collect();
        *rivals = order.iter().map(|&place| rivals[place]).collect();
    }

    /// Returns the greatest number of frames of a node's messages, each within a time up to a
    /// common end: `spans` are these times, with their ends, for these messages.
    pub(crate) fn most_at_once(
        &self,
        members: &[usize],
        arrivals: &[Arrival],
        spans: &[Nanos],
    ) -> u64 {
        let streams = self.streams(members, arrivals, 0);
        let each = || members.iter().zip(&streams).zip(spans);
        let offset = |i: usize| self.messages[i].offset;
        let alone = each().filter(|((i, _), _)| offset(**i).is_none());
        let alone: u64 = alone.map(|((_, s), span)| s.within(*span)).sum();
        let clock: Vec<(Nanos, RivalStream, Nanos)> = each()
            .filter_map(|((&i, &s), &span)| Some((offset(i)?, s, span)))
            .collect();
        alone.saturating_add(most_of_clock(&clock))
    }
}

/// Returns the greatest number of frames of messages that share a clock, each with its offset, and
/// released in a time before a common end.
pub(super) fn most_of_clock(clock: &[(Nanos, RivalStream, Nanos)]) -> u64 {
    // Backward: the distance of an event before the end is its period less its offset.
    let points = clock.iter().map(|(offset, s, _)| {
        let period = s.arrival.period();
        (period - offset % period, period)
    });
    match phases(&points.collect::<Vec<_>>()) {
        None => clock.iter().map(|(_, s, span)| s.within(*span)).sum(),
        Some(found) => {
            let sum = |phase: &ClockPhase| -> u64 {
                let each = clock.iter().zip(&phase.shifts);
                each.map(|((_, s, span), &shift)| led(*s, shift).within(*span))
                    .sum()
            };
            found.iter().map(sum).max().unwrap_or(0)
        }
    }
}
