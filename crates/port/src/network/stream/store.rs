//! Frames that wait for clients: each is stored once, whatever the number of clients.

use crate::TxCounters;
use frame::{Frame, Nanos};

/// The end of the copy of a frame for one client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CopyEnd {
    /// It was handed to the client's socket.
    Reached,
    /// A newer frame took its place in the client's queue.
    Displaced,
    /// The client left.
    Lost,
}

#[derive(Clone, Copy)]
struct StoredFrame {
    frame: Frame,
    /// Time of the frame as Unix time, ns.
    unix: Nanos,
    /// Number of copies without an end.
    pending: u32,
    reached: bool,
}

/// The frames, and the counters of their fates: the first copy that reaches a client makes a frame
/// sent; the end of the last copy decides on a frame that reached none.
pub(super) struct FrameStore {
    frames: Vec<StoredFrame>,
    free: Vec<u32>,
    room: usize,
    counters: TxCounters,
}

impl FrameStore {
    /// Creates a store with room for this many frames.
    pub(super) fn new(room: usize) -> Self {
        Self {
            frames: Vec::with_capacity(room),
            free: Vec::with_capacity(room),
            room,
            counters: TxCounters::default(),
        }
    }

    /// Stores a frame for this many clients. `None` if there is no room.
    pub(super) fn add(&mut self, frame: Frame, unix: Nanos, copies: u32) -> Option<u32> {
        let stored = StoredFrame {
            frame,
            unix,
            pending: copies,
            reached: false,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.frames[at as usize] = stored;
                at
            }
            None if self.frames.len() < self.room => {
                self.frames.push(stored);
                self.frames.len() as u32 - 1
            }
            None => return None,
        };
        self.counters.taken += 1;
        Some(at)
    }

    /// Returns a stored frame and its time.
    pub(super) fn get(&self, at: u32) -> (&Frame, Nanos) {
        let stored = &self.frames[at as usize];
        (&stored.frame, stored.unix)
    }

    /// Records the end of a copy.
    pub(super) fn release(&mut self, at: u32, end: CopyEnd) {
        let stored = &mut self.frames[at as usize];
        stored.pending -= 1;
        match end {
            CopyEnd::Reached if !stored.reached => {
                stored.reached = true;
                self.counters.sent += 1;
            }
            CopyEnd::Reached => {}
            CopyEnd::Displaced | CopyEnd::Lost => self.counters.missed += 1,
        }
        if stored.pending > 0 {
            return;
        }
        if !stored.reached {
            match end {
                CopyEnd::Displaced => self.counters.displaced += 1,
                CopyEnd::Lost | CopyEnd::Reached => self.counters.lost += 1,
            }
        }
        self.free.push(at);
    }

    /// Counts that a client's socket had no room.
    pub(super) fn stall(&mut self) {
        self.counters.stalled += 1;
    }

    /// Returns the number of frames that have reached no client yet and still may.
    pub(super) fn held(&self) -> u64 {
        let TxCounters {
            taken,
            sent,
            lost,
            displaced,
            ..
        } = self.counters;
        taken - (sent + lost + displaced)
    }

    pub(super) fn counters(&self) -> TxCounters {
        TxCounters {
            held: self.held(),
            ..self.counters
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CopyEnd::{Displaced, Lost, Reached};
    use super::*;
    use frame::CanId;

    /// Every frame has one fate, whatever the ends of its copies.
    #[test]
    fn the_best_copy_decides() {
        let frame = Frame::classic(CanId::from_raw(1), &[1]).unwrap();
        let cases: [(&[CopyEnd], [u64; 4]); 7] = [
            (&[Reached], [1, 0, 0, 0]),
            (&[Lost], [0, 1, 0, 1]),
            (&[Displaced], [0, 0, 1, 1]),
            (&[Reached, Lost], [1, 0, 0, 1]),
            (&[Lost, Reached], [1, 0, 0, 1]),
            (&[Displaced, Lost], [0, 1, 0, 2]),
            (&[Reached, Reached, Displaced], [1, 0, 0, 1]),
        ];
        let mut store = FrameStore::new(1);
        let mut sums = [0; 4];
        for (ends, counts) in cases {
            let at = store.add(frame, 5, ends.len() as u32).unwrap();
            assert_eq!(store.add(frame, 5, 1), None, "the store is full");
            assert_eq!(store.get(at), (&frame, 5));
            assert_eq!(store.held(), 1);
            for end in ends {
                store.release(at, *end);
            }
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
            let found = store.counters();
            let found = [found.sent, found.lost, found.displaced, found.missed];
            assert_eq!(found, sums, "{ends:?}");
            assert_eq!(store.held(), 0);
        }
    }
}
