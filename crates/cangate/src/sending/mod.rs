//! Sending frames at their times (`cangate send`).
//!
//! * [`FrameSource`]: the frames and their times: [`FrameRounds`], which are sent again and again,
//!   and [`LineFrames`], which are read while they are sent.
//! * [`MadeMessage`]: a frame from a message of a database and values of its signals.
//! * [`FrameTarget`]: where frames go: [`PortTarget`], a port that this process has open, and
//!   [`GatewayTarget`], a port of a running gateway.
//! * [`FrameSender`]: the step that offers each frame at its time, and counts its fate. Time is
//!   passed in, so that tests run in virtual time.
//! * [`run()`]: the loop that waits.
//!
//! A frame's time never depends on when the frames before it were sent: the period does not drift.

mod gateway_target;
mod lines;
mod message;
mod port_target;
mod rounds;
mod run;
mod sender;
mod target;

pub(crate) use gateway_target::GatewayTarget;
pub(crate) use lines::{LineFrames, LineReport};
pub(crate) use message::MadeMessage;
pub(crate) use port_target::PortTarget;
pub(crate) use rounds::{FrameMaker, FrameRounds};
pub(crate) use run::{SentSummary, run};
pub(crate) use sender::FrameSender;
pub(crate) use target::{FrameTarget, OfferAnswer, TargetTotals};

use frame::{FrameBuf, Nanos};
use std::os::fd::RawFd;

/// The next step of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextFrame {
    /// The frame is in the buffer, and must be sent at this time.
    Due(Nanos),
    /// The frame is in the buffer, and leaves as soon as those before it have their fates.
    Now,
    /// The next frame is not known yet: the source waits for its input.
    Later,
    /// There are no more frames.
    End,
}

/// Frames with their times.
pub(crate) trait FrameSource {
    /// Puts the next frame into `frame`. `now` is the time of the clock.
    fn next(&mut self, now: Nanos, frame: &mut FrameBuf) -> NextFrame;

    /// Returns a descriptor that is readable when [`NextFrame::Later`] may be over.
    fn wait(&self) -> Option<RawFd> {
        None
    }
}
