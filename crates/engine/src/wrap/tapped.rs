//! A half that shows the passing frames.

use crate::error::PortError;
use crate::half::{Receive, Transmit};
use crate::link::LinkState;
use crate::passing::{OutgoingFrame, ReceivedFrame};
use crate::report::{Accepted, FlushReport, RxCounters, RxReport, TransmitRefusal, TxCounters};
use alloc::string::String;
use alloc::vec::Vec;
use frame::Nanos;
use route::FrameInterest;

/// An observer of the frames that pass a half, in order.
pub trait HalfTap {
    /// Called for a frame that a receiving half hands over, before it is routed.
    fn came(&mut self, now: Nanos, received: &ReceivedFrame<'_>) {
        let _ = (now, received);
    }

    /// Called for a frame that was offered to a transmitting half, with its answer.
    fn offered(
        &mut self,
        now: Nanos,
        outgoing: &OutgoingFrame<'_>,
        answer: Result<Accepted, TransmitRefusal>,
    ) {
        let _ = (now, outgoing, answer);
    }
}

/// A half, and a tap that observes its frames. It changes nothing.
pub struct TappedHalf<H, T> {
    half: H,
    tap: T,
}

impl<H, T: HalfTap> TappedHalf<H, T> {
    /// Wraps `half`, observed by `tap`.
    pub const fn new(half: H, tap: T) -> Self {
        Self { half, tap }
    }

    /// Returns the half.
    #[must_use]
    pub const fn half(&self) -> &H {
        &self.half
    }

    /// Returns the half and its tap.
    #[must_use]
    pub fn into_parts(self) -> (H, T) {
        (self.half, self.tap)
    }
}

impl<H: Receive, T: HalfTap> Receive for TappedHalf<H, T> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let tap = &mut self.tap;
        self.half.receive(now, budget, &mut |received| {
            tap.came(now, &received);
            take(received);
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        self.half.deadline()
    }

    fn counters(&self) -> RxCounters {
        self.half.counters()
    }

    fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        self.half.set_interest(interest)
    }

    fn is_up(&self) -> bool {
        self.half.is_up()
    }

    fn can_wait(&self) -> bool {
        self.half.can_wait()
    }

    fn link(&self) -> LinkState {
        self.half.link()
    }

    fn take_alarm(&mut self) -> Option<String> {
        self.half.take_alarm()
    }

    fn remarks(&self) -> Vec<String> {
        self.half.remarks()
    }
}

impl<H: Transmit, T: HalfTap> Transmit for TappedHalf<H, T> {
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        let answer = self.half.transmit(now, outgoing);
        self.tap.offered(now, &outgoing, answer);
        answer
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        self.half.flush(now)
    }

    fn deadline(&self) -> Option<Nanos> {
        self.half.deadline()
    }

    fn counters(&self) -> TxCounters {
        self.half.counters()
    }

    fn room(&self) -> usize {
        self.half.room()
    }

    fn refuses(&mut self, now: Nanos, outgoing: &OutgoingFrame<'_>) -> Option<TransmitRefusal> {
        self.half.refuses(now, outgoing)
    }

    fn makes_wait(&self) -> bool {
        self.half.makes_wait()
    }

    fn retry_at(&self) -> Option<Nanos> {
        self.half.retry_at()
    }

    fn remarks(&self) -> Vec<String> {
        self.half.remarks()
    }
}
