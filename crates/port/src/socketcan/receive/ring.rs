//! A ring of memory that the kernel writes frames to. No system call is needed for a frame; the
//! way asks the kernel for an error if the ring is empty although the kernel woke the worker.

use super::super::way::{CallResult, DatagramArrival, ReceiveWay};
use linux::Errno;
use linux::packet::{PacketSocket, RxRing};
use linux::socket::take_error;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Maximum number of frames that are handed over before the frames made from them leave.
const BATCH: usize = 64;
/// Number of calls with an empty ring after which a busy way asks the kernel for an error. A worker
/// that never waits finds the ring empty again and again; this is about every millisecond.
const EMPTY_CALLS: u32 = 2048;

pub(in super::super) struct ByRing {
    socket: Arc<PacketSocket>,
    ring: RxRing,
    busy: bool,
    /// Number of calls with an empty ring since the last frame or the last query for an error.
    empty: u32,
    /// Number of frames for which the ring had no room, up to the last query.
    lost: AtomicU32,
}

impl ByRing {
    /// Makes the way. `busy`: the worker never waits for it.
    pub(in super::super) fn new(socket: Arc<PacketSocket>, ring: RxRing, busy: bool) -> Self {
        Self {
            socket,
            ring,
            busy,
            empty: 0,
            lost: AtomicU32::new(0),
        }
    }

    /// Asks the kernel for an error, because the ring is empty; returns EAGAIN if there is none.
    #[cold]
    fn error(&mut self) -> Result<CallResult, Errno> {
        self.empty = 0;
        take_error(&self.socket)?;
        Err(Errno::AGAIN)
    }
}

/// Asks the kernel for the frames that were lost since the last query; returns the total.
fn lost(socket: &PacketSocket, lost: &AtomicU32) -> Option<u32> {
    let dropped = socket.take_statistics().ok()?.dropped;
    Some(lost.fetch_add(dropped, Relaxed).wrapping_add(dropped))
}

impl ReceiveWay for ByRing {
    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn receive(
        &mut self,
        want: usize,
        take: &mut dyn FnMut(DatagramArrival<'_>),
    ) -> Result<CallResult, Errno> {
        let want = want.min(BATCH);
        let (socket, total) = (&self.socket, &self.lost);
        let count = self.ring.receive(want, &mut |slot| {
            let stamp = (slot.stamp > 0).then_some(slot.stamp);
            let (hardware, software) = if slot.hardware {
                (stamp, None)
            } else {
                (None, stamp)
            };
            take(DatagramArrival {
                bytes: slot.bytes,
                software,
                hardware,
                lost: if slot.losing {
                    lost(socket, total)
                } else {
                    None
                },
                // The kernel does not report it to packet sockets.
                local: false,
            });
        });
        if count == 0 {
            self.empty = self.empty.saturating_add(1);
            if !self.busy || self.empty >= EMPTY_CALLS {
                return self.error();
            }
            return Err(Errno::AGAIN);
        }
        self.empty = 0;
        let more = count == want;
        Ok(CallResult { count, more })
    }

    fn lost(&self) -> Option<u32> {
        lost(&self.socket, &self.lost)
    }

    fn is_busy(&self) -> bool {
        self.busy
    }
}
