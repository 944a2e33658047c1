//! The ways to receive and to send: what each needs is made before, so that nothing but moving
//! frames takes time.

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

/// Does a way receive or send?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// It receives.
    Receive,
    /// It sends.
    Send,
}

/// A way that is ready.
pub(super) trait Mover {
    /// Throws away what came, and receives nothing before it is asked to.
    ///
    /// # Errors
    /// Why it cannot go on.
    fn empty(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

    /// What is to be known about its figures.
    fn remark(&self) -> Option<&'static str> {
        None
    }

    /// Does what it sends come to the other socket?
    fn is_echoed(&self) -> bool {
        true
    }

    /// Waits until what it sent has left, where nobody else sees that.
    fn settle(&mut self, _patience: Duration) -> Result<(), BurstError> {
        Ok(())
    }

    /// Moves so many frames. EAGAIN where there are fewer to receive.
    fn move_frames(&mut self, n: u32) -> Result<(), Errno>;
}

/// Why a way cannot be measured.
pub(super) enum Refusal {
    /// No way can.
    All(BurstError),
    /// This one cannot, on this kernel or interface.
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

/// A way, by its word in `gateway.toml`.
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) direction: Direction,
    pub(super) open: fn(&Place<'_>) -> Result<Box<dyn Mover>, Refusal>,
}

/// All ways. The first of each direction is what the others are compared with.
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

/// One of the calls on a socket.
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

/// A ring and buffers for as many frames as [`Prepared`] takes a call.
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
    /// A request that stays would receive the frames while they are sent, so that nobody could
    /// tell what that costs. So each burst begins without one.
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

/// A chain of frames, sent again and again.
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
