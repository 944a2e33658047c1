//! Putting parts together.

use super::format::{FramePart, PartContent, bytes_of, part_count, whole_header};
use crate::Token;
use frame::{CanId, FrameBuf, FrameRef, Nanos};

/// The way of a frame up to this port: a tunnel behind it finds the frame's trail by the token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct FramePassed {
    pub(super) hops: u8,
    pub(super) token: Token,
}

/// The fate of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PartFate {
    /// It waits for the next one.
    Waits,
    /// It was the last one: the FD frame is complete.
    Completes,
    /// It is the same part as before once more, as a bus can deliver it; left out.
    Repeated,
    /// It fits to no frame of which all parts before it came, and is dropped.
    Dropped,
}

/// The counts of a [`FrameJoiner`]. Each part that [`FrameJoiner::take`] got is in one of the first
/// three, or waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct JoinCounters {
    /// Parts in frames that were completed.
    pub(super) joined: u64,
    /// Parts that were left out, because they came twice.
    pub(super) repeated: u64,
    /// Parts that were dropped, with the frames of which another part was missing.
    pub(super) dropped: u64,
    /// FD frames that were completed.
    pub(super) completed: u64,
    /// FD frames that were dropped because a part was missing.
    pub(super) incomplete: u64,
    /// Those among them whose next part did not come in time.
    pub(super) timed_out: u64,
}

/// Joins the parts of one identifier.
pub(super) struct FrameJoiner {
    id: CanId,
    timeout: Nanos,
    frame: FrameBuf,
    /// The parts of the present frame that came; 0 if there is no frame.
    came: usize,
    /// The sequence number of the present or the last frame.
    sequence: Option<u8>,
    /// The time at which the present frame is dropped.
    deadline: Nanos,
    /// The last part that was taken: its bytes, and how long it is known as such.
    last: ([u8; 8], usize, Nanos),
    /// The hops of the present frame (the most of its parts), and the token of its first part.
    passage: FramePassed,
    counters: JoinCounters,
}

impl FrameJoiner {
    /// Returns a joiner that makes FD frames with this identifier. All parts of a frame must come
    /// within `timeout`.
    pub(super) fn new(id: CanId, timeout: Nanos) -> Self {
        Self {
            id,
            timeout,
            frame: FrameBuf::new(),
            came: 0,
            sequence: None,
            deadline: 0,
            last: ([0; 8], 0, 0),
            passage: FramePassed::default(),
            counters: JoinCounters::default(),
        }
    }

    /// Takes a part. The frame that it completes is [`FrameJoiner::whole`] until the next call.
    pub(super) fn take(&mut self, now: Nanos, data: &[u8], passed: FramePassed) -> PartFate {
        self.expire(now);
        let (last, len, until) = &self.last;
        if *len > 0 && now <= *until && last.get(..*len) == Some(data) {
            self.counters.repeated += 1;
            return PartFate::Repeated;
        }
        let fits = FramePart::read(data).is_some_and(|part| self.add(now, part));
        if !fits {
            // What came before it cannot be completed either: the parts of a frame come in order.
            self.drop_frame();
            self.counters.dropped += 1;
            self.last.1 = 0;
            return PartFate::Dropped;
        }
        self.passage = match self.came {
            1 => passed,
            _ => FramePassed {
                hops: self.passage.hops.max(passed.hops),
                ..self.passage
            },
        };
        let mut bytes = [0; 8];
        let count = data.len().min(8);
        bytes[..count].copy_from_slice(&data[..count]);
        self.last = (bytes, count, now.saturating_add(self.timeout));
        if self.came < part_count(self.frame.view().len()) {
            return PartFate::Waits;
        }
        self.counters.joined += self.came as u64;
        self.counters.completed += 1;
        self.came = 0;
        PartFate::Completes
    }

    /// Adds a part to the present frame, or begins one; returns whether it fits.
    fn add(&mut self, now: Nanos, part: FramePart<'_>) -> bool {
        let (number, payload) = match part.content {
            PartContent::First {
                len,
                flags,
                payload,
            } => {
                self.drop_frame();
                let Some(header) = whole_header(self.id, len, flags) else {
                    return false;
                };
                self.frame.reset(header);
                self.deadline = now.saturating_add(self.timeout);
                (0, payload)
            }
            PartContent::Next { number, payload } => {
                if self.came == 0 || number != self.came || self.sequence != Some(part.sequence) {
                    return false;
                }
                (number, payload)
            }
        };
        let (first, end) = bytes_of(number, self.frame.view().len());
        let place = self.frame.buffer_mut().get_mut(first..end);
        let Some(place) = place.filter(|place| place.len() == payload.len()) else {
            return false;
        };
        place.copy_from_slice(payload);
        self.sequence = Some(part.sequence);
        self.came = number + 1;
        true
    }

    /// Drops the present frame if its time is over; returns whether it is.
    pub(super) fn expire(&mut self, now: Nanos) -> bool {
        let is_over = self.came > 0 && now > self.deadline;
        if is_over {
            self.counters.timed_out += 1;
            self.drop_frame();
        }
        is_over
    }

    fn drop_frame(&mut self) {
        if self.came > 0 {
            self.counters.incomplete += 1;
            self.counters.dropped += self.came as u64;
            self.came = 0;
        }
    }

    /// Returns the frame that the last part completed, and its way so far.
    pub(super) fn whole(&self) -> (FrameRef<'_>, FramePassed) {
        (self.frame.view(), self.passage)
    }

    /// Returns the first time at which [`FrameJoiner::expire`] drops something.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        (self.came > 0).then(|| self.deadline.saturating_add(1))
    }

    /// Returns the number of parts that wait.
    pub(super) const fn waiting(&self) -> u64 {
        self.came as u64
    }

    /// Returns the counts.
    pub(super) const fn counters(&self) -> JoinCounters {
        self.counters
    }
}
