//! What passes through a port: frames, with what is known about them.

use frame::{FrameRef, Nanos};

/// A number that follows a frame through the gateway, from [`Received`] to
/// [`Transmit::transmit`](crate::Transmit::transmit): the embedded bus and the tester use it to
/// know a frame again whatever was changed in it. Ports without such a number give and ignore 0.
pub type Token = u64;

/// Who took a time stamp, and so what it means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StampSource {
    /// Nobody: the gateway read its clock when it took the frame.
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

/// When a frame was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp {
    /// Nanoseconds; the epoch is the source's (bus start, Unix epoch).
    pub ns: Nanos,
    /// Who says so.
    pub source: StampSource,
}

/// A frame that came in, still where the port found it.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The frame.
    pub frame: FrameRef<'a>,
    /// When it was received.
    pub stamp: Stamp,
    /// How many gateways it has passed, where the port can tell; else 0.
    pub hops: u8,
    /// See [`Token`].
    pub token: Token,
}

/// A frame that is to leave, and what a port may need to know of where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The frame.
    pub frame: FrameRef<'a>,
    /// See [`Token`].
    pub token: Token,
    /// How many gateways it has passed, this one included; a port that can say so to the next
    /// gateway does.
    pub hops: u8,
    /// When it was received, where its route keeps the stamp (can-gw's `-t`): a log writes it
    /// in place of the time of sending.
    pub stamp: Option<Stamp>,
    /// Local listeners on the outgoing interface are to see it too (can-gw's `-e`).
    pub echo: bool,
}

impl<'a> Outgoing<'a> {
    /// A frame and its number, and nothing special about it.
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
