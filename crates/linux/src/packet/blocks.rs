//! A ring of blocks that the kernel fills with frames (`TPACKET_V3`, packet(7),
//! `Documentation/networking/packet_mmap.rst`): for recording, where the number of frames matters
//! and the latency of a single one does not.
//!
//! The kernel writes frame after frame into a block, and hands it over when it is full or when a
//! time has passed since its first frame. So no reader is woken up for a single frame, and no frame
//! needs a system call. Where the reader lags behind by the whole ring, the kernel drops frames and
//! counts them.
#![allow(unsafe_code, reason = "memory that the kernel fills")]

use super::block::{BlockFrame, STATUS_AT, walk};
use super::passed::PassedCounts;
use super::program::FilterProgram;
use super::socket::{FrameProtocol, PacketSocket, PacketStatistics, RingVersion};
use crate::Errno;
use crate::option::{get, set};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// `TP_STATUS_KERNEL`: the kernel owns the block.
const KERNEL: u32 = 0;
/// `TP_STATUS_USER`: this process owns the block.
const USER: u32 = 1;
/// `TP_STATUS_LOSING`: frames were dropped since the last query of the statistics.
const LOSING: u32 = 4;
/// Position of the number of frames in a block's header.
const COUNT_AT: usize = 12;
/// `struct tpacket_req3` contains the size of a frame's slot; with blocks the only requirement is
/// that it divides the block size.
const SLOT: u32 = 2048;

/// The size of the ring and the time after which blocks are handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingOptions {
    /// Size of a block in bytes: a power of two, at least 4096.
    pub block_size: u32,
    /// Number of blocks, at least 2.
    pub blocks: u32,
    /// Time after its first frame at which a block that is not full is handed over; whole
    /// milliseconds.
    pub timeout: Duration,
    /// Whether to request the controllers' own stamps.
    pub hardware_stamps: bool,
}

impl Default for RingOptions {
    /// 16 MiB in blocks of 256 KiB, and 250 ms.
    fn default() -> Self {
        Self {
            block_size: 1 << 18,
            blocks: 64,
            timeout: Duration::from_millis(250),
            hardware_stamps: false,
        }
    }
}

/// The reason why a ring could not be created.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RingError {
    /// The process lacks the permission.
    #[error(
        "recording needs CAP_NET_RAW: run as root, or give the program the capability (`setcap \
             cap_net_raw+ep`)"
    )]
    Forbidden,
    /// The kernel has no packet sockets.
    #[error("this kernel has no packet sockets: load them with `modprobe af_packet`")]
    NoPackets,
    /// The kernel cannot allocate memory of this size.
    #[error("the kernel has less than {0} KiB of memory for the ring: choose a smaller one")]
    Memory(u64),
    /// Something else went wrong.
    #[error("{step}: {errno}")]
    Refused {
        /// The step that failed.
        step: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
}

const fn refused(step: &'static str) -> impl Fn(Errno) -> RingError {
    move |errno| RingError::Refused { step, errno }
}

/// The counts of one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TakenBlock {
    /// Frames that were handed over.
    pub frames: u32,
    /// Frames that were announced but not found; they are counted so that the sums are complete.
    pub malformed: u32,
}

/// A packet socket with a ring of blocks, initially attached to no interface.
pub struct BlockRing {
    socket: PacketSocket,
    start: NonNull<u8>,
    block_size: usize,
    blocks: usize,
    /// The block that is filled next, or that waits to be read.
    next: usize,
}

// SAFETY: the mapping belongs to this value alone and stays until it is dropped; apart from the
// kernel, with which `status` coordinates, it is accessed only through `&mut self`.
unsafe impl Send for BlockRing {}

impl BlockRing {
    /// Creates the ring. Frames that the machine itself sends are not taken on their way out, but
    /// as their echo: once, and when they were transmitted on a real bus.
    ///
    /// # Errors
    /// [`RingError`]
    pub fn new(options: &RingOptions) -> Result<Self, RingError> {
        let size = u64::from(options.block_size) * u64::from(options.blocks);
        let socket = PacketSocket::open().map_err(|errno| match errno {
            Errno::PERM | Errno::ACCESS => RingError::Forbidden,
            Errno::AFNOSUPPORT => RingError::NoPackets,
            errno => refused("opening a packet socket")(errno),
        })?;
        socket
            .set_version(RingVersion::V3)
            .map_err(refused("asking for rings of blocks (TPACKET_V3)"))?;
        socket
            .ignore_outgoing()
            .map_err(refused("leaving out outgoing frames, which Linux 4.20 can"))?;
        if options.hardware_stamps {
            socket
                .ask_for_hardware_stamps()
                .map_err(refused("asking for hardware stamps"))?;
        }
        let whole = usize::try_from(size).map_err(|_| RingError::Memory(size / 1024))?;
        // struct tpacket_req3: block size and number, frame size and number, timeout in ms, size of
        // a private area in bytes, features.
        let request: [u32; 7] = [
            options.block_size,
            options.blocks,
            SLOT,
            (size / u64::from(SLOT)).try_into().unwrap_or(u32::MAX),
            u32::try_from(options.timeout.as_millis()).unwrap_or(u32::MAX),
            0,
            0,
        ];
        let no_memory = |step| {
            move |errno| match errno {
                Errno::NOMEM => RingError::Memory(size / 1024),
                errno => refused(step)(errno),
            }
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
            .map_err(no_memory("making the ring"))?;
        // SAFETY: the kernel chooses an unused address range (a null hint without MAP_FIXED), so
        // that no memory of this process changes; no other code gets the address.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                whole,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &socket,
                0,
            )
        };
        let start = start.map_err(no_memory("mapping the ring"))?;
        Ok(Self {
            socket,
            start: NonNull::new(start.cast()).ok_or(RingError::Memory(size / 1024))?,
            block_size: options.block_size as usize,
            blocks: options.blocks as usize,
            next: 0,
        })
    }

    /// Sets which frames are taken from now on.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_filter(&self, program: &FilterProgram) -> Result<(), Errno> {
        self.socket.set_filter(program.instructions())
    }

    /// Does the same as [`BlockRing::set_filter`]; in addition, `passed` counts the frames that are
    /// taken or find no room, by interface.
    ///
    /// # Errors
    /// The kernel's error: EPERM without CAP_BPF.
    pub fn set_counting_filter(
        &self,
        program: &FilterProgram,
        passed: &PassedCounts,
    ) -> Result<(), Errno> {
        passed.attach(&self.socket, program)
    }

    /// Takes frames of the interface with this index, or of all interfaces where it is 0; can be
    /// repeated.
    ///
    /// # Errors
    /// ENODEV where there is no such interface.
    pub fn attach(&self, interface: u32) -> Result<(), Errno> {
        self.socket.attach(interface, FrameProtocol::All)
    }

    /// Returns the descriptor for polling: it is readable when a block is ready. It reports an
    /// error once when its interface goes down; [`BlockRing::take_error`] clears it.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Takes the socket's pending error: ENETDOWN where its interface went down or was removed.
    pub fn take_error(&self) -> Option<Errno> {
        let mut code = 0_i32;
        get(&self.socket, libc::SOL_SOCKET, libc::SO_ERROR, &mut code).ok()?;
        (code != 0).then(|| Errno::from_raw_os_error(code))
    }

    /// Returns the counts of frames that passed the filter and of those that were dropped, since
    /// the last call of this function.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn take_statistics(&self) -> Result<PacketStatistics, Errno> {
        self.socket.take_statistics()
    }

    /// Hands over the frames of the next block and gives it back to the kernel; `None` where the
    /// kernel has not handed it over yet.
    pub fn take_block(&mut self, take: impl FnMut(BlockFrame<'_>)) -> Option<TakenBlock> {
        let status = self.word(STATUS_AT).load(Ordering::Acquire);
        if status & USER == 0 {
            return None;
        }
        // SAFETY: the block lies within the mapping, since `next < blocks`; the mapping lives as
        // long as `self`. While the status is USER, the kernel does not write to the block
        // (`prb_dispatch_next_block` freezes the queue instead); no other code has access, and the
        // slice ends before the status is given back below.
        let block = unsafe { std::slice::from_raw_parts(self.block().as_ptr(), self.block_size) };
        let walked = walk(block, take);
        // Until the kernel opens the block again, no frame waits in it.
        self.word(COUNT_AT).store(0, Ordering::Relaxed);
        self.word(STATUS_AT).store(KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        Some(TakenBlock {
            frames: walked.frames,
            malformed: walked.malformed,
        })
    }

    /// Returns whether the next block has been handed over and the kernel had dropped frames before
    /// it closed that block and since the last query of the statistics.
    #[must_use]
    pub fn is_losing(&self) -> bool {
        let both = USER | LOSING;
        self.word(STATUS_AT).load(Ordering::Acquire) & both == both
    }

    /// Returns the number of frames in the block that the kernel is filling at present; the next
    /// call of [`BlockRing::take_block`] brings them once the block is handed over.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.word(COUNT_AT).load(Ordering::Acquire)
    }

    fn block(&self) -> NonNull<u8> {
        // SAFETY: `next < blocks`, so that the start of the block lies within the mapping.
        unsafe { self.start.add(self.next * self.block_size) }
    }

    /// Returns a word of the next block's header, which the kernel may write at any time.
    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `at` is one of two constants below 48, the size of a block's header, and a
        // multiple of 4, and blocks begin at pages, so that the word lies within the mapping and is
        // aligned; the mapping lives as long as `self`. The kernel's writes are like stores by
        // another thread.
        unsafe { AtomicU32::from_ptr(self.block().add(at).cast().as_ptr()) }
    }
}

impl Drop for BlockRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, created by `new` with this start and this length; no
        // reference into it is left, because references borrow from `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.block_size * self.blocks) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::netdevice::name_to_index;
    use std::net::UdpSocket;

    /// Needs CAP_NET_RAW but no CAN: the ring takes any datagrams, here of the loopback interface.
    #[test]
    fn the_kernel_fills_blocks_and_counts_what_found_no_room() {
        let options = RingOptions {
            block_size: 4096,
            blocks: 4,
            timeout: Duration::from_millis(5),
            hardware_stamps: false,
        };
        let mut ring = match BlockRing::new(&options) {
            Ok(ring) => ring,
            Err(why @ (RingError::Forbidden | RingError::NoPackets)) => {
                eprintln!("SKIPPED because {why}");
                return;
            }
            Err(why) => panic!("{why}"),
        };
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = receiver.local_addr().unwrap();
        ring.attach(name_to_index(&ring.socket, "lo").unwrap())
            .unwrap();
        ring.take_statistics().unwrap();
        for number in 0..300_u32 {
            sender.send_to(&number.to_ne_bytes(), to).unwrap();
        }
        ring.set_filter(&FilterProgram::nothing()).unwrap();
        let mut found = 0_u64;
        // The last block is handed over after its time.
        while ring.waiting() > 0 {
            let mut poll = crate::PollSet::default();
            poll.add_fd(ring.fd(), true, false);
            poll.wait(Some(Duration::from_secs(1))).unwrap();
            while let Some(taken) = ring.take_block(|caught| assert!(caught.stamp > 0)) {
                assert_eq!(taken.malformed, 0);
                found += u64::from(taken.frames);
            }
        }
        let statistics = ring.take_statistics().unwrap();
        assert!(statistics.dropped > 0, "{statistics:?}");
        assert_eq!(u64::from(statistics.seen - statistics.dropped), found);
        assert!(statistics.seen >= 300);
        sender.send_to(&[0], to).unwrap();
        assert_eq!(ring.take_statistics().unwrap(), PacketStatistics::default());
    }
}
