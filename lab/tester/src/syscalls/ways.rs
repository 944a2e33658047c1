//! The ways to receive and to send: whatever each way needs is set up in advance, so that only
//! moving frames takes time.

use super::error::BurstError;
use super::rings;
use super::sockets::BurstPlace;
use linux::Errno;
use linux::can::CanSocket;
use linux::can::layout::CLASSIC_SIZE;
use linux::mmsg::{MOST_A_CALL, PreparedDatagrams};
use linux::uring::{MOST_A_CHAIN, UringInbox, UringOutbox, UringUnavailable};
use serde::Serialize;
use std::time::Duration;

/// The direction of a way: receiving or sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WayDirection {
    /// The way receives.
    Receive,
    /// The way sends.
    Send,
}

/// A way that is set up.
pub(super) trait FrameMover {
    /// Discards frames that have arrived, and receives nothing before [`FrameMover::move_frames`].
    ///
    /// # Errors
    /// The reason why it cannot go on.
    fn empty(&mut self) -> Result<(), WayRefusal> {
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
pub(super) enum WayRefusal {
    /// No way can be measured.
    All(BurstError),
    /// This way cannot be measured, on this kernel or interface.
    Own(String),
}

impl From<BurstError> for WayRefusal {
    fn from(error: BurstError) -> Self {
        Self::All(error)
    }
}

impl From<linux::can::OpenError> for WayRefusal {
    fn from(error: linux::can::OpenError) -> Self {
        Self::All(error.into())
    }
}

impl From<UringUnavailable> for WayRefusal {
    fn from(error: UringUnavailable) -> Self {
        Self::Own(error.to_string())
    }
}

/// A way, named by its word in `gateway.toml`.
pub(super) struct SyscallWay {
    pub(super) name: &'static str,
    pub(super) direction: WayDirection,
    pub(super) open: fn(&BurstPlace<'_>) -> Result<Box<dyn FrameMover>, WayRefusal>,
}

/// All ways. The first of each direction is the reference for the others.
pub(super) const WAYS: &[SyscallWay] = &[
    SyscallWay {
        name: "read",
        direction: WayDirection::Receive,
        open: |place| {
            Ok(Box::new(SocketCalls::receiver(place, |f, socket, n| {
                f.read(socket, n)
            })?))
        },
    },
    SyscallWay {
        name: "recvmmsg",
        direction: WayDirection::Receive,
        open: |place| {
            Ok(Box::new(SocketCalls::receiver(place, |f, socket, n| {
                f.recvmmsg(socket, n)
            })?))
        },
    },
    SyscallWay {
        name: "ring",
        direction: WayDirection::Receive,
        open: |place| Ok(Box::new(rings::RingReceiver::open(place)?)),
    },
    SyscallWay {
        name: "io_uring",
        direction: WayDirection::Receive,
        open: |place| Ok(Box::new(UringReceiver::open(place)?)),
    },
    SyscallWay {
        name: "write",
        direction: WayDirection::Send,
        open: |place| {
            Ok(Box::new(SocketCalls::sender(place, |f, socket, n| {
                f.write(socket, n)
            })?))
        },
    },
    SyscallWay {
        name: "sendmmsg",
        direction: WayDirection::Send,
        open: |place| {
            Ok(Box::new(SocketCalls::sender(place, |f, socket, n| {
                f.sendmmsg(socket, n)
            })?))
        },
    },
    SyscallWay {
        name: "ring",
        direction: WayDirection::Send,
        open: |place| Ok(Box::new(rings::RingSender::open(place)?)),
    },
    SyscallWay {
        name: "io_uring",
        direction: WayDirection::Send,
        open: |place| Ok(Box::new(UringSender::open(place)?)),
    },
];

type Frames = PreparedDatagrams<CLASSIC_SIZE>;
type Call = fn(&mut Frames, &CanSocket, u32) -> Result<(), Errno>;

/// A system call on a socket.
struct SocketCalls {
    socket: CanSocket,
    frames: Frames,
    call: Call,
}

impl SocketCalls {
    fn receiver(place: &BurstPlace<'_>, call: Call) -> Result<Self, WayRefusal> {
        Ok(Self {
            socket: place.receiver()?,
            frames: PreparedDatagrams::new(place.content()),
            call,
        })
    }

    fn sender(place: &BurstPlace<'_>, call: Call) -> Result<Self, WayRefusal> {
        Ok(Self {
            socket: place.sender()?,
            frames: PreparedDatagrams::new(place.content()),
            call,
        })
    }
}

/// Reads until nothing is left.
fn drain(socket: &CanSocket) {
    let mut bytes = [0; CLASSIC_SIZE];
    while linux::socket::read(socket, &mut bytes).is_ok() {}
}

impl FrameMover for SocketCalls {
    fn empty(&mut self) -> Result<(), WayRefusal> {
        drain(&self.socket);
        Ok(())
    }

    fn move_frames(&mut self, n: u32) -> Result<(), Errno> {
        (self.call)(&mut self.frames, &self.socket, n)
    }
}

/// An io_uring ring, and buffers for as many frames as [`PreparedDatagrams`] moves per call.
struct UringReceiver {
    socket: CanSocket,
    inbox: UringInbox,
}

impl UringReceiver {
    fn open(place: &BurstPlace<'_>) -> Result<Self, WayRefusal> {
        let socket = place.receiver()?;
        let inbox = Self::inbox(&socket)?;
        Ok(Self { socket, inbox })
    }

    fn inbox(socket: &CanSocket) -> Result<UringInbox, UringUnavailable> {
        UringInbox::open(socket, MOST_A_CALL as usize, CLASSIC_SIZE)
    }
}

impl FrameMover for UringReceiver {
    /// Replaces the ring: a request that stayed pending would receive the frames while they are
    /// sent, so that its cost could not be separated. Therefore each burst begins without one.
    fn empty(&mut self) -> Result<(), WayRefusal> {
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
struct UringSender(UringOutbox);

impl UringSender {
    fn open(place: &BurstPlace<'_>) -> Result<Self, WayRefusal> {
        let mut outbox = UringOutbox::open(place.sender()?, MOST_A_CHAIN, CLASSIC_SIZE)?;
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

impl FrameMover for UringSender {
    fn move_frames(&mut self, n: u32) -> Result<(), Errno> {
        let mut left = n as usize;
        while left > 0 {
            left -= self.0.send(0, left.min(MOST_A_CHAIN))?.min(left);
        }
        Ok(())
    }
}
