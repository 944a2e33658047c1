//! A ring with the memory of its requests, and the end of both.

use super::error::UringUnavailable;
use super::region::RingRegion;
use crate::Errno;
use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode, squeue};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// The mark of the completion of the cancelling request; other requests have other marks.
const CANCEL: u64 = u64::MAX;

/// How often a dropped [`SocketRing`] checks whether all requests have ended, and for how long each
/// time. A request ends within microseconds; the total of one second is for a machine that is slow
/// to do so.
const MAX_CHECKS: u32 = 50;
const LOOK_NS: u32 = 20_000_000;

/// `IORING_ENTER_GETEVENTS` (`uapi/linux/io_uring.h`).
const GETEVENTS: u32 = 1;

/// Returns the error of a ring's operation.
pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The completion of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UringCompletion {
    /// The mark of its request.
    pub(super) mark: u64,
    /// The result of the equivalent system call: at least 0, or an error.
    pub(super) result: Result<u32, Errno>,
    /// The buffer that the request used.
    pub(super) buffer: Option<u16>,
    /// Whether the request continues.
    pub(super) more: bool,
}

impl From<io_uring::cqueue::Entry> for UringCompletion {
    fn from(entry: io_uring::cqueue::Entry) -> Self {
        let result = entry.result();
        Self {
            mark: entry.user_data(),
            result: u32::try_from(result)
                .map_err(|_| Errno::from_raw_os_error(result.saturating_neg())),
            buffer: io_uring::cqueue::buffer_select(entry.flags()),
            more: io_uring::cqueue::more(entry.flags()),
        }
    }
}

/// A ring, the socket that it works on (registered as number 0), and the memory of its requests.
pub(super) struct SocketRing {
    ring: IoUring,
    region: ManuallyDrop<RingRegion>,
    /// Number of requests that were submitted and have not ended.
    under_way: u32,
}

impl SocketRing {
    /// Creates a ring with room for this many requests and completions at a time, on this socket.
    pub(super) fn new(
        socket: impl AsFd,
        requests: u32,
        completions: u32,
        memory: usize,
    ) -> Result<Self, UringUnavailable> {
        let ring = IoUring::builder()
            .dontfork()
            .setup_clamp()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(completions.max(requests))
            .build(requests)
            .map_err(|e| UringUnavailable::set_up(errno(&e)))?;
        let mut probe = Probe::new();
        let step = |step, e: &io::Error| UringUnavailable::step(step, errno(e));
        ring.submitter()
            .register_probe(&mut probe)
            .map_err(|e| step("asking what it can do", &e))?;
        // It came in the same version as the multishot `recvmsg`, which a probe does not report.
        if !probe.is_supported(opcode::SendZc::CODE) {
            return Err(UringUnavailable::old());
        }
        ring.submitter()
            .register_files(&[socket.as_fd().as_raw_fd()])
            .map_err(|e| step("registering the socket", &e))?;
        let region =
            RingRegion::new(memory).map_err(|e| UringUnavailable::step("getting memory", e))?;
        Ok(Self {
            ring,
            region: ManuallyDrop::new(region),
            under_way: 0,
        })
    }

    /// Returns the kernel's ring, for one-time set-up.
    pub(super) const fn kernels(&self) -> &IoUring {
        &self.ring
    }

    /// Returns the descriptor for polling: it is readable as long as a completion waits.
    pub(super) fn fd(&self) -> RawFd {
        self.ring.as_raw_fd()
    }

    pub(super) fn region(&self) -> &RingRegion {
        &self.region
    }

    pub(super) fn region_mut(&mut self) -> &mut RingRegion {
        &mut self.region
    }

    /// Queues a request; it begins with [`SocketRing::enter`]. False where there is no room.
    ///
    /// # Safety
    /// The memory that the request reads and writes lies in this ring's [`RingRegion`], and until
    /// the request has ended no other code accesses it, as far as it belongs to the kernel.
    pub(super) unsafe fn push(&mut self, request: &squeue::Entry) -> bool {
        // SAFETY: the memory stays valid until the request has ended, because it is in the region,
        // which `drop` does not free before; the caller guarantees the rest.
        unsafe { self.ring.submission().push(request) }.is_ok()
    }

    /// Returns whether there are requests that were queued and not submitted.
    pub(super) fn has_unsent(&mut self) -> bool {
        !self.ring.submission().is_empty()
    }

    /// Submits the requests, does the pending work, and waits until `wait_for` completions are
    /// there; returns the number of requests that were submitted. It can be smaller where the
    /// kernel lacks memory, and is an error only if none was submitted.
    pub(super) fn enter(&mut self, wait_for: usize) -> Result<usize, Errno> {
        let entered = self.ring.submit_and_wait(wait_for);
        let handed = entered.map_err(|e| errno(&e))?;
        self.under_way += handed as u32;
        Ok(handed)
    }

    /// Waits until a completion is there, and submits nothing.
    pub(super) fn wait(&mut self) -> Result<(), Errno> {
        // SAFETY: no argument is given, so that the kernel reads none.
        let waited = unsafe { self.ring.submitter().enter::<()>(0, 1, GETEVENTS, None) };
        waited.map(|_| ()).map_err(|e| errno(&e))
    }

    /// Returns whether there is pending work that needs a call.
    pub(super) fn wants_a_call(&mut self) -> bool {
        let submission = self.ring.submission();
        submission.taskrun() || submission.cq_overflow()
    }

    /// Returns the next completion, without a system call.
    pub(super) fn next(&mut self) -> Option<UringCompletion> {
        let completion = UringCompletion::from(self.ring.completion().next()?);
        if !completion.more {
            self.under_way = self.under_way.saturating_sub(1);
        }
        Some(completion)
    }

    /// Cancels the requests under way, and waits for their end; false where that is not certain.
    fn end(&mut self) -> bool {
        if self.under_way == 0 {
            return true;
        }
        let cancel = opcode::AsyncCancel2::new(CancelBuilder::any())
            .build()
            .user_data(CANCEL);
        // Requests that were not submitted must not be submitted now. This happens only when memory
        // is scarce.
        // SAFETY: the request refers to no memory.
        if self.has_unsent() || !unsafe { self.push(&cancel) } || self.enter(0).is_err() {
            return false;
        }
        let time = Timespec::new().nsec(LOOK_NS);
        let arguments = SubmitArgs::new().timespec(&time);
        for _ in 0..MAX_CHECKS {
            while self.next().is_some() {}
            if self.under_way == 0 {
                return true;
            }
            // The call ends with an error when the time is over, or with a signal.
            let _ = self.ring.submitter().submit_with_args(1, &arguments);
        }
        false
    }
}

impl Drop for SocketRing {
    fn drop(&mut self) {
        if self.end() {
            // The kernel dismantles a closed ring later, in a thread of its own: until then a
            // socket that only the ring still refers to would continue to receive.
            let _ = self.ring.submitter().unregister_files();
            // SAFETY: the region is not used afterwards: this is the end of its owner.
            unsafe { ManuallyDrop::drop(&mut self.region) };
        }
        // Otherwise the kernel may still write to the memory, which stays mapped for good.
    }
}
