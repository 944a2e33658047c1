//! The receiving half.

use super::line::{FRAME_FD, FRAME_SENT, Line, State, at, both, first, second};
use super::shared::Shared;
use crate::{
    Interest, LinkState, PollReceive, PortError, Receive, Received, RxCounters, RxReport, Stamp,
    StampSource, Wait,
};
use frame::Nanos;
use linux::can::layout::{CLASSIC_SIZE, FD_SIZE, decode};
use linux::chardev::SLOTS;
use std::sync::Arc;

pub(super) struct CharDevReceive {
    shared: Arc<Shared>,
    line: Arc<dyn Line>,
    generation: u32,
    /// Frames taken out of the queue.
    tail: u32,
    /// The driver's counts as they were last seen.
    changes: u32,
    state: State,
    lost: u32,
    overruns: u32,
    error_frames: bool,
    counters: RxCounters,
}

impl CharDevReceive {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (line, generation) = shared.line();
        Self {
            shared,
            tail: second(line.get(at::RX_HEAD)),
            changes: second(line.get(at::STATE)),
            state: State::of(first(line.get(at::STATE))),
            lost: 0,
            overruns: first(line.get(at::OVERRUNS)),
            line,
            generation,
            error_frames: false,
            counters: RxCounters::default(),
        }
    }

    /// The device was opened anew: its queue is empty, and it counts from the beginning.
    #[cold]
    fn take_up(&mut self) {
        self.count_lost();
        (self.line, self.generation) = self.shared.line();
        (self.tail, self.lost) = (0, 0);
        self.changes = second(self.line.get(at::STATE));
        self.state = State::of(first(self.line.get(at::STATE)));
        self.overruns = first(self.line.get(at::OVERRUNS));
        self.counters.reopened += 1;
    }

    /// Frames that found no room, in the queue and in the controller's own FIFO. Of the latter the driver
    /// knows how often it happened.
    fn count_lost(&mut self) {
        let (lost, overruns) = self.not_counted();
        self.counters.overrun += u64::from(lost) + u64::from(overruns);
        self.lost = self.lost.wrapping_add(lost);
        self.overruns = self.overruns.wrapping_add(overruns);
    }

    fn not_counted(&self) -> (u32, u32) {
        let lost = first(self.line.get(at::RX_LOST)).wrapping_sub(self.lost);
        let overruns = first(self.line.get(at::OVERRUNS)).wrapping_sub(self.overruns);
        (lost, overruns)
    }

    /// Hands over what is in a slot, if it is a frame that is wanted.
    #[inline]
    fn hand_over(&mut self, take: &mut dyn FnMut(Received<'_>)) -> bool {
        let slot = at::rx(self.tail);
        let flags = first(self.line.get(slot + at::FLAGS));
        let mut bytes = [0; FD_SIZE];
        let size = if flags & FRAME_FD == 0 {
            CLASSIC_SIZE
        } else {
            FD_SIZE
        };
        let words = bytes.as_chunks_mut().0.iter_mut().take(size / 8);
        for (i, word) in words.enumerate() {
            *word = self.line.get(slot + at::FRAME + 8 * i).to_ne_bytes();
        }
        let time = self.line.get(slot);
        self.tail = self.tail.wrapping_add(1);
        let Some(frame) = bytes.get(..size).and_then(decode) else {
            self.counters.malformed += 1;
            return false;
        };
        if frame.id().is_err() && !self.error_frames {
            self.counters.error_frames += 1;
            return false;
        }
        self.counters.local += u64::from(flags & FRAME_SENT != 0);
        take(Received {
            frame,
            stamp: Stamp {
                ns: time,
                source: StampSource::Kernel,
            },
            hops: 0,
            token: 0,
        });
        true
    }

    /// Looks at the controller's state where it has changed, or where it may be gone.
    fn look(&mut self, now: Nanos, found: bool) -> bool {
        let word = self.line.get(at::STATE);
        let news = second(word) != self.changes;
        let before = std::mem::replace(&mut self.state, State::of(first(word)));
        self.changes = second(word);
        // A restart, or somebody has started it again.
        self.counters.reopened += u64::from(!before.passes() && self.state.passes());
        if self.state == State::Stopped && !found && !self.line.is_there() {
            self.shared.lose(now);
        }
        news
    }
}

impl Receive for CharDevReceive {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError> {
        self.shared.try_again(now);
        if self.generation != self.shared.generation() {
            self.take_up();
        }
        let head = second(self.line.get(at::RX_HEAD));
        let mut left = head.wrapping_sub(self.tail);
        if left > SLOTS {
            // Only this process writes the other end.
            self.counters.malformed += 1;
            self.tail = head;
            left = 0;
        }
        let looked = left.min(u32::try_from(budget).unwrap_or(u32::MAX));
        let mut frames = 0;
        for _ in 0..looked {
            frames += usize::from(self.hand_over(take));
        }
        if looked > 0 {
            // Their places are free now. To say so takes time that a frame need not wait for.
            self.line.set(at::RX_TAIL, both(self.tail, 0));
        }
        let news = self.look(now, looked > 0) | self.shared.take_news();
        Ok(RxReport {
            frames,
            more: left > looked,
            finished: false,
            news,
            ended: false,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        self.shared.next_look()
    }

    fn counters(&self) -> RxCounters {
        let (lost, overruns) = self.not_counted();
        RxCounters {
            overrun: self.counters.overrun + u64::from(lost) + u64::from(overruns),
            ..self.counters
        }
    }

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        self.error_frames = interest.error_frames;
        self.shared.set_interest(interest)
    }

    fn is_up(&self) -> bool {
        !self.shared.is_gone() && State::of(first(self.line.get(at::STATE))).passes()
    }

    fn link(&self) -> LinkState {
        self.shared.link()
    }

    fn remarks(&self) -> Vec<String> {
        self.shared.remarks()
    }
}

impl PollReceive for CharDevReceive {
    fn wait(&self) -> Wait {
        let there = !self.shared.is_gone();
        Wait {
            fd: there.then(|| self.line.fd()),
            readable: there,
            writable: false,
        }
    }
}
