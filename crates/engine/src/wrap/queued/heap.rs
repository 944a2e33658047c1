//! A heap of numbered places, from which any place can be removed.

use alloc::vec;
use alloc::vec::Vec;

/// The order of a heap: a key, and for equal keys the order of arrival.
pub(super) type Rank = (u64, u64);

/// Marks a place that is not in the heap.
const NOWHERE: u32 = u32::MAX;

/// Places by rank, the lowest first. All memory is allocated at the start.
pub(super) struct RankHeap {
    entries: Vec<(Rank, u32)>,
    /// For each place, its index in `entries`.
    stands: Vec<u32>,
}

impl RankHeap {
    /// Creates a heap for places from 0 to `capacity` - 1.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
            stands: vec![NOWHERE; capacity],
        }
    }

    /// Returns the place with the lowest rank.
    pub(super) fn first(&self) -> Option<(Rank, u32)> {
        self.entries.first().copied()
    }

    /// Adds a place that is not in the heap.
    pub(super) fn insert(&mut self, rank: Rank, place: u32) {
        let at = self.entries.len();
        self.entries.push((rank, place));
        self.rise(at);
    }

    /// Removes a place from any position.
    pub(super) fn remove(&mut self, place: u32) {
        let Some(stands) = self.stands.get_mut(place as usize) else {
            return;
        };
        let at = core::mem::replace(stands, NOWHERE) as usize;
        if at >= self.entries.len() {
            return;
        }
        self.entries.swap_remove(at);
        if at < self.entries.len() {
            // The entry from the end may be lower than those above, or higher than those below.
            let at = self.rise(at);
            self.sink(at);
        }
    }

    /// Moves the entry at this index up, as far as it is lower. Returns its new index.
    fn rise(&mut self, mut at: usize) -> usize {
        while at > 0 && self.rank(at) < self.rank((at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        self.settle(at);
        at
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let below = [2 * at + 1, 2 * at + 2];
            let below = below.into_iter().filter(|&i| i < self.entries.len());
            let Some(lowest) = below.min_by_key(|&i| self.rank(i)) else {
                break;
            };
            if self.rank(at) <= self.rank(lowest) {
                break;
            }
            self.swap(at, lowest);
            at = lowest;
        }
        self.settle(at);
    }

    fn rank(&self, at: usize) -> Option<Rank> {
        self.entries.get(at).map(|(rank, _)| *rank)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.entries.swap(a, b);
        self.settle(a);
        self.settle(b);
    }

    /// Records the index of the place that is here now.
    fn settle(&mut self, at: usize) {
        if let Some((_, place)) = self.entries.get(at)
            && let Some(stands) = self.stands.get_mut(*place as usize)
        {
            *stands = at as u32;
        }
    }
}
