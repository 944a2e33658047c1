//! Rings that a packet socket shares with the kernel (PACKET_MMAP).

use super::error::BurstError;
use super::sockets::BurstPlace;
use super::ways::{FrameMover, WayRefusal};
use linux::Errno;
use linux::can::layout::CLASSIC_SIZE;
use linux::packet::{FrameProtocol, PacketSocket, RxRing, TxRing};
use std::time::{Duration, Instant};

/// The maximum number of slots of a sending ring: beyond that, the kernel needs larger contiguous
/// pieces of memory than it may allocate.
const SLOTS: usize = 1_024;

fn refused(errno: Errno) -> WayRefusal {
    WayRefusal::Own(match errno {
        Errno::PERM => "packet sockets need CAP_NET_RAW".to_owned(),
        Errno::AFNOSUPPORT => "this kernel has no packet sockets: `modprobe af_packet`".to_owned(),
        Errno::NOMEM => {
            "the kernel has not enough memory for such a ring: use fewer frames".to_owned()
        }
        other => format!("a ring cannot be made: {other}"),
    })
}

fn opened(place: &BurstPlace<'_>) -> Result<(PacketSocket, u32), WayRefusal> {
    // Its error names the fault of the interface.
    let index = place.sender()?.query_state();
    let index = index.map_err(|errno| place.failed("ring", 0, errno))?.index;
    Ok((PacketSocket::open().map_err(refused)?, index))
}

/// A receiving ring with room for the longest burst.
pub(super) struct RingReceiver {
    /// The socket that the ring belongs to.
    _socket: PacketSocket,
    ring: RxRing,
}

impl RingReceiver {
    pub(super) fn open(place: &BurstPlace<'_>) -> Result<Self, WayRefusal> {
        let (socket, index) = opened(place)?;
        let ring = RxRing::new(&socket, place.most as usize, CLASSIC_SIZE).map_err(refused)?;
        let attached = socket.attach(index, FrameProtocol::Can);
        attached.map_err(refused)?;
        Ok(Self {
            _socket: socket,
            ring,
        })
    }
}

impl FrameMover for RingReceiver {
    fn empty(&mut self) -> Result<(), WayRefusal> {
        while self.ring.receive(usize::MAX, &mut |_| ()) > 0 {}
        Ok(())
    }

    fn remark(&self) -> Option<&'static str> {
        Some(
            "the kernel copies a frame into the ring when it arrives: that cost is part of sending, \
             not of receiving",
        )
    }

    fn move_frames(&mut self, n: u32) -> Result<(), Errno> {
        let mut left = n as usize;
        while left > 0 {
            match self.ring.receive(left, &mut |_| ()) {
                0 => return Err(Errno::AGAIN),
                taken => left -= taken.min(left),
            }
        }
        Ok(())
    }
}

/// A sending ring, used in a circle.
pub(super) struct RingSender {
    socket: PacketSocket,
    ring: TxRing,
    to: (u32, FrameProtocol),
    content: [u8; CLASSIC_SIZE],
    /// The slot that the kernel will check next.
    next: usize,
}

impl RingSender {
    pub(super) fn open(place: &BurstPlace<'_>) -> Result<Self, WayRefusal> {
        let (socket, index) = opened(place)?;
        let slots = SLOTS.min(place.most as usize);
        let ring = TxRing::new(&socket, slots, CLASSIC_SIZE).map_err(refused)?;
        Ok(Self {
            socket,
            ring,
            to: (index, FrameProtocol::Can),
            content: place.content(),
            next: 0,
        })
    }
}

impl FrameMover for RingSender {
    fn remark(&self) -> Option<&'static str> {
        Some(
            "frames of a packet socket are not echoed: the cost excludes delivery to another \
             socket, and includes each frame's copy into the ring",
        )
    }

    fn is_echoed(&self) -> bool {
        false
    }

    /// Waits until all slots are free: the kernel returns a slot when its frame has been sent.
    fn settle(&mut self, patience: Duration) -> Result<(), BurstError> {
        let end = Instant::now() + patience;
        for i in 0..self.ring.slots() {
            while self.ring.slot(i).is_none() {
                if Instant::now() > end {
                    return Err(BurstError::Stuck);
                }
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        Ok(())
    }

    fn move_frames(&mut self, n: u32) -> Result<(), Errno> {
        let (mut left, slots) = (n as usize, self.ring.slots());
        while left > 0 {
            let mut written = 0;
            // Free slots that are contiguous.
            while written < left && self.next + written < slots {
                let Some((slot, len)) = self.ring.slot(self.next + written) else {
                    break;
                };
                let Some(slot) = slot.get_mut(..CLASSIC_SIZE) else {
                    return Err(Errno::MSGSIZE);
                };
                slot.copy_from_slice(&self.content);
                *len = CLASSIC_SIZE;
                written += 1;
            }
            if written == 0 {
                return Err(Errno::NOBUFS);
            }
            let sent = self.ring.send(&self.socket, self.to, self.next, written);
            let sent = match sent {
                Ok(sent) => sent,
                Err(errno) => {
                    self.ring.forget(self.next, written);
                    return Err(errno);
                }
            };
            self.ring
                .forget(self.next + sent, written.saturating_sub(sent));
            self.next = (self.next + sent) % slots;
            left -= sent.min(left);
        }
        Ok(())
    }
}
