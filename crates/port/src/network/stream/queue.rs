//! The frames that wait for one connection, as places in the store.

use std::collections::VecDeque;

/// Urgent frames leave before all others; each class keeps its order.
#[derive(Default)]
pub(super) struct FrameQueue {
    urgent: VecDeque<u32>,
    others: VecDeque<u32>,
}

impl FrameQueue {
    pub(super) fn len(&self) -> usize {
        self.urgent.len() + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reserves memory, so that adding does not allocate.
    pub(super) fn reserve(&mut self, most: usize) {
        self.urgent.reserve(most);
        self.others.reserve(most);
    }

    pub(super) fn push(&mut self, at: u32, urgent: bool) {
        match urgent {
            true => self.urgent.push_back(at),
            false => self.others.push_back(at),
        }
    }

    /// Removes the frame that leaves next.
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.urgent.pop_front().or_else(|| self.others.pop_front())
    }

    /// Removes the frame that gives up its place: the oldest one, an urgent one last.
    pub(super) fn displace(&mut self) -> Option<u32> {
        self.others.pop_front().or_else(|| self.urgent.pop_front())
    }

    /// Returns all frames in the order of leaving.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.urgent.iter().chain(&self.others).copied()
    }

    /// Removes all frames.
    pub(super) fn clear(&mut self) {
        self.urgent.clear();
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgent_frames_leave_first_and_give_way_last() {
        let mut queue = FrameQueue::default();
        for (at, urgent) in [(1, false), (2, true), (3, false), (4, true), (5, false)] {
            queue.push(at, urgent);
        }
        assert_eq!(queue.iter().collect::<Vec<_>>(), [2, 4, 1, 3, 5]);
        assert_eq!(
            (queue.displace(), queue.pop(), queue.len()),
            (Some(1), Some(2), 3)
        );
        let rest: Vec<u32> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest, [4, 3, 5]);
        queue.push(6, true);
        assert_eq!((queue.displace(), queue.displace()), (Some(6), None));
    }
}
