//! A queue of frames between two threads, in numbers of the processor: no locks, no waiting, no
//! allocation after the start.

use frame::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of words of 8 bytes in a ring: 8192 classic frames, which is a hundredth of a second
/// at 800 000 frames a second. A power of two.
pub const RING_WORDS: usize = 1 << 15;

/// Number of words before the bytes of a frame.
const HEAD: u64 = 2;

/// A queue of frames from one thread to another. Only one thread may push and only one may pop at
/// the same time; otherwise frames are mixed up, but memory stays safe.
pub struct FrameRing {
    words: Box<[AtomicU64]>,
    /// Number of words written since the start. Only the pushing thread changes it.
    written: AtomicU64,
    /// Number of words read since the start. Only the popping thread changes it.
    read: AtomicU64,
    /// Number of frames that found no room. Only the pushing thread changes it.
    lost: AtomicU64,
}

/// The properties of a frame that a ring has in addition to its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingRecord {
    /// The time of the frame, ns since the Unix epoch.
    pub stamp: Nanos,
    /// The index of its port in the names of the channel.
    pub port: u16,
    /// Whether the port sent it; otherwise the port received it.
    pub is_sent: bool,
}

impl FrameRing {
    /// Creates a ring of this many words, a power of two.
    pub fn new(words: usize) -> Self {
        let words = words.next_power_of_two();
        Self {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            written: AtomicU64::new(0),
            read: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Returns the number of frames that found no room since the start.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Acquire)
    }

    /// Adds a frame, or counts it as lost.
    pub fn push(&self, record: RingRecord, bytes: &[u8]) {
        let written = self.written.load(Ordering::Relaxed);
        // The reader has done with these words before it counted them as read.
        let used = written.wrapping_sub(self.read.load(Ordering::Acquire));
        let needed = HEAD + bytes.len().div_ceil(8) as u64;
        if used + needed > self.words.len() as u64 {
            let lost = self.lost.load(Ordering::Relaxed);
            self.lost.store(lost + 1, Ordering::Release);
            return;
        }
        let about =
            bytes.len() as u64 | u64::from(record.port) << 16 | u64::from(record.is_sent) << 32;
        self.put(written, about);
        self.put(written + 1, record.stamp);
        for (place, piece) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(piece) {
                *to = *from;
            }
            self.put(written + HEAD + place as u64, u64::from_ne_bytes(word));
        }
        // Publishes the words before it.
        self.written.store(written + needed, Ordering::Release);
    }

    /// Takes the oldest frame: copies its bytes to `bytes`, and returns the rest and their number;
    /// `None` if there is no frame.
    pub fn pop(&self, bytes: &mut [u8]) -> Option<(RingRecord, usize)> {
        let read = self.read.load(Ordering::Relaxed);
        if read == self.written.load(Ordering::Acquire) {
            return None;
        }
        let about = self.get(read);
        let length = usize::from(about as u16);
        let record = RingRecord {
            stamp: self.get(read + 1),
            port: (about >> 16) as u16,
            is_sent: about >> 32 & 1 != 0,
        };
        for (place, piece) in bytes.chunks_mut(8).take(length.div_ceil(8)).enumerate() {
            let word = self.get(read + HEAD + place as u64).to_ne_bytes();
            for (to, from) in piece.iter_mut().zip(word) {
                *to = from;
            }
        }
        let needed = HEAD + length.div_ceil(8) as u64;
        self.read.store(read + needed, Ordering::Release);
        Some((record, length.min(bytes.len())))
    }

    fn put(&self, place: u64, word: u64) {
        if let Some(to) = self.words.get(self.index(place)) {
            to.store(word, Ordering::Relaxed);
        }
    }

    fn get(&self, place: u64) -> u64 {
        let from = self.words.get(self.index(place));
        from.map_or(0, |word| word.load(Ordering::Relaxed))
    }

    fn index(&self, place: u64) -> usize {
        place as usize & (self.words.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::sync::Arc;

    fn record(stamp: Nanos) -> RingRecord {
        RingRecord {
            stamp,
            port: stamp as u16,
            is_sent: stamp % 2 == 1,
        }
    }

    #[test]
    fn a_full_ring_loses_the_new_frame_and_counts_it() {
        let ring = FrameRing::new(8);
        for stamp in 0..3 {
            ring.push(record(stamp), &[stamp as u8; 16]);
        }
        let mut bytes = [0; 64];
        assert_eq!(ring.lost(), 1);
        assert_eq!(ring.pop(&mut bytes), Some((record(0), 16)));
        ring.push(record(3), &[3; 9]);
        assert_eq!(ring.pop(&mut bytes), Some((record(1), 16)));
        assert_eq!(ring.pop(&mut bytes), Some((record(3), 9)));
        assert_eq!(bytes[..9], [3; 9]);
        assert_eq!(ring.pop(&mut bytes), None);
        assert_eq!(ring.lost(), 1);
    }

    #[test]
    fn two_threads_pass_every_frame_in_order() {
        const FRAMES: u64 = 100_000;
        let ring = Arc::new(FrameRing::new(64));
        let pushing = Arc::clone(&ring);
        let worker = std::thread::spawn(move || {
            for stamp in 0..FRAMES {
                let lost = pushing.lost();
                loop {
                    pushing.push(record(stamp), &stamp.to_ne_bytes());
                    if pushing.lost() == lost {
                        break;
                    }
                    // A ring does not wait; the test does.
                    std::thread::yield_now();
                    if pushing.lost() > lost {
                        pushing.lost.store(lost, Ordering::Release);
                    }
                }
            }
        });
        let mut bytes = [0; 8];
        let mut next = 0;
        while next < FRAMES {
            if let Some(found) = ring.pop(&mut bytes) {
                assert_eq!(found, (record(next), 8));
                assert_eq!(u64::from_ne_bytes(bytes), next);
                next += 1;
            }
        }
        worker.join().unwrap();
    }

    proptest! {
        /// A ring is a bounded queue: the same frames come out as of a deque of the same size.
        #[test]
        fn a_ring_is_a_queue(steps in prop::collection::vec(prop::option::of(0_usize..40), 0..200)) {
            let ring = FrameRing::new(16);
            let mut model: VecDeque<(u64, usize)> = VecDeque::new();
            let mut lost = 0;
            let words = |len: usize| 2 + len.div_ceil(8);
            for (at, step) in steps.iter().enumerate() {
                match step {
                    Some(len) => {
                        ring.push(record(at as u64), &vec![at as u8; *len]);
                        let used: usize = model.iter().map(|(_, len)| words(*len)).sum();
                        if used + words(*len) > 16 {
                            lost += 1;
                        } else {
                            model.push_back((at as u64, *len));
                        }
                    }
                    None => {
                        let mut bytes = [0; 64];
                        let found = ring.pop(&mut bytes);
                        let expected = model.pop_front();
                        prop_assert_eq!(found, expected.map(|(at, len)| (record(at), len)));
                        if let Some((at, len)) = expected {
                            prop_assert!(bytes[..len].iter().all(|byte| *byte == at as u8));
                        }
                    }
                }
                prop_assert_eq!(ring.lost(), lost);
            }
        }
    }
}
