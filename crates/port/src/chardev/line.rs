//! What a half has of its device: the mapped area and the calls. Tests have another one.

use crate::RawFilter;
use linux::Errno;
use linux::chardev::{Device, SLOT, SLOTS};
use std::os::fd::RawFd;

/// Byte offsets of `struct canchar_area`. Each names a word of 64 bits; most have two registers of 32.
pub(super) mod at {
    /// `version`, `rx_head`.
    pub(in super::super) const RX_HEAD: usize = 0;
    /// `rx_lost`, `tx_taken`.
    pub(in super::super) const RX_LOST: usize = 8;
    /// `tx_sent`, `tx_failed`.
    pub(in super::super) const TX_SENT: usize = 16;
    /// `state`, `changes`.
    pub(in super::super) const STATE: usize = 24;
    /// `overruns`.
    pub(in super::super) const OVERRUNS: usize = 32;
    /// `rx_tail`: of the process.
    pub(in super::super) const RX_TAIL: usize = 64;
    /// `tx_head`: of the process.
    pub(in super::super) const TX_HEAD: usize = 72;
    const TX: usize = 128;
    const RX: usize = TX + super::SLOT * super::SLOTS as usize;
    /// In a slot: `flags`, `state`; the frame.
    pub(in super::super) const FLAGS: usize = 8;
    pub(in super::super) const FRAME: usize = 16;

    /// The slot of the transmit queue that this count means.
    pub(in super::super) const fn tx(count: u32) -> usize {
        TX + super::SLOT * (count % super::SLOTS) as usize
    }

    /// The same of the receive queue.
    pub(in super::super) const fn rx(count: u32) -> usize {
        RX + super::SLOT * (count % super::SLOTS) as usize
    }
}

/// `CANCHAR_FRAME_FD`.
pub(super) const FRAME_FD: u32 = 1;
/// `CANCHAR_FRAME_SENT`.
pub(super) const FRAME_SENT: u32 = 2;
/// `CANCHAR_TX_PENDING`.
pub(super) const TX_PENDING: u32 = 1;

const LITTLE: bool = cfg!(target_endian = "little");

/// The register in a word's first four bytes.
#[inline]
pub(super) const fn first(word: u64) -> u32 {
    (word >> if LITTLE { 0 } else { 32 }) as u32
}

/// The register in its last four bytes.
#[inline]
pub(super) const fn second(word: u64) -> u32 {
    (word >> if LITTLE { 32 } else { 0 }) as u32
}

/// The word of two registers.
#[inline]
pub(super) const fn both(one: u32, two: u32) -> u64 {
    let (low, high) = if LITTLE { (one, two) } else { (two, one) };
    (high as u64) << 32 | low as u64
}

/// `CANCHAR_STATE_…`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Stopped,
    Active,
    Warning,
    Passive,
    BusOff,
}

impl State {
    /// A driver that says something else is not believed.
    #[inline]
    pub(super) const fn of(register: u32) -> Self {
        match register {
            1 => Self::Active,
            2 => Self::Warning,
            3 => Self::Passive,
            4 => Self::BusOff,
            _ => Self::Stopped,
        }
    }

    #[inline]
    pub(super) const fn passes(self) -> bool {
        !matches!(self, Self::Stopped | Self::BusOff)
    }
}

/// An open device.
pub(super) trait Line: Send + Sync {
    /// A word of the area; what was written before it is seen.
    fn get(&self, at: usize) -> u64;
    /// Writes a word; what was written before is seen by whoever sees it.
    fn set(&self, at: usize, word: u64);
    /// The driver takes what is new in the transmit queue; how many.
    fn ring(&self) -> Result<u64, Errno>;
    /// Which frames are received, and which classes of error frames.
    fn set_filters(&self, filters: &[RawFilter], errors: u32) -> Result<(), Errno>;
    /// Is its controller still there?
    fn is_there(&self) -> bool;
    /// To be polled.
    fn fd(&self) -> RawFd;
}

impl Line for Device {
    #[inline]
    fn get(&self, at: usize) -> u64 {
        Self::get(self, at)
    }

    #[inline]
    fn set(&self, at: usize, word: u64) {
        Self::set(self, at, word);
    }

    #[inline]
    fn ring(&self) -> Result<u64, Errno> {
        Self::ring(self)
    }

    fn set_filters(&self, filters: &[RawFilter], errors: u32) -> Result<(), Errno> {
        let filters: Vec<_> = filters.iter().map(|f| (f.id, f.mask)).collect();
        Self::set_filters(self, &filters, errors)
    }

    fn is_there(&self) -> bool {
        self.info() != Err(Errno::NODEV)
    }

    fn fd(&self) -> RawFd {
        Self::fd(self)
    }
}
