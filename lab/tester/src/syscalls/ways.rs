//! The ways to receive and to send: whatever each way needs is set up in advance, so that only
//! moving frames takes time.

use super::error::BurstError;
use super::rings;
use super::sockets::Place;
use linux::Errno;
use linux::can::Socket;
use linux::can::layout::CLASSIC_SIZE;
use linux::mmsg::{MOST_A_CALL, Prepared};
use linux::uring::{Inbox, MOST_A_CHAIN, Outbox, Unavailable};
use serde::Serialize;
use std::time::Duration;

/// The direction of a way: receiving or sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The way receives.
    Receive,
    /// The way sends.
    Send,
}

/// A way that is set up.
pub(super) trait Mover {
    /// Discards frames that have arrived, and receives nothing before [`Mover::move_frames`].
    ///
    /// # Errors
    /// The reason why it cannot go on.
    fn empty(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Returns a remark about the figures of this way.
    fn remark(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether the frames that it sends reach the other socket.
    fn is_echoed(&self) -> bool {
        true
    }

    /// Waits until the frames that it sent have left, where no other socket sees that.
    fn settle(&mut self, _patience: Duration) -> Result<(), BurstError> {
        Ok(())
    }

    /// Moves `n` frames. EAGAIN where there are fewer to receive.
    fn move_frames(&mut self, n: u32) -> Result<(), Errno>;
}

/// The reasons why a way cannot be measured.
pub(super) enum Refusal {
    /// No way can be measured.
    All(BurstError),
    /// This way cannot be measured, on this kernel or interface.
    Own(String),
}

impl From<BurstError> for Refusal {
    fn from(error: BurstError) -> Self {
        Self::All(error)
    }
}

impl From<linux::can::OpenError> for Refusal {
    fn from(error: linux::can::OpenError) -> Self {
        Self::All(error.into())
    }
}

impl From<Unavailable> for Refusal {
    fn from(error: Unavailable) -> Self {
        Self::Own(error.to_string())
    }
}

/// A way, named by its word in `gateway.toml`.
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) direction: Direction,
    pub(super) open: fn(&Place<'_>) -> Result<Box<dyn Mover>, Refusal>,
}

/// All ways. The first of each direction is the reference for the others.
pub(super) const WAYS: &[Way] = &[
    Way {
        name: "read",
        direction: Direction::Receive,
        open: |place| {
            Ok(Box::new(Calls::receiver(place, |f, socket, n| {
                f.read(socket, n)
            })?))
        },
    },
    Way {
        name: "recvmmsg",
        direction: Direction::Receive,
        open: |place| {
            Ok(Box::new(Calls::receiver(place, |f, socket, n| {
                f.recvmmsg(socket, n)
            })?))
        },
    },
    Way {
        name: "ring",
        direction: Direction::Receive,
        open: |place| Ok(Box::new(rings::Receiver::open(place)?)),
    },
    Way {
        name: "io_uring",
        direction: Direction::Receive,
        open: |place| Ok(Box::new(UringReceiver::open(place)?)),
    },
    Way {
        name: "write",
        direction: Direction::Send,
        open: |place| {
            Ok(Box::new(Calls::sender(place, |f, socket, n| {
                f.write(socket, n)
            })?))
        },
    },
    Way {
        name: "sendmmsg",
        direction: Direction::Send,
        open: |place| {
            Ok(Box::new(Calls::sender(place, |f, socket, n| {
                f.sendmmsg(socket, n)
            })?))
        },
    },
    Way {
        name: "ring",
        direction: Direction::Send,
        open: |place| Ok(Box::new(rings::Sender::open(place)?)),
    },
    Way {
        name: "io_uring",
        direction: Direction::Send,
        open: |place| Ok(Box::new(UringSender::open(place)?)),
    },
];

type Frames = Prepared<CLASSIC_SIZE>;
type Call = fn(&mut Frames, &Socket, u32) -> Result<(), Errno>;

/// A system call on a socket.
struct Calls {
    socket: Socket,
    frames: Frames,
    call: Call,
}

impl Calls {
    fn receiver(place: &Place<'_>, call: Call) -> Result<Self, Refusal> {
        Ok(Self {
            socket: place.receiver()?,
            frames: Prepared::new(place.content()),
            call,
        })
    }

    fn sender(place: &Place<'_>, call: Call) -> Result<Self, Refusal> {
        Ok(Self {
            socket: place.sender()?,
            frames: Prepared::new(place.content()),
            call,
        })
    }
}

/// Reads until nothing is left.
fn drain(socket: &Socket) {
    let mut bytes = [0; CLASSIC_SIZE];
    while linux::socket::read(socket, &mut bytes).is_ok() {}
}

impl Mover for Calls {
    fn empty(&mut self) -> Result<(), Refusal> {
        drain(&self.socket);
        Ok(())
    }

    fn move_frames(&mut self, n: u32) -> Result<(), Errno> {
        (self.call)(&mut self.frames, &self.socket, n)
    }
}

/// An io_uring ring, and buffers for as many frames as [`Prepared`] moves per call.
struct UringReceiver {
    socket: Socket,
    inbox: Inbox,
}

impl UringReceiver {
    fn open(place: &Place<'_>) -> Result<Self, Refusal> {
        let socket = place.receiver()?;
        let inbox = Self::inbox(&socket)?;
        Ok(Self { socket, inbox })
    }

    fn inbox(socket: &Socket) -> Result<Inbox, Unavailable> {
        Inbox::open(socket, MOST_A_CALL as usize, CLASSIC_SIZE)
    }
}

impl Mover for UringReceiver {
    /// Replaces the ring: a request that stayed pending would receive the frames while they are
    /// sent, so that its cost could not be separated. Therefore each burst begins without one.
    fn empty(&mut self) -> Result<(), Refusal> {
        self.inbox = Self::inbox(&self.socket)?;
        drain(&self.socket);
        Ok(())
    }

    fn move_frames(&mut self, n: u32) -> Result<(), Errno> {
        let mut left = n as usize;
        while left > 0 {
            left -= self.inbox.receive(left)?.min(left);
        }
        Ok(())
    }
}

/// A chain of frames that is sent again and again.
struct UringSender(Outbox);

impl UringSender {
    fn open(place: &Place<'_>) -> Result<Self, Refusal> {
        let mut outbox = Outbox::open(place.sender()?, MOST_A_CHAIN, CLASSIC_SIZE)?;
        let content = place.content();
        for i in 0..MOST_A_CHAIN {
            if let Some((slot, len)) = outbox.slot(i) {
                slot.copy_from_slice(&content);
                *len = content.len();
            }
        }
        Ok(Self(outbox))
    }
}

impl Mover for UringSender {
    fn move_frames(&mut self, n: u32) -> Result<(), Errno> {
        let mut left = n as usize;
        while left > 0 {
            left -= self.0.send(0, left.min(MOST_A_CHAIN))?.min(left);
        }
        Ok(())
    }
}
