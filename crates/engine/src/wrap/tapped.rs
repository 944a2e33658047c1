//! A half that shows the passing frames.

use crate::error::PortError;
use crate::half::{Receive, Transmit, forward};
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

    /// Puts another half in the place of the one that it has, which is returned.
    #[must_use]
    pub const fn replace_half(&mut self, half: H) -> H {
        core::mem::replace(&mut self.half, half)
    }

    /// Returns the tap, for a change between two batches.
    #[must_use]
    pub const fn tap_mut(&mut self) -> &mut T {
        &mut self.tap
    }
}

#[deny(clippy::missing_trait_methods)]
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

    forward! { self => self.half;
        deadline rx_counters set_interest is_up can_wait link take_alarm remarks
    }
}

#[deny(clippy::missing_trait_methods)]
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

    forward! { self => self.half;
        flush deadline tx_counters room refuses recall makes_wait retry_at remarks
    }
}
