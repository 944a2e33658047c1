//! Many frames through a virtual interface by each of the calls that can carry them, to time
//! nothing but the calls (syscalls-2014 §3.1): all that a call needs is made before.

use frame::{CanId, Frame};
use linux::Errno;
use linux::can::layout::{CLASSIC_SIZE, encode};
use linux::can::{Filter, OpenError, Socket};
use linux::mmsg::Prepared;

/// The most frames of a burst: the papers'.
pub const MOST_BURST: u32 = 50_000;

/// What the kernel charges the receiving socket for a frame, at most, bytes (`truesize` of an
/// `sk_buff` with 16 bytes: below 1 KiB on all kernels since 2.6).
const CHARGE: u32 = 1_024;

/// What could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum BurstError {
    /// The interface cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The receiving socket is too small.
    #[error(
        "{interface}: the receiving socket has no room for {frames} frames: run as root, raise \
         net.core.rmem_max to {bytes}, or take fewer frames"
    )]
    Room {
        /// Where.
        interface: String,
        /// For so many frames.
        frames: u32,
        /// Bytes that they need.
        bytes: u32,
    },
    /// More than there is room for, or nothing.
    #[error("{0} frames: a burst has 1 to {MOST_BURST}")]
    Frames(u32),
    /// The interface is no virtual one, or is down.
    #[error("{0}")]
    Interface(String),
    /// A call failed.
    #[error("{interface}: {call}: {source}")]
    Call {
        /// Where.
        interface: String,
        /// Which call.
        call: &'static str,
        /// What it said.
        source: std::io::Error,
    },
    /// Frames did not arrive.
    #[error(
        "{interface}: of {sent} frames not all arrived at the other socket: does another program \
         keep the processor busy, so that the kernel's backlog overflowed?"
    )]
    Lost {
        /// Where.
        interface: String,
        /// How many were sent.
        sent: u32,
    },
}

/// Two raw sockets on one virtual interface: what one sends waits at the other.
pub(crate) struct Burst {
    sender: Socket,
    receiver: Socket,
    frames: Prepared<CLASSIC_SIZE>,
}

impl Burst {
    /// Opens the sockets, the receiving one with room for so many frames (CAP_NET_ADMIN for more
    /// than `net.core.rmem_max` allows).
    pub(crate) fn open(interface: &str, frames: u32) -> Result<Self, BurstError> {
        let receiver = opened(interface, &[Filter::EVERYTHING])?;
        let bytes = frames.saturating_mul(CHARGE).max(1 << 16);
        let got = receiver
            .set_receive_buffer(bytes)
            .and_then(|()| receiver.receive_buffer());
        // The kernel doubles what it is given, for its own use.
        if got.is_ok_and(|got| got / 2 < bytes) {
            return Err(BurstError::Room {
                interface: interface.to_owned(),
                frames,
                bytes,
            });
        }
        let mut content = [0; CLASSIC_SIZE];
        let frame = Frame::classic(CanId::from_raw(0x123), &[0xA5; 8]).ok();
        let _ = frame.and_then(|frame| encode(frame.view(), &mut content));
        Ok(Self {
            sender: opened(interface, &[])?,
            receiver,
            frames: Prepared::new(content),
        })
    }

    /// Sends `n` frames by as many write(2).
    pub(crate) fn write(&mut self, n: u32) -> Result<(), Errno> {
        self.frames.write(&self.sender, n)
    }

    /// Receives `n` frames by as many read(2); EAGAIN where there are fewer.
    pub(crate) fn read(&mut self, n: u32) -> Result<(), Errno> {
        self.frames.read(&self.receiver, n)
    }

    /// Sends `n` frames by sendmmsg(2), as many a call as it takes.
    pub(crate) fn sendmmsg(&mut self, n: u32) -> Result<(), Errno> {
        self.frames.sendmmsg(&self.sender, n)
    }

    /// Receives `n` frames by recvmmsg(2), as many a call as it takes; EAGAIN where there are
    /// fewer.
    pub(crate) fn recvmmsg(&mut self, n: u32) -> Result<(), Errno> {
        self.frames.recvmmsg(&self.receiver, n)
    }

    /// Throws away what waits at the receiver.
    pub(crate) fn empty(&mut self) {
        while self.read(1).is_ok() {}
    }
}

/// A socket as it comes, but for its filters: no option of it takes time.
fn opened(interface: &str, filters: &[Filter]) -> Result<Socket, OpenError> {
    let socket = Socket::open(interface)?;
    socket
        .set_filters(filters)
        .map_err(|errno| OpenError::set_up(interface, errno))?;
    let index = socket.look().map(|state| state.index);
    index
        .and_then(|index| socket.attach(index))
        .map_err(|errno| OpenError::attach(interface, errno))?;
    Ok(socket)
}
