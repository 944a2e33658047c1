//! The receiving half.

use super::line::DeviceLine;
use super::shared::SharedDevice;
use crate::{
    FrameInterest, LinkState, PollReceive, PortError, PortWait, Receive, ReceiveStamp,
    ReceivedFrame, RxCounters, RxReport, StampSource,
};
use frame::{ErrorState, Nanos};
use linux::can::layout::{FD_SIZE, decode};
use linux::chardev::area::{at, error_state, first, second};
use linux::chardev::{LostFrames, ReceiveQueue};
use std::sync::Arc;

/// Returns the number of frames that found no room, in the queue and in the controller's own FIFO.
/// For the latter, the driver only counts how often it happened.
fn frames(lost: LostFrames) -> u64 {
    u64::from(lost.queue) + u64::from(lost.controller)
}

pub(super) struct CharDevReceive {
    shared: Arc<SharedDevice>,
    line: Arc<dyn DeviceLine>,
    generation: u32,
    queue: ReceiveQueue,
    /// The last known value of the driver's count.
    changes: u32,
    state: Option<ErrorState>,
    error_frames: bool,
    counters: RxCounters,
}

impl CharDevReceive {
    pub(super) fn new(shared: Arc<SharedDevice>) -> Self {
        let (line, generation) = shared.line();
        Self {
            shared,
            queue: ReceiveQueue::from_now(&*line),
            changes: second(line.get(at::STATE)),
            state: line.state(),
            line,
            generation,
            error_frames: false,
            counters: RxCounters::default(),
        }
    }

    /// Uses the device that was opened anew: its queue is empty, and it counts from the beginning.
    #[cold]
    fn take_up(&mut self) {
        let lost = self.queue.take_lost(&*self.line);
        self.counters.overrun += frames(lost);
        (self.line, self.generation) = self.shared.line();
        self.queue = ReceiveQueue::from_start(&*self.line);
        self.changes = second(self.line.get(at::STATE));
        self.state = self.line.state();
        self.counters.reopened += 1;
    }

    /// Hands over the content of a slot, if it is a wanted frame. Returns whether it did.
    #[inline]
    fn hand_over(&mut self, take: &mut dyn FnMut(ReceivedFrame<'_>)) -> bool {
        let mut bytes = [0; FD_SIZE];
        let slot = self.queue.take(&*self.line, &mut bytes);
        let Some(frame) = decode(slot.bytes) else {
            self.counters.malformed += 1;
            return false;
        };
        if frame.id().is_err() && !self.error_frames {
            self.counters.error_frames += 1;
            return false;
        }
        self.counters.local += u64::from(slot.sent);
        take(ReceivedFrame {
            frame,
            stamp: ReceiveStamp {
                ns: slot.time,
                source: StampSource::Kernel,
            },
            hops: 0,
            token: 0,
        });
        true
    }

    /// Checks the controller's state, and whether it is gone. Returns whether the state has
    /// changed.
    fn check_device(&mut self, now: Nanos, found: bool) -> bool {
        let word = self.line.get(at::STATE);
        let news = second(word) != self.changes;
        let before = std::mem::replace(&mut self.state, error_state(first(word)));
        self.changes = second(word);
        // A restart, or another program has started it again.
        let is_on_bus = |state: Option<ErrorState>| state.is_some_and(ErrorState::is_on_bus);
        self.counters.reopened += u64::from(!is_on_bus(before) && is_on_bus(self.state));
        if self.state.is_none() && !found && !self.line.is_there() {
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
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        self.shared.retry(now);
        if self.generation != self.shared.generation() {
            self.take_up();
        }
        let left = self.queue.waiting(&*self.line).unwrap_or_else(|_| {
            self.counters.malformed += 1;
            0
        });
        let looked = left.min(u32::try_from(budget).unwrap_or(u32::MAX));
        let mut frames = 0;
        for _ in 0..looked {
            frames += usize::from(self.hand_over(take));
        }
        if looked > 0 {
            // Their slots are free now. This is published after the frames were handed over, so
            // that they need not wait for it.
            self.queue.release(&*self.line);
        }
        let news = self.check_device(now, looked > 0) | self.shared.take_news();
        Ok(RxReport {
            frames,
            more: left > looked,
            finished: false,
            news,
            ended: false,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        self.shared.next_check()
    }

    fn counters(&self) -> RxCounters {
        RxCounters {
            overrun: self.counters.overrun + frames(self.queue.lost(&*self.line)),
            ..self.counters
        }
    }

    fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        self.error_frames = interest.error_frames;
        self.shared.set_interest(interest)
    }

    fn is_up(&self) -> bool {
        !self.shared.is_gone() && self.line.is_on_bus()
    }

    fn link(&self) -> LinkState {
        self.shared.link()
    }

    fn remarks(&self) -> Vec<String> {
        self.shared.remarks()
    }
}

impl PollReceive for CharDevReceive {
    fn wait(&self) -> PortWait {
        let there = !self.shared.is_gone();
        PortWait {
            fd: there.then(|| self.line.fd()),
            readable: there,
            writable: false,
        }
    }
}
