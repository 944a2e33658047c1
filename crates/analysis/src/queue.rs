//! Messages of a node whose frames go through a queue in order of arrival.
//!
//! # The argument
//! A node has M transmit buffers and a queue in front of them. Whenever one of its frames waits,
//! the node takes part in arbitration with *some* frame, of a priority that is at least P, the
//! lowest among its messages (with several buffers it is often higher: see below). So let, for a
//! frame of the node that is released at *r*, *s* be the last instant up to *r* before which no
//! frame of this node was open, and no frame of another node with a priority above P. The argument
//! of [`crate::window`] holds with it: from *s* until the frame starts, each winner is a frame of
//! the node or one of higher priority than P; a frame that blocks belongs to another node, with a
//! priority below P.
//!
//! Let the frame be released a = *r* − *s* after *s*. Of its own node, these frames precede it:
//!
//! * those that were released before it, at most [`crate::Arrival::most_within`] (a) of each
//!   message, whatever their priority. (Frames enter the buffers in order of arrival.)
//! * with more than one buffer, those that are released later, if their priority is higher: they
//!   can be in another buffer while the frame waits in its own. One of lower priority cannot: it
//!   enters a buffer later, and loses against the frame there.
//!
//! For a given a, the start follows from the equation of [`crate::window`]. Between the instants at
//! which one of the counts steps up, a later a only brings the release nearer to the same start. So
//! it is enough to consider these instants, from *s* on to the end of the longest busy period.
//!
//! Where frames come from one bus, [`mod@crate::train`] limits the frames ahead by a bound that
//! grows with a, at a rate of ρ. As long as the start does not reach the next release of a frame
//! that precedes it, it grows by at most ρ times the growth of a. With ρ of 1 or less, the wait
//! is then longest at the beginning of such a piece. With more, or where rivals are limited in this
//! way, too, it is no longer than from the beginning of a piece to the start that belongs to its
//! end. So these pieces are considered, too. With several buffers the limit is that of all that is
//! released up to the start, which does not grow with a.
//!
//! # The lowest priority that wins
//! While a frame waits, the node has it in a buffer, or all M buffers are full. Let L be a priority
//! such that fewer than M frames below L can be in the node at one time: then one of M full buffers
//! holds a frame of L or above. So for each frame of the node, take P as its own priority or L,
//! whichever is lower. Let s be the last instant up to its release before which no frame of P or
//! above was open, of this node or another. From s on, one of them waits in each arbitration: if it
//! is one of this node, then it is in a buffer, or another one of P or above is. So the winner is
//! of P or above. Frames of this node below P do not precede the frame: at most one of them
//! blocks, as one of another node does.
//!
//! How many frames of a message are in the node at one time follows from its bound: it is the
//! number that are released in a time of that length. ([`crate::CompiledBus::assess`] finds both
//! together.) With one buffer, no frame may be below L: L is the lowest of the node.
//!
//! With one buffer this is the case that Davis, Kollmann, Pollex, Slomka, *Controller Area Network
//! (CAN) schedulability analysis with FIFO queues*, ECRTS 2011, §4 treat; the derivation above is
//! ours, and covers arbitrary deadlines and several buffers.
//!
//! # The consequences for the other nodes
//! For them, a frame of this node competes from the time when it is in a buffer. That is its
//! release plus the time that it waits in the queue: a jitter. With one buffer, two frames of a
//! message are in it one after the other, so they keep the distance of a frame; with several, they
//! keep none. ([`crate::CompiledBus::assess`] finds all of these jitters together.)
//!
//! # A second derivation, without jitter
//! Let H be a set of messages with two properties: if it has a message of a node with a queue, it
//! has all of that node; and each message outside has a lower priority than each inside. Let *s* be
//! the last instant up to the release before which no frame of H was open. From then on a frame of
//! H waits in each arbitration. If its node serves by priority, it takes part itself, else its node
//! takes part with a frame of H. So the winner is in H, because all others are lower. So the
//! equation of [`crate::window`] holds with all of H as the frames that precede it, except those
//! of its own node that cannot, and with a blocking frame from outside; the time that others wait
//! in their queues is not part of it. The smallest such H is found from the frame's own message
//! (for a queue, all of its node). It counts more frames, but each only as often as it is released.
//! The lower one of both bounds holds.

use crate::priority::{BoundParts, LatencyBound};
use crate::stream::RivalStream;
use crate::train::{FrameTrain, ONE};
use crate::window::{BusyWindow, NoBound};
use alloc::vec;
use alloc::vec::Vec;
use frame::Nanos;

/// Number of pieces into which a frame is cut where the wait can grow between two instants.
const PIECES: Nanos = 4;

/// A message of the node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueMember {
    /// Its arbitration field.
    pub(crate) key: u64,
    pub(crate) stream: RivalStream,
    /// The longest time from its event to its release, ns.
    pub(crate) jitter: Nanos,
    /// Whether the times of its events after *s* are known: [`mod@crate::offset`].
    pub(crate) timed: bool,
    /// Its length, without the intermission, ns.
    pub(crate) frame: Nanos,
    /// The least time that a frame of it occupies the bus, ns.
    pub(crate) shortest: Nanos,
}

/// Returns the lowest arbitration field with which a node with `mailboxes` buffers takes part while
/// a frame waits in it whose field is not lower. `messages` are the fields of its messages, each
/// with the number of its frames that can be in the node at one time (`None`: any number).
pub(crate) fn lowest(mut messages: Vec<(u64, Option<u64>)>, mailboxes: u8) -> u64 {
    messages.sort_unstable_by_key(|(key, _)| core::cmp::Reverse(*key));
    let mut lower = 0_u64;
    for &(key, inside) in &messages {
        lower = lower.saturating_add(inside.unwrap_or(u64::MAX));
        if lower >= u64::from(mailboxes) {
            return key;
        }
    }
    messages.last().map_or(0, |(key, _)| *key)
}

impl QueueMember {
    /// Returns whether a frame of it can be released at this time after *s*.
    fn released(&self, at: Nanos) -> bool {
        if !self.timed {
            return true;
        }
        // The last event up to then, and the delay of its release.
        let arrival = &self.stream.arrival;
        let since = at.saturating_add(arrival.jitter());
        let since = since.checked_sub(self.stream.lead);
        since.is_some_and(|since| since % arrival.period() <= self.jitter)
    }
}

/// Returns bounds for those messages of a node with `mailboxes` buffers that `asked` selects by
/// their places; `None` for one of which no frame can be in this busy period. `members` are the
/// messages that can precede them.
pub(crate) fn bounds(
    window: &BusyWindow,
    members: &[QueueMember],
    mailboxes: u8,
    asked: impl Fn(usize) -> bool,
) -> Result<Vec<Option<LatencyBound>>, NoBound> {
    let streams: Vec<RivalStream> = members.iter().map(|m| m.stream).collect();
    let busy = window.busy(&streams)?;
    let instants = instants(&streams, busy);
    let mut all = Vec::with_capacity(members.len());
    for (place, member) in members.iter().enumerate() {
        if !asked(place) {
            all.push(None);
            continue;
        }
        let mut worst: Option<LatencyBound> = None;
        // A later release starts no earlier: each search continues where the previous one ended.
        let mut from = 0;
        let ends = instants.iter().skip(1).copied().chain([busy]);
        for (&released, next) in instants.iter().zip(ends) {
            if !member.released(released) {
                continue;
            }
            let mut at = released;
            while at <= released || at < next {
                let (new, start) = bound(window, members, *member, mailboxes, at, &mut from)?;
                worst = Some(worst.map_or(new, |old| old.worse_of(new)));
                // The frames before it grow with its release only where a train is the limit.
                if mailboxes > 1 || !limited(window, members, at) {
                    break;
                }
                let until = window
                    .steady(start, member.frame, &window.own)
                    .min(next - at);
                let mut end = at.saturating_add(until.max(1));
                if slope(&window.own) > ONE || !window.trains.is_empty() {
                    // The wait can grow up to there.
                    end = end.min(at.saturating_add(member.frame / PIECES));
                    let last = end - 1;
                    let (mut new, _) = bound(window, members, *member, mailboxes, last, &mut from)?;
                    new.lengthen(last - at);
                    worst = Some(worst.map_or(new, |old| old.worse_of(new)));
                }
                at = end;
            }
        }
        all.push(worst);
    }
    Ok(all)
}

/// Returns the times at which one of the counts steps up, from 0 to before the end of the busy
/// period.
fn instants(streams: &[RivalStream], busy: Nanos) -> Vec<Nanos> {
    let mut all = Vec::new();
    for stream in streams {
        let count = stream.before(busy);
        all.extend((0..count).map(|n| stream.earliest(n)));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the greatest growth of the time that trains occupy, relative to time, in parts of
/// [`ONE`].
fn slope(trains: &[FrameTrain]) -> u64 {
    let ratios = trains.iter().map(|train| train.ratio);
    ratios.fold(0, u64::saturating_add)
}

/// Returns whether a train occupies less than the counts of its messages allow, of the frames
/// released up to this time.
fn limited(window: &BusyWindow, members: &[QueueMember], released: Nanos) -> bool {
    window.own.iter().enumerate().any(|(place, train)| {
        let its = members.iter().filter(|m| m.stream.train == Some(place));
        let sum = its.fold(0_u64, |sum, m| {
            let frames = m.stream.within(released);
            sum.saturating_add(frames.saturating_mul(m.stream.occupied))
        });
        train.work(released) < sum
    })
}

/// Returns the bound for a frame that is released at this time, with its start.
fn bound(
    window: &BusyWindow,
    members: &[QueueMember],
    own: QueueMember,
    mailboxes: u8,
    released: Nanos,
    from: &mut Nanos,
) -> Result<(LatencyBound, Nanos), NoBound> {
    // Of the frames up to a time, those of `above` count up to then, the others up to the release.
    // The frame itself is not counted.
    let above = |m: &QueueMember| mailboxes > 1 && m.key < own.key;
    let before = |until: Nanos| {
        let until = until.max(released);
        let mut sums = vec![0_u64; window.own.len()];
        let mut all = 0_u64;
        for member in members {
            let until = if above(member) { until } else { released };
            let mut frames = member.stream.within(until);
            if member.key == own.key {
                frames = frames.saturating_sub(1);
            }
            let work = frames.saturating_mul(member.stream.occupied);
            let place = member.stream.train.and_then(|place| sums.get_mut(place));
            let sum = place.unwrap_or(&mut all);
            *sum = sum.saturating_add(work);
        }
        for (place, (sum, train)) in sums.iter().zip(&window.own).enumerate() {
            let its = own.stream.train == Some(place);
            let until = if mailboxes > 1 { until } else { released };
            let most = train.work(until);
            let most = most.saturating_sub(if its { own.shortest } else { 0 });
            all = all.saturating_add((*sum).min(most));
        }
        all
    };
    let ahead = before(released);
    let overtaking = |until: Nanos| before(until).saturating_sub(ahead);
    let start = window.start(ahead, own.frame, *from, overtaking)?;
    *from = start.at;
    // It starts at its release at the earliest.
    let waiting = start.at.saturating_sub(released);
    let latency = waiting.saturating_add(own.frame);
    let jitter = own.jitter;
    let instance = own.stream.within(released).saturating_sub(1);
    // Where a train limits the frames ahead, not more than that.
    let frames = members.iter().map(|m| m.stream.within(released));
    let frames = frames.fold(0, u64::saturating_add).saturating_sub(1);
    let behind = frames.saturating_mul(window.pause).min(ahead);
    let bound = LatencyBound {
        response: latency.saturating_add(jitter),
        latency,
        parts: BoundParts {
            jitter,
            blocking: window.blocking - window.once,
            ahead: ahead - behind,
            pauses: window.once + behind,
            interference: start.interference,
            errors: start.errors,
            frame: own.frame,
            since: start.at - waiting,
        },
        instance,
        latency_instance: instance,
        waiting,
    };
    Ok((bound, start.at))
}

#[cfg(test)]
mod tests {
    use super::lowest;
    use alloc::vec;

    #[test]
    fn as_many_frames_as_there_are_buffers_are_not_all_below_the_lowest() {
        let one = |keys: [u64; 4]| keys.map(|key| (key, Some(1))).to_vec();
        // With one buffer it can be the lowest of all; with as many as there are messages, none
        // needs to wait.
        for (mailboxes, expected) in [(1, 40), (2, 30), (3, 20), (4, 10), (5, 10)] {
            assert_eq!(lowest(one([30, 10, 40, 20]), mailboxes), expected);
        }
        // Two frames of one message, or an unknown number.
        assert_eq!(
            lowest(vec![(40, Some(2)), (30, Some(1)), (20, Some(1))], 3),
            30
        );
        assert_eq!(
            lowest(vec![(40, Some(2)), (30, Some(1)), (20, Some(1))], 2),
            40
        );
        assert_eq!(
            lowest(vec![(40, Some(1)), (30, None), (20, Some(1))], 200),
            30
        );
    }
}
