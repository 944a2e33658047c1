//! The tester: the choice of the next frame, the stamps, and the end.

use super::task::{BenchStamp, BenchTask, SendPattern, StampKind, TaskFrame};
use alloc::vec::Vec;
use frame::{Frame, Nanos};

/// The usual number of stamps per frame of a task, and the number in addition to that.
const STAMPS_PER_FRAME: usize = 4;
const STAMPS_BESIDES: usize = 1 << 10;

/// A stamp in the form in which it is recorded; it is converted to text after the run.
#[derive(Clone, Copy)]
pub(super) struct RawStamp {
    pub(super) end: Nanos,
    pub(super) duration: Nanos,
    pub(super) bus: u8,
    pub(super) node: u8,
    pub(super) kind: StampKind,
    pub(super) frame: Option<Frame>,
}

pub(super) struct BenchTester {
    pattern: SendPattern,
    timeout: Nanos,
    frames: Vec<(Nanos, Frame)>,
    /// The index of the next one.
    next: usize,
    /// In the pattern one at a time: the awaited number, and its deadline.
    awaited: Option<(u16, Nanos)>,
    started: Option<Nanos>,
    /// Number of frames that were sent and have not ended.
    unsent: usize,
    /// Time at which the last one ended.
    last_end: Nanos,
    done: bool,
    stamps: Vec<RawStamp>,
    lost: u64,
}

fn number(frame: &Frame) -> Option<u16> {
    frame
        .data()
        .first_chunk()
        .map(|bytes| u16::from_be_bytes(*bytes))
}

impl BenchTester {
    pub(super) fn new(task: &BenchTask) -> Option<Self> {
        let frames = task
            .frames
            .iter()
            .map(|f| f.frame().map(|frame| (f.0, frame)));
        let frames = frames.collect::<Option<Vec<_>>>()?;
        let usual = frames.len() * STAMPS_PER_FRAME + STAMPS_BESIDES;
        let stamps = task.stamps.map_or(usual, |stamps| stamps as usize);
        Some(Self {
            pattern: task.pattern,
            timeout: task.timeout,
            stamps: Vec::with_capacity(stamps),
            unsent: frames.len(),
            frames,
            next: 0,
            awaited: None,
            started: None,
            last_end: 0,
            done: false,
            lost: 0,
        })
    }

    pub(super) fn frames(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn start(&mut self, now: Nanos) {
        self.started = Some(now);
        self.last_end = now;
        self.done = self.frames.is_empty();
    }

    pub(super) const fn is_done(&self) -> bool {
        self.done
    }

    /// Returns the time at which the tester must act even if nothing happens on a bus.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        let started = self.started?;
        if self.done {
            return None;
        }
        match self.pattern {
            SendPattern::OneAtATime => self.awaited.map(|(_, until)| until).or(Some(started)),
            SendPattern::Schedule => match self.frames.get(self.next) {
                Some((at, _)) => Some(started + at),
                None if self.unsent == 0 => Some(self.last_end + self.timeout),
                None => None,
            },
        }
    }

    /// Returns a frame that is due, one per call.
    pub(super) fn send(&mut self, now: Nanos) -> Option<Frame> {
        let started = self.started?;
        if self.done {
            return None;
        }
        match self.pattern {
            SendPattern::OneAtATime => {
                if self.awaited.is_some_and(|(_, until)| now < until) {
                    return None;
                }
                self.awaited = None;
                let Some(&(_, frame)) = self.frames.get(self.next) else {
                    self.done = true;
                    return None;
                };
                self.next += 1;
                self.awaited = Some((number(&frame).unwrap_or(0), now + self.timeout));
                Some(frame)
            }
            SendPattern::Schedule => {
                match self.frames.get(self.next) {
                    Some(&(at, frame)) if started + at <= now => {
                        self.next += 1;
                        return Some(frame);
                    }
                    Some(_) => {}
                    None => {
                        self.done = self.unsent == 0 && now >= self.last_end + self.timeout;
                    }
                }
                None
            }
        }
    }

    /// Records that a frame of the tester has ended, or will not be sent.
    pub(super) fn ended(&mut self, now: Nanos) {
        self.unsent = self.unsent.saturating_sub(1);
        self.last_end = now;
    }

    /// Records that a frame of another node has ended on the outgoing bus.
    pub(super) fn came(&mut self, frame: &Frame) {
        if let Some((awaited, _)) = self.awaited
            && number(frame) == Some(awaited)
        {
            self.awaited = Some((awaited, 0));
        }
    }

    pub(super) fn stamp(&mut self, taken: RawStamp) {
        if self.started.is_none() {
            return;
        }
        if self.stamps.len() < self.stamps.capacity() {
            self.stamps.push(taken);
        } else {
            self.lost += 1;
        }
    }

    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn stamps(&self) -> impl Iterator<Item = BenchStamp> + '_ {
        self.stamps.iter().map(|taken| BenchStamp {
            end: taken.end,
            duration: taken.duration,
            bus: taken.bus,
            node: taken.node,
            kind: taken.kind,
            frame: taken
                .frame
                .map_or_else(TaskFrame::default, |frame| TaskFrame::new(0, &frame)),
        })
    }
}
