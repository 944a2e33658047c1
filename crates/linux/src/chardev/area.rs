//! The mapped area of an open file, word by word (`struct canchar_area`).

use super::{SLOT, SLOTS};
use frame::ErrorState;

/// Byte offsets. Each is that of a word of 64 bits; most words have two registers of 32.
pub mod at {
    /// `version`, `rx_head`.
    pub const RX_HEAD: usize = 0;
    /// `rx_lost`, `tx_taken`.
    pub const RX_LOST: usize = 8;
    /// `tx_sent`, `tx_failed`.
    pub const TX_SENT: usize = 16;
    /// `state`, `changes`.
    pub const STATE: usize = 24;
    /// `overruns`.
    pub const OVERRUNS: usize = 32;
    /// `rx_tail`: written by the process.
    pub const RX_TAIL: usize = 64;
    /// `tx_head`: written by the process.
    pub const TX_HEAD: usize = 72;
    const TX: usize = 128;
    const RX: usize = TX + super::SLOT * super::SLOTS as usize;
    /// In a slot: `flags`, `state`.
    pub const FLAGS: usize = 8;
    /// In a slot: the frame.
    pub const FRAME: usize = 16;

    /// Returns the offset of the transmit queue's slot for this count.
    #[must_use]
    pub const fn tx(count: u32) -> usize {
        TX + super::SLOT * (count % super::SLOTS) as usize
    }

    /// Returns the offset of the receive queue's slot for this count.
    #[must_use]
    pub const fn rx(count: u32) -> usize {
        RX + super::SLOT * (count % super::SLOTS) as usize
    }
}

/// `CANCHAR_FRAME_FD`.
pub const FRAME_FD: u32 = 1;
/// `CANCHAR_FRAME_SENT`.
pub const FRAME_SENT: u32 = 2;
/// `CANCHAR_TX_PENDING`.
pub const TX_PENDING: u32 = 1;

const LITTLE: bool = cfg!(target_endian = "little");

/// Returns the register in a word's first four bytes.
#[inline]
#[must_use]
pub const fn first(word: u64) -> u32 {
    (word >> if LITTLE { 0 } else { 32 }) as u32
}

/// Returns the register in a word's last four bytes.
#[inline]
#[must_use]
pub const fn second(word: u64) -> u32 {
    (word >> if LITTLE { 32 } else { 0 }) as u32
}

/// Returns the word of two registers.
#[inline]
#[must_use]
pub const fn both(one: u32, two: u32) -> u64 {
    let (low, high) = if LITTLE { (one, two) } else { (two, one) };
    (high as u64) << 32 | low as u64
}

/// Returns the controller's state from the register at [`at::STATE`] (`CANCHAR_STATE_…`); `None`
/// while it is stopped, and for an unknown value.
#[inline]
#[must_use]
pub fn error_state(register: u32) -> Option<ErrorState> {
    ErrorState::from_number(register.checked_sub(1)?)
}

/// A mapped area; tests use one in memory.
pub trait MappedArea {
    /// Returns a word; earlier writes are visible.
    fn get(&self, at: usize) -> u64;
    /// Writes a word; a reader that sees it also sees earlier writes.
    fn set(&self, at: usize, word: u64);

    /// Returns the state of the controller; `None` while it is stopped.
    #[inline]
    fn state(&self) -> Option<ErrorState> {
        error_state(first(self.get(at::STATE)))
    }

    /// Returns whether the controller sends and receives frames.
    #[inline]
    fn is_on_bus(&self) -> bool {
        self.state().is_some_and(ErrorState::is_on_bus)
    }
}
