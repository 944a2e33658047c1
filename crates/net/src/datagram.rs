//! Types that all protocols of datagrams share.

use crate::{DatagramNumber, FrameTrail, PresentationTime};
use frame::{FrameRef, Nanos};
use std::fmt;

/// The first fault of a datagram or of a frame in it. The whole datagram is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatagramFault {
    /// Offset of the fault in the datagram, bytes.
    pub at: usize,
    /// The fault at this place.
    pub what: &'static str,
}

impl fmt::Display for DatagramFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.what, self.at)
    }
}

impl std::error::Error for DatagramFault {}

/// A frame of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatagramFrame<'d> {
    /// The frame.
    pub frame: FrameRef<'d>,
    /// The time of the frame by the sender's clock, ns, if the protocol has one and the sender set
    /// it.
    pub stamp: Option<Nanos>,
    /// The time at which the frame should be handed on, if the protocol has one and the sender set
    /// it.
    pub presentation: Option<PresentationTime>,
    /// The gateways that it has passed, if the protocol and the sender have them.
    pub trail: FrameTrail<'d>,
}

impl<'d> From<FrameRef<'d>> for DatagramFrame<'d> {
    fn from(frame: FrameRef<'d>) -> Self {
        Self {
            frame,
            stamp: None,
            presentation: None,
            trail: FrameTrail::default(),
        }
    }
}

/// Reads the datagrams of a protocol.
pub trait DatagramReader: Send {
    /// Checks a whole datagram. Returns its sequence number, where the protocol has one.
    ///
    /// # Errors
    /// [`DatagramFault`] is the first fault.
    fn check(&mut self, datagram: &[u8]) -> Result<Option<DatagramNumber>, DatagramFault>;

    /// Returns the next frame of a datagram that was checked, and moves `at` behind it. `at` begins
    /// at 0. `None` after the last frame.
    fn next<'d>(&'d mut self, datagram: &'d [u8], at: &mut usize) -> Option<DatagramFrame<'d>>;

    /// Returns the number of frames of other buses in the datagrams that were read since the last
    /// call: they have arrived, too.
    fn take_foreign(&mut self) -> u64 {
        0
    }

    /// Returns the number of messages and datagrams that are valid and not for this reader.
    fn passed_over(&self) -> u64 {
        0
    }
}

/// The reason why a frame was not written into a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotWritten {
    /// The datagram has no room for it: send it, and begin another one.
    Full,
    /// The protocol cannot express such a frame.
    Unsupported,
}

/// Writes the datagrams of a protocol.
pub trait DatagramWriter: Send {
    /// Returns whether the protocol can express the frame.
    fn carries(&self, frame: &FrameRef<'_>) -> bool;

    /// Adds a frame to the datagram, which it begins where `out` is empty. `unix` is the frame's
    /// time as Unix time.
    ///
    /// # Errors
    /// [`NotWritten`] is the reason; `out` is unchanged.
    fn push(
        &mut self,
        frame: &FrameRef<'_>,
        unix: Nanos,
        out: &mut Vec<u8>,
    ) -> Result<(), NotWritten>;

    /// Adds the trail of the frames that are added after it, where the protocol has one. The
    /// datagram has room for it: it has at most the length that [`DatagramWriter::room`] reserves
    /// for each frame, or is taken out again if the frame after it does not fit.
    fn push_trail(&mut self, trail: FrameTrail<'_>, out: &mut Vec<u8>) {
        let _ = (trail, out);
    }

    /// Returns the number of frames of any length that the datagram certainly has room for.
    fn room(&self, out: &[u8]) -> usize;

    /// Completes a datagram with its sequence number and its length. Called once for each datagram,
    /// immediately before it is sent.
    fn finish(&mut self, out: &mut [u8]);

    /// Writes the presentation time of a datagram into it, where the protocol has one. Called after
    /// [`DatagramWriter::finish`].
    fn present(&mut self, at: PresentationTime, out: &mut [u8]) {
        let _ = (at, out);
    }

    /// Takes the number of the datagram back that was completed last, because it could not be sent:
    /// the other side must not miss it.
    fn take_back(&mut self) {}
}
