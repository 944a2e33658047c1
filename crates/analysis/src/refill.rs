//! Nodes that need time to put the next frame into a buffer.
//!
//! # What is meant
//! A node has transmit buffers and a queue in order of arrival. When a frame of it has ended, and
//! others wait in the queue, software has to put the next one into a buffer: an interrupt is
//! served, and a driver is called. Until then the node may have no frame in a buffer, and takes no
//! part in arbitration. This is a *pause*. [`Refill`] says how long a pause is at most, and how
//! many frames the node sends at least from one pause to the next. Two examples:
//!
//! * a controller with one transmit buffer, which is filled when its frame has been sent: a pause
//!   behind each frame;
//! * Linux's driver `mscan` has three buffers. So that frames leave in the order in which they
//!   came, it gives them priorities, which rise each time that the buffer number steps down; at the
//!   255th time it lets all buffers become empty before it fills one again. Of three steps at most
//!   two are downward, so there are at least 382 frames between two pauses.
//!
//! Where a node has several buffers and each is filled late, some frame of it still takes part as
//! long as one buffer is full. So it, too, has at most one pause for each of its frames.
//!
//! # What a pause costs
//! Let R be the greatest time of a pause behind an intermission, N the least number of frames from
//! one pause to the next, and *s* the beginning of the busy period of a frame in
//! [`mod@crate::queue`]. In each arbitration from *s* on the node takes part with one of its
//! frames, or it is in a pause, or a frame goes first that counts as interference. In a pause the
//! bus may be idle, or frames of other nodes are sent that cannot go before the frame in question.
//! The last of them begins before the pause ends. So a pause costs at most P = R + B, with B the
//! longest such frame; an error in that one costs what [`mod@crate::window`] says, and it loses the
//! next arbitration if the pause has ended.
//!
//! Let k frames of the node go before the frame, from *s* on. A pause that is there at *s* already
//! costs at most R: what blocks is counted. Then the next one follows N frames later, and there are
//! ⌊k / N⌋. If there is none at *s*, there are at most ⌈k / N⌉. Both are no more than
//!
//! > max (R, P − ⌊P / N⌋) + k · ⌈P / N⌉.
//!
//! So the first term is added to the blocking, and each frame of the node is taken to occupy the
//! bus for ⌈P / N⌉ longer. What is known of frames that come from one bus ([`mod@crate::train`])
//! grows by the same: in an interval of length t at most 1 + (t + Δ) / *shortest* frames come, with
//! *shortest* the shortest frame there, each with all its copies.
//!
//! Which of several buffers are full is not known in a pause. So such a node is never taken to
//! serve by priority, and the lowest priority that wins while one of its frames waits is the lowest
//! of its messages.
//!
//! # What it means for other nodes
//! For them a frame of this node competes when it is in a buffer, as [`mod@crate::queue`] says;
//! what it waits before has the pauses in it. In the second derivation there, which counts no
//! waiting, the pauses of all nodes whose frames count are added: from *s* on a frame of the set
//! waits in each arbitration, and either its node takes part, or is in a pause.

use crate::Compiled;
use frame::Nanos;

/// How long a node with transmit buffers takes to fill one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refill {
    /// The longest time from the end of a frame of the node to the next start of frame, on a bus
    /// that nobody else wants, while a frame waits in its queue, ns. The intermission is in it.
    pub time: Nanos,
    /// So many frames the node sends at least from one such pause to the next; 0 is as 1: behind
    /// each frame.
    pub every: u32,
}

/// Pauses of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pauses {
    /// The longest, behind an intermission, ns.
    time: Nanos,
    /// Frames from one to the next.
    every: u64,
}

/// What the pauses of a node add.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Added {
    /// Once, ns.
    pub(crate) once: Nanos,
    /// With each frame of the node, ns.
    pub(crate) each: Nanos,
}

impl Pauses {
    /// None of a node that fills its buffers within the intermission.
    pub(crate) fn new(refill: Refill, intermission: Nanos) -> Option<Self> {
        let time = refill.time.saturating_sub(intermission);
        (time > 0).then_some(Self {
            time,
            every: u64::from(refill.every.max(1)),
        })
    }

    /// With the longest frame that can begin in a pause.
    pub(crate) fn added(&self, longest: Nanos) -> Added {
        let cost = self.time.saturating_add(longest);
        Added {
            once: self.time.max(cost - cost / self.every),
            each: cost.div_ceil(self.every),
        }
    }

    /// Of a node that is alone on its bus, before the last of so many frames of it, ns.
    pub(crate) fn before(&self, frames: u64) -> Nanos {
        let count = frames.saturating_sub(1) / self.every + 1;
        count.saturating_mul(self.time)
    }
}

impl Compiled {
    /// What the pauses of this node add, if such a frame can begin in them.
    pub(crate) fn added(&self, node: usize, longest: Nanos) -> Added {
        let pauses = self.pauses.get(node).copied().flatten();
        pauses.map_or_else(Added::default, |pauses| pauses.added(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_never_more_than_what_is_added() {
        for (time, longest) in [(5, 0), (5, 7), (7, 5), (10, 100), (1, 1)] {
            for every in [1, 2, 3, 7, 382] {
                let pauses = Pauses { time, every };
                let added = pauses.added(longest);
                for frames in 0..2000 {
                    let cost = time + longest;
                    let begun = time + frames / every * cost;
                    let later = frames.div_ceil(every) * cost;
                    let most = added.once + frames * added.each;
                    assert!(
                        begun.max(later) <= most,
                        "{time} {longest} {every} {frames}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_fits_into_the_intermission_is_no_pause() {
        let refill = |time, every| Refill { time, every };
        assert_eq!(Pauses::new(refill(6_000, 1), 6_000), None);
        let pauses = Pauses::new(refill(6_001, 0), 6_000).unwrap();
        assert_eq!(pauses, Pauses { time: 1, every: 1 });
        // One may be there at first, and one comes behind each frame.
        assert_eq!(pauses.before(1), 1);
        assert_eq!(pauses.before(5), 5);
        let seldom = Pauses::new(refill(16_000, 382), 6_000).unwrap();
        assert_eq!(seldom.before(382), 10_000);
        assert_eq!(seldom.before(383), 20_000);
        assert_eq!(seldom.before(10_000), 270_000);
    }
}
