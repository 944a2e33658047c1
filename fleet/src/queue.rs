//! Samples that wait to be published, bounded.

use crate::class::FrameClass;
use crate::sample::UnsentSample;
use std::collections::VecDeque;
use std::time::Instant;

/// A sample that waits.
#[derive(Clone, Debug)]
pub struct WaitingSample {
    /// Its class.
    pub class: FrameClass,
    /// The sample.
    pub sample: UnsentSample,
    /// When it began to wait.
    pub since: Instant,
}

/// The samples of all classes of a bus: the first class leaves first, each in its order.
#[derive(Debug)]
pub struct ClassQueue {
    waiting: [VecDeque<WaitingSample>; 3],
    capacity: usize,
}

impl ClassQueue {
    /// Returns an empty queue with room for this number of samples.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            waiting: Default::default(),
            capacity: capacity.max(1),
        }
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Returns whether no sample waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a sample. A full queue drops the oldest one of the last class that has one, if that
    /// class is not before the sample's own, else the sample; returns the one that was dropped.
    pub fn push(&mut self, sample: WaitingSample) -> Option<WaitingSample> {
        let index = sample.class.index();
        let mut dropped = None;
        if self.len() >= self.capacity {
            let candidates = self.waiting.iter_mut().skip(index).rev();
            dropped = candidates
                .filter(|queue| !queue.is_empty())
                .find_map(VecDeque::pop_front);
            if dropped.is_none() {
                return Some(sample);
            }
        }
        self.waiting[index].push_back(sample);
        dropped
    }

    /// Takes the oldest sample of the first class that has one.
    pub fn pop(&mut self) -> Option<WaitingSample> {
        self.waiting.iter_mut().find_map(VecDeque::pop_front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(class: FrameClass, frames: u64) -> WaitingSample {
        let mut sample = UnsentSample::default();
        sample.frames = frames;
        WaitingSample {
            class,
            sample,
            since: Instant::now(),
        }
    }

    #[test]
    fn the_last_class_makes_room() {
        use FrameClass::{Bulk, Normal, Urgent};
        let mut queue = ClassQueue::new(2);
        let mut push = |class, number| {
            queue
                .push(sample(class, number))
                .map(|one| one.sample.frames)
        };
        assert_eq!(push(Bulk, 1), None);
        assert_eq!(push(Bulk, 2), None);
        assert_eq!(push(Bulk, 3), Some(1));
        assert_eq!(push(Urgent, 4), Some(2));
        assert_eq!(push(Normal, 5), Some(3));
        assert_eq!(push(Bulk, 6), Some(6));
        assert_eq!(push(Urgent, 7), Some(5));
        assert_eq!(push(Normal, 8), Some(8));
        assert_eq!(push(Urgent, 9), Some(4));
        let left: Vec<u64> = std::iter::from_fn(|| queue.pop())
            .map(|one| one.sample.frames)
            .collect();
        assert_eq!(left, [7, 9]);
    }

    proptest! {
        /// Each sample is dropped, taken or left, and no queue is longer than its limit.
        #[test]
        fn no_sample_disappears(steps in prop::collection::vec((0_usize..4, 1_u64..9), 1..200)) {
            let mut queue = ClassQueue::new(7);
            let (mut given, mut out) = (0, 0);
            for (step, frames) in steps {
                match FrameClass::ALL.get(step) {
                    Some(class) => {
                        given += frames;
                        out += queue.push(sample(*class, frames)).map_or(0, |one| one.sample.frames);
                    }
                    None => out += queue.pop().map_or(0, |one| one.sample.frames),
                }
                prop_assert!(queue.len() <= 7);
            }
            while let Some(one) = queue.pop() {
                out += one.sample.frames;
            }
            prop_assert!(queue.is_empty());
            prop_assert_eq!(given, out);
        }
    }
}
