//! What the tester needs of its interfaces, so that tests can put something else in their place.

use frame::{Frame, FrameRef, Nanos};

/// One of the tester's interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends. Only error frames are received there.
    Send,
    /// Stamps what goes into the gateway.
    Reference,
    /// Stamps what comes out.
    Receive,
}

impl Side {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Send, Self::Reference, Self::Receive];
}

/// A frame that was seen, with its stamp.
#[derive(Clone, Copy, Debug)]
pub struct Reception<'a> {
    /// The frame, an error frame too.
    pub frame: FrameRef<'a>,
    /// Its stamp, in the stamps' clock; `None` where whoever stamps did not.
    pub stamp: Option<Nanos>,
}

/// Why a run ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The interface was switched off, or went bus-off.
    #[error(
        "{0} went down in the middle of the run: switched off, or bus-off (see `ip -details link \
         show {0}`)"
    )]
    Down(String),
    /// The interface is no longer there.
    #[error("{0} is gone: unplugged, or deleted, in the middle of the run")]
    Gone(String),
    /// Nothing more can be sent.
    #[error(
        "{0} has not sent a frame for a second: is another node on the bus, to acknowledge, and \
         at the same bit rate? (see `ip -details -statistics link show {0}`)"
    )]
    Stuck(String),
    /// Nothing ever came back.
    #[error("{0}")]
    Silence(String),
    /// The system said something else.
    #[error("{interface}: {source}")]
    System {
        /// Where.
        interface: String,
        /// What.
        source: std::io::Error,
    },
}

/// A frame was not taken.
#[derive(Debug)]
pub enum Unsent {
    /// No room: [`Wire::wait_room`] and try again.
    Full,
    /// And never will be.
    Fault(Fault),
}

/// Three interfaces and two clocks.
pub trait Wire {
    /// Time to keep the schedule by, ns; never set.
    fn now(&self) -> Nanos;

    /// Time in the stamps' clock, ns.
    fn stamp_now(&self) -> Nanos;

    /// The name of an interface, for words.
    fn name(&self, side: Side) -> &str;

    /// Is there an interface beside the sending one?
    fn has_reference(&self) -> bool;

    /// Hands a frame over to be sent, without waiting.
    ///
    /// # Errors
    /// [`Unsent`].
    fn send(&mut self, frame: &Frame) -> Result<(), Unsent>;

    /// Hands over what was seen on an interface since, without waiting; says how much. Nothing
    /// where the interface does not exist.
    ///
    /// # Errors
    /// [`Fault`] where the interface can no longer be used.
    fn receive(&mut self, side: Side, take: &mut dyn FnMut(Reception<'_>)) -> Result<usize, Fault>;

    /// Sleeps until a time of [`Wire::now`].
    fn sleep_until(&mut self, at: Nanos);

    /// Sleeps until something was received on the outgoing bus, or that time is reached.
    ///
    /// # Errors
    /// [`Fault`].
    fn wait_received(&mut self, until: Nanos) -> Result<(), Fault>;

    /// Sleeps until there is room to send, or that time is reached.
    ///
    /// # Errors
    /// [`Fault`].
    fn wait_room(&mut self, until: Nanos) -> Result<(), Fault>;
}
