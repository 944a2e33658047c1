//! The frames that pass through a port, with their properties.

use frame::{FrameRef, Nanos};

/// A number that follows a frame through the gateway, from [`ReceivedFrame`] to
/// [`Transmit::transmit`](crate::Transmit::transmit): the embedded bus and the tester use it to
/// identify a frame, whatever was changed in it. Ports without such a number set it to 0 and ignore
/// it.
pub type Token = u64;

/// The source of a time stamp, which determines its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StampSource {
    /// The gateway, which read its clock when it took the frame.
    #[default]
    Gateway,
    /// The embedded bus, exact, at the end of frame.
    Bus,
    /// A controller, at the end of frame.
    Hardware,
    /// The kernel, in or shortly after the receive interrupt.
    Kernel,
    /// The line of a log.
    Log,
}

/// Time of a frame's reception.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveStamp {
    /// Nanoseconds; the epoch is the source's (bus start, Unix epoch).
    pub ns: Nanos,
    /// The source of the stamp.
    pub source: StampSource,
}

/// A frame that came in, still at the place where the port found it.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedFrame<'a> {
    /// The frame.
    pub frame: FrameRef<'a>,
    /// Time of the reception.
    pub stamp: ReceiveStamp,
    /// Number of gateways that it has passed, if the port knows it; otherwise 0.
    pub hops: u8,
    /// See [`Token`].
    pub token: Token,
}

/// A frame to be sent, with what a port may need to know about its origin.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingFrame<'a> {
    /// The frame.
    pub frame: FrameRef<'a>,
    /// See [`Token`].
    pub token: Token,
    /// Number of gateways that it has passed, including this one; a port that can pass it on to the
    /// next gateway does so.
    pub hops: u8,
    /// Time of its reception, if its route keeps the stamp (can-gw's `-t`): a log writes it instead
    /// of the time of sending.
    pub stamp: Option<ReceiveStamp>,
    /// Local listeners on the outgoing interface must receive it too (can-gw's `-e`).
    pub echo: bool,
}

impl<'a> OutgoingFrame<'a> {
    /// Creates an outgoing frame with its number, and default options.
    #[must_use]
    pub const fn new(frame: FrameRef<'a>, token: Token) -> Self {
        Self {
            frame,
            token,
            hops: 0,
            stamp: None,
            echo: false,
        }
    }
}
