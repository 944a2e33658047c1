//! The operations that the tester needs of its interfaces, so that tests can substitute them.

use frame::{Frame, FrameRef, Nanos};

/// One of the tester's interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TesterSide {
    /// The interface that sends. Only error frames are received there.
    Send,
    /// The interface that stamps frames that go into the gateway.
    Reference,
    /// The interface that stamps frames that come out.
    Receive,
}

impl TesterSide {
    /// All sides.
    pub const ALL: [Self; 3] = [Self::Send, Self::Reference, Self::Receive];
}

/// A received frame, with its timestamp.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedFrame<'a> {
    /// The frame, which may be an error frame.
    pub frame: FrameRef<'a>,
    /// Its timestamp, in the timestamps' clock; `None` where it was not stamped.
    pub stamp: Option<Nanos>,
}

/// The reasons why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunFault {
    /// The interface was switched off, or went bus-off.
    #[error(
        "{0} went down in the middle of the run: switched off, or bus-off (see `ip -details link \
         show {0}`)"
    )]
    Down(String),
    /// The interface is no longer there.
    #[error("{0} is gone: unplugged, or deleted, in the middle of the run")]
    Gone(String),
    /// No more frames can be sent.
    #[error(
        "{0} has not sent a frame for a second: is another node on the bus, to acknowledge, and \
         at the same bit rate? (see `ip -details -statistics link show {0}`)"
    )]
    Stuck(String),
    /// No frame ever came back.
    #[error("{0}")]
    Silence(String),
    /// Any other error of the system.
    #[error("{interface}: {source}")]
    System {
        /// The interface.
        interface: String,
        /// The error.
        source: std::io::Error,
    },
}

/// The reason why a frame was not accepted.
#[derive(Debug)]
pub enum UnsentReason {
    /// There is no room now: call [`TesterWire::wait_room`] and try again.
    Full,
    /// The frame will never be accepted.
    Fault(RunFault),
}

/// Three interfaces and two clocks.
pub trait TesterWire {
    /// Returns the time by which the schedule is kept, ns; this clock is never set.
    fn now(&self) -> Nanos;

    /// Returns the time of the timestamps' clock, ns.
    fn stamp_now(&self) -> Nanos;

    /// Returns the name of an interface, for messages.
    fn name(&self, side: TesterSide) -> &str;

    /// Returns whether there is a reference interface in addition to the sending one.
    fn has_reference(&self) -> bool;

    /// Hands a frame over to be sent, without waiting.
    ///
    /// # Errors
    /// [`UnsentReason`].
    fn send(&mut self, frame: &Frame) -> Result<(), UnsentReason>;

    /// Hands over the frames received on an interface since the last call, without waiting; returns
    /// their number. No frames where the interface does not exist.
    ///
    /// # Errors
    /// [`RunFault`] where the interface can no longer be used.
    fn receive(
        &mut self,
        side: TesterSide,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<usize, RunFault>;

    /// Sleeps until a time of [`TesterWire::now`].
    fn sleep_until(&mut self, at: Nanos);

    /// Sleeps until a frame was received on the outgoing bus, or that time is reached.
    ///
    /// # Errors
    /// [`RunFault`].
    fn wait_received(&mut self, until: Nanos) -> Result<(), RunFault>;

    /// Sleeps until there is room to send, or that time is reached.
    ///
    /// # Errors
    /// [`RunFault`].
    fn wait_room(&mut self, until: Nanos) -> Result<(), RunFault>;
}
