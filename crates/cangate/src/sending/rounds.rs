//! Frames that are sent again and again.

use super::{FrameSource, MadeMessage, NextFrame};
use frame::{FrameBuf, Nanos};

/// The way to get a frame of each round.
pub(crate) enum FrameMaker {
    /// The same frame each time.
    Fixed(Box<FrameBuf>),
    /// A message, whose protection can count the frames.
    Made(Box<MadeMessage>),
}

/// Rounds: in each one, every frame is sent once, in order. Round `n` begins `n` periods after the
/// first one.
pub(crate) struct FrameRounds {
    frames: Vec<FrameMaker>,
    /// Time from one round to the next, ns; 0: the next round follows at once.
    period: Nanos,
    /// Number of rounds; `None`: without end.
    rounds: Option<u64>,
    start: Option<Nanos>,
    round: u64,
    /// Index of the next frame of the round.
    next: usize,
}

impl FrameRounds {
    /// Returns the rounds of these frames.
    pub(crate) const fn new(frames: Vec<FrameMaker>, period: Nanos, rounds: Option<u64>) -> Self {
        Self {
            frames,
            period,
            rounds,
            start: None,
            round: 0,
            next: 0,
        }
    }
}

impl FrameSource for FrameRounds {
    fn next(&mut self, now: Nanos, frame: &mut FrameBuf) -> NextFrame {
        let is_over = self.rounds.is_some_and(|rounds| self.round >= rounds);
        if is_over || self.frames.is_empty() {
            return NextFrame::End;
        }
        let start = *self.start.get_or_insert(now);
        let due = start.saturating_add(self.round.saturating_mul(self.period));
        match self.frames.get_mut(self.next) {
            Some(FrameMaker::Fixed(fixed)) => frame.set(fixed.view()),
            Some(FrameMaker::Made(message)) => message.make(frame),
            None => {}
        }
        self.next += 1;
        if self.next >= self.frames.len() {
            self.next = 0;
            self.round += 1;
        }
        NextFrame::Due(due)
    }
}
