//! What a program in the kernel has to do to a frame, in a few instructions.
//!
//! These are all that cangate's BPF program can do. An operation says itself in them, or that it
//! cannot; the crate that loads the program encodes them, and knows no operation.

pub use super::checksum::Indices;
use alloc::{boxed::Box, vec::Vec};

/// `(x & and) ^ xor` on one byte. Every sequence of AND, OR, XOR and SET is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteMask {
    /// Bits that stay.
    pub and: u8,
    /// Bits that turn, after that.
    pub xor: u8,
}

impl ByteMask {
    /// Leaves the byte as it is.
    pub const SAME: Self = Self { and: 0xFF, xor: 0 };

    /// This, then the other.
    #[must_use]
    pub const fn then(self, next: Self) -> Self {
        Self {
            and: self.and & next.and,
            xor: (self.xor & next.and) ^ next.xor,
        }
    }
}

/// Masks for the parts of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Masks {
    /// SocketCAN's 32 bits, lowest byte first.
    pub id: [ByteMask; 4],
    /// The length; of a classic frame its raw DLC.
    pub len: ByteMask,
    /// The length is named at all: then a classic frame's raw DLC is made anew.
    pub has_len: bool,
    /// The flags of an FD frame.
    pub flags: ByteMask,
    /// The payload from byte 0, as far as an FD frame's buffer goes.
    pub data: [ByteMask; 64],
}

impl Masks {
    /// Leaves a frame as it is.
    pub const NONE: Self = Self {
        id: [ByteMask::SAME; 4],
        len: ByteMask::SAME,
        has_len: false,
        flags: ByteMask::SAME,
        data: [ByteMask::SAME; 64],
    };

    /// These, then the others.
    fn then(&mut self, next: &Self) {
        let join = |masks: &mut [ByteMask], next: &[ByteMask]| {
            for (mask, next) in masks.iter_mut().zip(next) {
                *mask = mask.then(*next);
            }
        };
        join(&mut self.id, &next.id);
        join(&mut self.data, &next.data);
        self.len = self.len.then(next.len);
        self.flags = self.flags.then(next.flags);
        self.has_len |= next.has_len;
    }
}

/// What a CRC8 takes after the bytes of the sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OneMore {
    /// Nothing.
    None,
    /// This byte.
    Byte(u8),
    /// One of these, chosen by the low four bits of payload byte 1.
    OfSixteen([u8; 16]),
    /// The XOR of the ID's lowest byte and the next one.
    OfId,
}

/// One thing that the program does. What an ID becomes that does not fit its frame format, and a
/// length that does not fit, stop the route as in user space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instruction {
    /// Masks over all parts of a frame.
    Masks(Box<Masks>),
    /// Adds to the ID's number.
    OffsetId(i64),
    /// Moves a block of IDs.
    MapId {
        /// First number of the block.
        from: u32,
        /// What it becomes.
        to: u32,
        /// How many.
        count: u32,
        /// The new frame format: EFF, SFF, or the frame's.
        eff: Option<bool>,
    },
    /// Copies payload bytes; ranges may overlap.
    Copy {
        /// First byte to read.
        from: u16,
        /// First byte to write.
        to: u16,
        /// How many bytes.
        count: u16,
        /// Zeros where the bytes came from.
        clear: bool,
    },
    /// A checksum by a table.
    Crc8 {
        /// Where its bytes are.
        at: Indices,
        /// Start value.
        init: u8,
        /// XORed into the result.
        final_xor: u8,
        /// What a sum and a byte, XORed, give.
        table: Box<[u8; 256]>,
        /// What is added after the bytes.
        more: OneMore,
    },
    /// The XOR of bytes.
    XorSum {
        /// Where its bytes are.
        at: Indices,
        /// Start value.
        init: u8,
    },
}

/// What a route does to a frame, in the order in which it is done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program(Vec<Instruction>);

impl Program {
    /// Adds an instruction. Masks that follow masks become one with them.
    pub fn push(&mut self, next: Instruction) {
        match (self.0.last_mut(), next) {
            (Some(Instruction::Masks(last)), Instruction::Masks(next)) => last.then(&next),
            (_, next) => self.0.push(next),
        }
    }

    /// What is done.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }
}
