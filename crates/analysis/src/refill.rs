//! Nodes that need time to put the next frame into a buffer.
//!
//! # The model
//! A node has transmit buffers and a queue in order of arrival. When one of its frames has ended,
//! and others wait in the queue, software must put the next one into a buffer: an interrupt is
//! served, and a driver is called. Until then the node may have no frame in a buffer, and takes no
//! part in arbitration. This is a *pause*. [`BufferRefill`] specifies the longest duration of a
//! pause, and the least number of frames that the node sends from one pause to the next. Two
//! examples:
//!
//! * a controller with one transmit buffer, which is filled when its frame has been sent: a pause
//!   after each frame;
//! * Linux's driver `mscan` has three buffers. So that frames leave in the order in which they
//!   arrived, it assigns them priorities, which rise each time that the buffer number decreases; at
//!   the 255th time it waits until all buffers are empty before it fills one again. Of three steps
//!   at most two are downward, so there are at least 382 frames between two pauses.
//!
//! Where a node has several buffers and each is filled late, some frame of it still takes part as
//! long as one buffer is full. So it, too, has at most one pause for each of its frames.
//!
//! # The cost of a pause
//! Let R be the greatest time of a pause after an intermission, N the least number of frames from
//! one pause to the next, and *s* the beginning of the busy period of a frame in
//! [`mod@crate::queue`]. In each arbitration from *s* on the node takes part with one of its
//! frames, or it is in a pause, or a frame goes first that counts as interference. In a pause the
//! bus may be idle, or frames of other nodes are sent that cannot precede the frame in question.
//! The last of them begins before the pause ends. So a pause costs at most P = R + B, with B the
//! longest such frame; the cost of an error in that frame is given in [`mod@crate::window`], and
//! the frame loses the next arbitration if the pause has ended.
//!
//! Let k frames of the node precede the frame, from *s* on. A pause that has begun before *s*
//! costs at most R: the blocking frame is counted already. Then the next one follows N frames
//! later, and there are ⌊k / N⌋ more. If there is none at *s*, there are at most ⌈k / N⌉. Both are
//! no more than
//!
//! > max (R, P − ⌊P / N⌋) + k · ⌈P / N⌉.
//!
//! So the first term is added to the blocking, and each frame of the node is counted as occupying
//! the bus for ⌈P / N⌉ longer. The limit for frames that come from one bus ([`mod@crate::train`])
//! grows by the same: in an interval of length t at most 1 + (t + Δ) / *shortest* frames come, with
//! *shortest* the shortest frame there, each with all its copies.
//!
//! During a pause it is not known which of several buffers are full. So such a node is never
//! assumed to serve by priority, and the lowest priority that wins while one of its frames waits is
//! the lowest of its messages.
//!
//! # The consequences for other nodes
//! For them a frame of this node competes when it is in a buffer, as described in
//! [`mod@crate::queue`]; the time that it waits before includes the pauses. In the second
//! derivation there, which counts no waiting, the pauses of all nodes whose frames count are added:
//! from *s* on a frame of the set waits in each arbitration, and its node either takes part, or is
//! in a pause.

use frame::Nanos;

/// The time that a node with transmit buffers takes to fill one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferRefill {
    /// The longest time from the end of a frame of the node to the next start of frame, on a bus
    /// that no other node uses, while a frame waits in its queue, ns. The intermission is included.
    pub time: Nanos,
    /// The least number of frames that the node sends from one such pause to the next; 0 counts as
    /// 1: a pause after each frame.
    pub every: u32,
}

/// The pauses of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodePauses {
    /// The longest one, after an intermission, ns.
    time: Nanos,
    /// Number of frames from one to the next.
    every: u64,
}

/// The time that the pauses of a node add.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PauseDelay {
    /// The time added once, ns.
    pub(crate) once: Nanos,
    /// The time added with each frame of the node, ns.
    pub(crate) each: Nanos,
}

impl NodePauses {
    /// Returns the pauses of a node; `None` for one that fills its buffers within the intermission.
    pub(crate) fn new(refill: BufferRefill, intermission: Nanos) -> Option<Self> {
        let time = refill.time.saturating_sub(intermission);
        (time > 0).then_some(Self {
            time,
            every: u64::from(refill.every.max(1)),
        })
    }

    /// Returns the time that the pauses add, with the longest frame that can begin in a pause.
    pub(crate) fn added(&self, longest: Nanos) -> PauseDelay {
        let cost = self.time.saturating_add(longest);
        PauseDelay {
            once: self.time.max(cost - cost / self.every),
            each: cost.div_ceil(self.every),
        }
    }

    /// Returns the total time of the pauses of a node that is alone on its bus, before the last one
    /// of `frames` of its frames, ns.
    pub(crate) fn before(&self, frames: u64) -> Nanos {
        let count = frames.saturating_sub(1) / self.every + 1;
        count.saturating_mul(self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_never_more_than_what_is_added() {
        for (time, longest) in [(5, 0), (5, 7), (7, 5), (10, 100), (1, 1)] {
            for every in [1, 2, 3, 7, 382] {
                let pauses = NodePauses { time, every };
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
        let refill = |time, every| BufferRefill { time, every };
        assert_eq!(NodePauses::new(refill(6_000, 1), 6_000), None);
        let pauses = NodePauses::new(refill(6_001, 0), 6_000).unwrap();
        assert_eq!(pauses, NodePauses { time: 1, every: 1 });
        // One may be there at first, and one follows each frame.
        assert_eq!(pauses.before(1), 1);
        assert_eq!(pauses.before(5), 5);
        let seldom = NodePauses::new(refill(16_000, 382), 6_000).unwrap();
        assert_eq!(seldom.before(382), 10_000);
        assert_eq!(seldom.before(383), 20_000);
        assert_eq!(seldom.before(10_000), 270_000);
    }
}
