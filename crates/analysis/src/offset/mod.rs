//! Messages of a node whose events share its clock.
//!
//! # The model
//! The messages of a node that have an [offset](crate::Message::offset) have their events at *S* +
//! offset + k · period, for one *S* of the node and all whole numbers k. *S* is any time, and nodes
//! do not know each other's: so the phases between nodes are arbitrary, and may drift. A frame is
//! released at most its jitter after its event, as ever; an event may also release nothing (before
//! the node was started, or because there was nothing to send). A node's clock is assumed to run
//! exactly as the periods specify: its deviation in a busy period must be included in the jitter.
//! Messages of the node without an offset have any phase.
//!
//! # The contents of a window
//! For an *s* on the node's clock, a message can release a frame in [*s*, *s* + w] for each event
//! from *s* − jitter to *s* + w, and no more than keep their distance. Let the *last instant* of an
//! event be the event plus the jitter. Let *s* grow, with w as it is: the number of a message
//! decreases only after a last instant of it, and can increase everywhere else. So any sum of such
//! numbers, with weights that are not negative, is greatest at an *s* that is a last instant of one
//! of the messages. There are as many of these *phases* as frames in a common multiple of the
//! periods. In one phase, a message behaves like one of any phase, but later: with its next last
//! instant at *s* + σ, its events are at *s* + σ − jitter + n · period. So it has its jitter less
//! σ, or, if σ is greater, none and a *lead* of σ − jitter (`RivalStream` of
//! [`mod@crate::window`]).
//!
//! # The node's messages among the rivals of another node's frame
//! The derivations of [`mod@crate::window`] count what rivals release from *s* to *s* + w. For all
//! rivals of one clock together that is at most `JointMessages::within`, the greatest sum of all
//! phases. In the recurrences it takes the place of the sum of the single numbers. The phase may be
//! different for each w, so the bound is safe, but not always reached. (The same step is known for
//! transactions: Palencia, González Harbour, *Schedulability analysis for tasks with static and
//! dynamic offsets*, RTSS 1998; Mäki-Turja, Nolin, *Efficient implementation of tight
//! response-times for tasks with offsets*, Real-Time Systems 40, 2008. For CAN: Szakály, 2003;
//! Grenier, Havet, Navet, *Pushing the limits of CAN*, ERTS 2008; Meumeu Yomsi, Bertrand, Navet,
//! Davis, *Controller Area Network (CAN): response time analysis with offsets*, WFCS 2012. The
//! derivation here is our own.)
//!
//! # A frame of the node, in order of priority
//! Let *s* begin the busy period of a frame with an offset, and let it follow q frames of its own
//! message that can be released from *s* on. Its wait w from *s* on depends on *s* by the numbers
//! of the node's own rivals and by q; all other rivals have any phase, which can be kept to *s*.
//! Let *s* grow. Until after the next last instant of one of these rivals or of the message itself,
//! no number decreases, so w does not; the event and the release of the frame come nearer to *s*,
//! so response and latency grow. The frame is released before its own last instant ends. So it is
//! enough to consider the phases of the message and its own rivals, and in each all frames of
//! the busy period. A phase in which the next last instant of each message is as late as in another
//! phase, or later, has no greater number for any w, and no event nearer to *s*: it need not be
//! considered.
//!
//! # A frame of the node, in a queue in order of arrival
//! [`mod@crate::queue`] counts what is released from *s* up to the release, *s* + a. Let all
//! messages of the node have an offset, and none a distance. Let *s* grow and the release stay:
//! until after the next last instant of one of them, the frames released up to the release remain,
//! later frames that overtake only increase in number, and the start, seen from the release,
//! becomes no earlier. If *s* meets the release, let both grow together up to the next last
//! instant, which is not after that of the frame. So the phases are enough. In each, a must be a
//! time at which an event of the message allows a release. (A message of any phase, or one with a
//! distance, can have fewer frames in a shorter time: where the node has one, its own frames are
//! counted with any phase.)
//!
//! # The number of waiting frames
//! At a time t, the waiting frames are those that were released less than their latency before.
//! Seen backward from t, this is the same sum, with events in place of last instants.
//!
//! # Limits
//! More than [`MOST_PHASES`] phases of a node are not considered. Messages are then selected,
//! beginning with each of its periods, in order of their load as long as their common multiple
//! allows, and the selection with the greatest load is kept; the others have any phase, which is
//! safe: all *S* are among any phases. [`OffsetUse`] reports the number of each. A table of a joint
//! sum ends at the busy period that follows without offsets, at a common multiple after which it
//! repeats itself, or where it becomes too long. A longer window is then cut into pieces: it holds
//! no more than all of them.

mod critical;
mod joint;
mod phases;

use crate::compiled::{CompiledBus, SentMessage};
use crate::window::{BusyWindow, NoBound, RivalStream};
use crate::{Arrival, LatencyBound, QueueService};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use frame::Nanos;
pub(crate) use joint::JointMessages;
use phases::{ClockPhase, FAR, phases};
pub(crate) use phases::{behind, led};

/// Maximum number of phases of a node that are considered.
pub const MOST_PHASES: u64 = 2_000;

/// Maximum number of sets of messages that are tried where not all of a node can be considered in
/// all phases.
const MOST_CHOICES: usize = 16;

/// The use that the analysis made of a node's offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OffsetUse {
    /// Number of messages of the node with an offset.
    pub given: usize,
    /// Number of these that were considered in all phases to each other. The others have any phase:
    /// together they would have more than [`MOST_PHASES`].
    pub used: usize,
    /// Whether the node's own frames are considered in these phases. Frames in a queue are not, if
    /// one of the node's messages has any phase, or a distance.
    pub own: bool,
}

/// The traffic that frames meet: the higher-priority messages, with their arrivals and the time
/// that they wait in queues, and the lower-priority ones.
#[derive(Clone, Debug)]
pub(crate) struct RivalFrames {
    pub(crate) rivals: Vec<(usize, Arrival, Nanos)>,
    pub(crate) lower: Vec<usize>,
    /// Whether the time that rivals wait in queues is not counted; then the pauses of their nodes
    /// are ([`mod@crate::refill`]).
    pub(crate) together: bool,
}

/// A busy period under consideration.
pub(crate) struct BusyPeriod<'w> {
    pub(crate) window: &'w BusyWindow,
    /// The streams of the messages in question.
    pub(crate) own: &'w [RivalStream],
    /// The time on the clock of `own` at which it begins, if the events of `own` are known.
    pub(crate) begins: Option<Nanos>,
}

/// Removes offsets where a node would have too many phases; returns for each node the number that
/// it had and the number that it has.
pub(crate) fn limit(messages: &mut [SentMessage], nodes: usize) -> Vec<OffsetUse> {
    let mut all = Vec::with_capacity(nodes);
    for node in 0..nodes {
        let of_node = (0..messages.len()).filter(|&i| {
            let sent = &messages[i];
            sent.node == node && sent.offset.is_some()
        });
        let mut of_node: Vec<usize> = of_node.collect();
        let given = of_node.len();
        let load = |i: usize| u128::from(messages[i].occupied);
        let period = |i: usize| messages[i].arrival.period();
        // The greatest load first: a / b before c / d, if a · d is greater than c · b.
        of_node.sort_by(|&a, &b| {
            let left = load(a) * u128::from(period(b));
            (load(b) * u128::from(period(a))).cmp(&left)
        });
        // As many as fit together with the first one of each period; of these choices, the one with
        // the greatest load.
        let mut firsts: Vec<usize> = Vec::new();
        for &i in &of_node {
            if firsts.len() < MOST_CHOICES && firsts.iter().all(|&f| period(f) != period(i)) {
                firsts.push(i);
            }
        }
        let mut best: (f64, Vec<usize>) = (0.0, Vec::new());
        for first in firsts {
            let (mut chosen, mut periods) = (Vec::new(), Vec::new());
            let others = of_node.iter().copied().filter(|&i| i != first);
            for i in [first].into_iter().chain(others) {
                periods.push(period(i));
                match phases::count(&periods) {
                    Some(_) => chosen.push(i),
                    None => {
                        periods.pop();
                    }
                }
            }
            let sum = chosen.iter().map(|&i| load(i) as f64 / period(i) as f64);
            let sum = sum.sum();
            if sum > best.0 {
                best = (sum, chosen);
            }
            if best.1.len() == given {
                break;
            }
        }
        let used = best.1.len();
        for i in of_node {
            if !best.1.contains(&i) {
                messages[i].offset = None;
            }
        }
        all.push(OffsetUse {
            given,
            used,
            own: true,
        });
    }
    all
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
            if let Some(new) = crate::priority::bound(looked.window, own, frame)? {
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
fn most_of_clock(clock: &[(Nanos, RivalStream, Nanos)]) -> u64 {
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

#[cfg(test)]
mod tests;
