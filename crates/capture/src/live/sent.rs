//! Finds out which frames this machine sent.
//!
//! In addition to the recorded ring there is a ring that contains only the echoes ([`SentRing`]).
//! Each of its frames also arrives in the recorded ring, a moment later, or found no room there. So
//! a frame is an echo if the same bytes of the same interface wait here with a stamp that is not
//! later than its own; it takes the first of them.

use frame::Nanos;
use frame::text::Direction;
use linux::packet::{SENT_BYTES, SentRing};
use std::collections::VecDeque;

/// Maximum difference of stamps, in ns. If the difference is larger, either the clock was set, or
/// the frame certainly came after the one that waits.
const FAR: Nanos = 1_000_000_000;

/// A sent frame: the part of it that is compared with the other ring.
#[derive(Clone, Copy, Debug)]
struct SentEcho {
    stamp: Nanos,
    len: u8,
    bytes: [u8; SENT_BYTES],
}

/// Sent frames that have not been found in the recorded ring yet.
#[derive(Debug, Default)]
pub(super) struct WaitingEchoes {
    /// Index of the interface, and its frames in the order in which they came.
    interfaces: Vec<(u32, VecDeque<SentEcho>)>,
    /// Maximum number of frames that are kept for an interface.
    most: usize,
    /// Sent frames may be missing here.
    unsure: bool,
    /// Number of frames whose direction was requested but is unknown.
    pub(super) unknown: u64,
}

impl WaitingEchoes {
    fn find_or_add(&mut self, interface: u32) -> &mut VecDeque<SentEcho> {
        let at = self.interfaces.iter().position(|(n, _)| *n == interface);
        let at = at.unwrap_or_else(|| {
            self.interfaces.push((interface, VecDeque::new()));
            self.interfaces.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "it was found there or just added")]
        &mut self.interfaces[at].1
    }

    /// Adds an echo.
    fn add(&mut self, interface: u32, stamp: Nanos, bytes: &[u8]) {
        let mut echo = SentEcho {
            stamp,
            len: 0,
            bytes: [0; SENT_BYTES],
        };
        for (to, from) in echo.bytes.iter_mut().zip(bytes) {
            *to = *from;
            echo.len += 1;
        }
        let most = self.most;
        let queue = self.find_or_add(interface);
        queue.push_back(echo);
        if queue.len() > most {
            queue.pop_front();
        }
    }

    /// Returns the direction of this frame of the recorded ring.
    fn direction(&mut self, interface: u32, stamp: Nanos, bytes: &[u8]) -> Option<Direction> {
        let start = bytes.get(..SENT_BYTES).unwrap_or(bytes);
        let queue = self.find_or_add(interface);
        let old = |echo: &SentEcho| echo.stamp.abs_diff(stamp) > FAR;
        while queue.front().is_some_and(old) {
            // Its frame found no room in the recorded ring.
            queue.pop_front();
        }
        let found = queue
            .iter()
            .take_while(|echo| echo.stamp <= stamp)
            .position(|echo| echo.bytes.get(..echo.len.into()) == Some(start));
        if let Some(at) = found {
            queue.remove(at);
            return Some(Direction::Sent);
        }
        if self.unsure {
            self.unknown += 1;
            return None;
        }
        Some(Direction::Received)
    }
}

/// The ring of echoes, and the frames that were taken from it.
pub(super) struct EchoRing {
    pub(super) ring: SentRing,
    pub(super) waiting: WaitingEchoes,
}

impl EchoRing {
    pub(super) fn new(ring: SentRing, most: usize) -> Self {
        Self {
            ring,
            waiting: WaitingEchoes {
                most,
                ..WaitingEchoes::default()
            },
        }
    }

    /// Takes the available echoes; must be called before each block of the recorded ring.
    pub(super) fn take(&mut self) {
        let Self { ring, waiting } = self;
        ring.take(&mut |interface, slot| waiting.add(interface, slot.stamp, slot.bytes));
        // If the kernel does not answer, echoes may be missing, too.
        waiting.unsure |= ring.take_dropped() != Ok(0);
    }

    /// Notes that the recorded ring is empty: all echoes that were dropped so far belonged to
    /// earlier frames.
    pub(super) const fn is_level(&mut self) {
        self.waiting.unsure = false;
    }

    /// Returns the direction of this frame of the recorded ring. `None`: it is unknown, which is
    /// counted.
    pub(super) fn direction(
        &mut self,
        interface: u32,
        stamp: Nanos,
        bytes: &[u8],
    ) -> Option<Direction> {
        self.waiting.direction(interface, stamp, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waiting() -> WaitingEchoes {
        WaitingEchoes {
            most: 1000,
            ..WaitingEchoes::default()
        }
    }

    proptest! {
        /// Frames of two interfaces with few different contents, so that sent and received ones are
        /// equal. Some of them find no room in the recorded ring, and echoes are taken in pieces.
        #[test]
        fn every_recorded_frame_has_its_own_direction(
            frames in prop::collection::vec(
                (0_u32..2, any::<bool>(), 0_u8..3, 1_u64..1000, prop::bool::weighted(0.9)), 0..200),
            piece in 1_usize..20,
        ) {
            let mut waiting = waiting();
            let (mut now, mut read) = (0, 0);
            let all: Vec<_> = frames.iter().map(|(interface, sent, content, gap, room)| {
                now += 2 * gap;
                (*interface, *sent, [*content; 72], now + 1, *room)
            }).collect();
            let mut lost: Vec<(u32, [u8; 72], u64)> = Vec::new();
            for (number, (interface, sent, bytes, stamp, room)) in all.iter().enumerate() {
                if number >= read {
                    // The ring of echoes is ahead by the size of a block.
                    for (interface, _, bytes, stamp, _) in
                        all.iter().skip(read).take(piece).filter(|f| f.1)
                    {
                        // Its stamp is taken before the other ring's, or is the same.
                        waiting.add(*interface, stamp - stamp % 2, &bytes[..SENT_BYTES]);
                    }
                    read += piece;
                }
                if !room {
                    if *sent {
                        lost.push((*interface, *bytes, *stamp));
                    }
                    continue;
                }
                let found = waiting.direction(*interface, *stamp, bytes);
                // Only the echo of a frame that was lost can be assigned to an equal frame after
                // it.
                let mistaken = lost.iter().any(|l| l.0 == *interface && l.1 == *bytes);
                if *sent || !mistaken {
                    let right = if *sent { Direction::Sent } else { Direction::Received };
                    prop_assert_eq!(found, Some(right));
                }
            }
        }
    }

    #[test]
    fn unknown_directions_are_reported_and_old_echoes_are_forgotten() {
        let mut waiting = waiting();
        waiting.unsure = true;
        assert_eq!(waiting.direction(3, 10, &[1; 16]), None);
        waiting.add(3, 20, &[1; 16]);
        assert_eq!(waiting.direction(3, 20, &[1; 16]), Some(Direction::Sent));
        assert_eq!(waiting.unknown, 1);
        waiting.unsure = false;
        waiting.add(3, 30, &[1; 16]);
        let late = 31 + FAR;
        assert_eq!(
            waiting.direction(3, late, &[1; 16]),
            Some(Direction::Received)
        );
        waiting.most = 2;
        for _ in 0..5 {
            waiting.add(3, late, &[2; 16]);
        }
        assert_eq!(waiting.find_or_add(3).len(), 2);
        // A shorter frame does not match the beginning of a longer one.
        waiting.add(4, late, &[5; 16]);
        assert_eq!(
            waiting.direction(4, late, &[5; 17]),
            Some(Direction::Received)
        );
    }
}
