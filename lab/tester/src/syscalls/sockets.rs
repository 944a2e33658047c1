//! The sockets between which bursts go: frames sent by one wait at the other.

use super::error::BurstError;
use frame::{CanId, Frame};
use linux::can::layout::{CLASSIC_SIZE, encode};
use linux::can::{ArrivedFrame, CanFilter, CanSocket, FrameOptions, FrameSocket, OpenError};
use linux::link::NetLink;
use linux::{Errno, PollSet};
use std::time::{Duration, Instant};

/// The maximum that the kernel charges the receiving socket for a frame, bytes (`truesize` of an
/// `sk_buff` with 16 bytes: below 1 KiB on all kernels since 2.6).
const CHARGE: u32 = 1_024;

/// The longest time that a burst may take on a real bus, in addition to [`A_FRAME`] for each frame.
const BURST_TIMEOUT: Duration = Duration::from_secs(1);
/// The time of a frame at 10 kbit/s, including some lost arbitration.
const A_FRAME: Duration = Duration::from_millis(50);

/// Returns whether frames take no time on interfaces of this kind, which also have no queue.
pub(super) fn is_virtual(kind: &str) -> bool {
    matches!(kind, "vcan" | "vxcan")
}

/// The interface on which bursts are sent, and their parameters.
pub(super) struct BurstPlace<'a> {
    pub(super) interface: &'a str,
    /// Frames are at the other socket as soon as the call that sent them returns.
    pub(super) is_virtual: bool,
    /// The identifier of the frames of all bursts.
    pub(super) id: CanId,
    /// The maximum number of frames of a burst.
    pub(super) most: u32,
}

impl<'a> BurstPlace<'a> {
    pub(super) fn new(interface: &'a str, id: CanId, most: u32, link: Option<&NetLink>) -> Self {
        Self {
            interface,
            is_virtual: link.is_none_or(|link| is_virtual(&link.kind)),
            id,
            most,
        }
    }

    /// Returns the frame, in the kernel's layout.
    pub(super) fn content(&self) -> [u8; CLASSIC_SIZE] {
        let mut content = [0; CLASSIC_SIZE];
        let frame = Frame::classic(self.id, &[0xA5; 8]).ok();
        let _ = frame.and_then(|frame| encode(frame.view(), &mut content));
        content
    }

    /// Opens a socket that receives nothing.
    pub(super) fn sender(&self) -> Result<CanSocket, OpenError> {
        self.opened(&[])
    }

    /// Opens a socket with room for the longest burst (CAP_NET_ADMIN is needed for more than
    /// `net.core.rmem_max` allows).
    pub(super) fn receiver(&self) -> Result<CanSocket, BurstError> {
        // On a real bus there may be other frames. On a virtual interface a filter would only
        // add to what sending costs.
        let own = CanFilter {
            id: self.id.raw(),
            mask: 0xC000_0000
                | if self.id.is_eff() {
                    CanId::EFF_MASK
                } else {
                    CanId::SFF_MASK
                },
        };
        let filter = if self.is_virtual {
            CanFilter::EVERYTHING
        } else {
            own
        };
        let receiver = self.opened(&[filter])?;
        let bytes = self.most.saturating_mul(CHARGE).max(1 << 16);
        let got = receiver
            .set_receive_buffer(bytes)
            .and_then(|()| receiver.receive_buffer());
        // The kernel doubles the size that it is given, for its own use.
        if got.is_ok_and(|got| got / 2 < bytes) {
            return Err(BurstError::Room {
                interface: self.interface.to_owned(),
                frames: self.most,
                bytes,
            });
        }
        Ok(receiver)
    }

    /// Opens a socket with default options, apart from its filters: no option takes time.
    fn opened(&self, filters: &[CanFilter]) -> Result<CanSocket, OpenError> {
        let socket = CanSocket::open(self.interface)?;
        socket
            .set_filters(filters)
            .map_err(|errno| OpenError::set_up(self.interface, errno))?;
        let index = socket.query_state().map(|state| state.index);
        index
            .and_then(|index| socket.attach(index))
            .map_err(|errno| OpenError::attach(self.interface, errno))?;
        Ok(socket)
    }

    /// Converts the error of a call for a burst of `n` frames.
    pub(super) fn failed(&self, call: &'static str, n: u32, errno: Errno) -> BurstError {
        let interface = self.interface.to_owned();
        match errno {
            Errno::NETDOWN => BurstError::Down(interface),
            Errno::NOBUFS => BurstError::Queue {
                interface,
                frames: n,
            },
            Errno::AGAIN => self.lost(n),
            other => BurstError::Call {
                interface,
                call,
                source: other.into(),
            },
        }
    }

    fn lost(&self, sent: u32) -> BurstError {
        BurstError::Lost {
            interface: self.interface.to_owned(),
            sent,
            why: if self.is_virtual {
                "does another program keep the processor busy, so that the kernel's backlog \
                 overflowed?"
            } else {
                "is another node on the bus, with this bit rate, that acknowledges frames?"
            },
        }
    }
}

/// Returns the time that a burst of `n` frames may take on a real bus.
pub(super) fn patience(n: u32) -> Duration {
    BURST_TIMEOUT + A_FRAME * n
}

/// Observes frames being sent, by the driver's echo, where frames take time.
pub(super) struct SendWatcher(Option<FrameSocket>);

impl SendWatcher {
    pub(super) fn open(place: &BurstPlace<'_>) -> Result<Self, OpenError> {
        if place.is_virtual {
            return Ok(Self(None));
        }
        let options = FrameOptions {
            hear: true,
            ..FrameOptions::default()
        };
        FrameSocket::open(place.interface, &options).map(|socket| Self(Some(socket)))
    }

    /// Waits until a burst of `n` frames has reached every socket.
    pub(super) fn wait(&mut self, place: &BurstPlace<'_>, n: u32) -> Result<(), BurstError> {
        let Some(socket) = &mut self.0 else {
            return Ok(());
        };
        let end = Instant::now() + patience(n);
        let mut seen = 0;
        let mut poll = PollSet::with_capacity(1);
        poll.add_fd(socket.fd(), true, false);
        while seen < n {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(place.lost(n));
            }
            poll.wait(Some(left)).map_err(|source| BurstError::Call {
                interface: place.interface.to_owned(),
                call: "ppoll",
                source,
            })?;
            let mut count = |arrival: ArrivedFrame<'_>| {
                seen += u32::from(arrival.local && arrival.frame.id() == place.id);
            };
            if let Err(errno) = socket.receive(&mut count) {
                return Err(place.failed("recvmmsg", n, errno));
            }
        }
        Ok(())
    }
}
