//! Signals as a program in the kernel reads and writes them: in words of eight bytes.

use alloc::format;
use alloc::string::String;
use signals::{ByteOrder, LinearMap, OutOfRange, SignalField};

/// The longest payload of FD.
pub(crate) const LONGEST: usize = frame::dlc::FD_MAX;

/// The place of a signal in one word of eight bytes, which is in the buffer of each frame that
/// contains the signal: 8 bytes for classic frames, 64 for FD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldWord {
    /// The index of the word's first byte, 0 to 56.
    pub at: u8,
    /// The number of bits below the signal.
    pub shift: u8,
    /// The number of bits.
    pub bits: u8,
    /// The first byte of the word is the most significant one.
    pub is_motorola: bool,
}

impl FieldWord {
    /// Returns the place of a signal in the first 64 bytes.
    ///
    /// # Errors
    /// The reason why BPF cannot use the signal.
    pub fn of(field: &SignalField) -> Result<Self, String> {
        if field.needs_ninth_byte() {
            return Err("a signal is spread over nine bytes, and BPF uses eight at once".into());
        }
        if field.end() > LONGEST {
            return Err(format!("a signal ends behind {LONGEST} bytes"));
        }
        let at = match field.end() {
            0..=8 => 0,
            _ => field.base().min(LONGEST - 8),
        };
        // A word that begins earlier contains the signal further from its beginning.
        let earlier = 8 * (field.base() - at) as u32;
        let (is_motorola, shift) = match field.order() {
            ByteOrder::Intel => (false, field.shift() + earlier),
            ByteOrder::Motorola => (true, field.shift() - earlier),
        };
        Ok(Self {
            at: at as u8,
            shift: shift as u8,
            bits: field.bits() as u8,
            is_motorola,
        })
    }
}

/// A copy of one signal to another one, in numbers of 64 bits with sign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignalWrite {
    /// The number of payload bytes that a frame must have; others are stopped as
    /// [`Absent`](crate::StopReason::Absent).
    pub need: u16,
    /// The signal that is read.
    pub from: FieldWord,
    /// Whether its value is signed.
    pub is_signed: bool,
    /// The map of its value. No value of the signal overflows in it.
    pub map: LinearMap,
    /// The lowest value that is written as it is.
    pub lowest: i64,
    /// The highest value that is written as it is.
    pub highest: i64,
    /// The treatment of other values. A frame that is dropped is stopped as
    /// [`OutOfRange`](crate::StopReason::OutOfRange).
    pub outside: OutOfRange,
    /// The signal that is written.
    pub to: FieldWord,
}
