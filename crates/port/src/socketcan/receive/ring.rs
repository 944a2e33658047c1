//! A ring of memory that the kernel writes frames to. No system call brings a frame; the kernel is
//! asked where the ring is empty although it woke the worker, which means an error.

use super::super::way::{Arrival, Brought, ReceiveWay};
use linux::Errno;
use linux::packet::{RxRing, Socket};
use linux::socket::take_error;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Frames that are handed over before the frames made of them leave.
const BATCH: usize = 64;
/// A worker that never waits finds the ring empty again and again. It asks for an error once in so
/// many times, which is about every millisecond.
const LOOKS: u32 = 2048;

pub(in super::super) struct ByRing {
    socket: Arc<Socket>,
    ring: RxRing,
    busy: bool,
    /// How often the ring was empty since an error was asked for.
    empty: u32,
    /// Frames for which the ring had no room, as far as the kernel was asked.
    lost: AtomicU32,
}

impl ByRing {
    /// `busy`: never to be waited for.
    pub(in super::super) fn new(socket: Arc<Socket>, ring: RxRing, busy: bool) -> Self {
        Self {
            socket,
            ring,
            busy,
            empty: 0,
            lost: AtomicU32::new(0),
        }
    }

    /// Nothing is there: is there an error?
    #[cold]
    fn error(&mut self) -> Result<Brought, Errno> {
        self.empty = 0;
        take_error(&self.socket)?;
        Err(Errno::AGAIN)
    }
}

/// Asks the kernel for what was lost since it was asked last; in all.
fn lost(socket: &Socket, lost: &AtomicU32) -> Option<u32> {
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
        take: &mut dyn FnMut(Arrival<'_>),
    ) -> Result<Brought, Errno> {
        let want = want.min(BATCH);
        let (socket, total) = (&self.socket, &self.lost);
        let count = self.ring.receive(want, &mut |slot| {
            let stamp = (slot.stamp > 0).then_some(slot.stamp);
            let (hardware, software) = if slot.hardware {
                (stamp, None)
            } else {
                (None, stamp)
            };
            take(Arrival {
                bytes: slot.bytes,
                software,
                hardware,
                lost: if slot.losing {
                    lost(socket, total)
                } else {
                    None
                },
                // The kernel does not say it to packet sockets.
                local: false,
            });
        });
        if count == 0 {
            self.empty = self.empty.saturating_add(1);
            if !self.busy || self.empty >= LOOKS {
                return self.error();
            }
            return Err(Errno::AGAIN);
        }
        self.empty = 0;
        let more = count == want;
        Ok(Brought { count, more })
    }

    fn lost(&self) -> Option<u32> {
        lost(&self.socket, &self.lost)
    }

    fn is_busy(&self) -> bool {
        self.busy
    }
}
