//! The changes that a program in the kernel makes to a frame, as a few instructions.
//!
//! These instructions are all that cangate's BPF program can do. Each operation either expresses
//! itself in them or returns an error. The crate that loads the program encodes the instructions
//! and does not know the operations.

pub use super::checksum::ByteIndices;
pub use super::field_word::{FieldWord, SignalWrite};
use alloc::{boxed::Box, vec::Vec};

/// `(x & and) ^ xor` on one byte. Every sequence of AND, OR, XOR and SET has this form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteMask {
    /// Bits that are kept.
    pub and: u8,
    /// Bits that are inverted after that.
    pub xor: u8,
}

impl ByteMask {
    /// Leaves the byte as it is.
    pub const SAME: Self = Self { and: 0xFF, xor: 0 };

    /// Returns the mask that applies this one, then the other.
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
pub struct PartMasks {
    /// SocketCAN's 32 bits, lowest byte first.
    pub id: [ByteMask; 4],
    /// The length; for a classic frame, its raw DLC.
    pub len: ByteMask,
    /// An operation sets the length: then a classic frame's raw DLC is recomputed.
    pub has_len: bool,
    /// The flags of an FD frame.
    pub flags: ByteMask,
    /// The payload from byte 0, up to the size of an FD frame's buffer.
    pub data: [ByteMask; 64],
    /// The number of payload bytes that a frame must have; others are stopped as
    /// [`Absent`](crate::StopReason::Absent).
    pub need: u16,
}

impl PartMasks {
    /// Masks that leave a frame as it is.
    pub const NONE: Self = Self {
        id: [ByteMask::SAME; 4],
        len: ByteMask::SAME,
        has_len: false,
        flags: ByteMask::SAME,
        data: [ByteMask::SAME; 64],
        need: 0,
    };

    /// Returns whether masks that follow these can be merged into them.
    const fn can_take(&self, next: &Self) -> bool {
        // What the next masks need is compared with the length that these make.
        next.need <= self.need || !self.has_len
    }

    /// Makes these masks apply themselves, then the others.
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
        self.need = self.need.max(next.need);
    }
}

/// The additional input of a CRC8 after the bytes of the range.
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

/// One step of the program. If an ID does not fit its frame format, or a length does not fit, the
/// route is stopped as in user space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BpfInstruction {
    /// Masks over all parts of a frame.
    Masks(Box<PartMasks>),
    /// Adds to the number of the ID.
    OffsetId(i64),
    /// Moves a block of IDs.
    MapId {
        /// First number of the block.
        from: u32,
        /// First number of the destination block.
        to: u32,
        /// Number of IDs.
        count: u32,
        /// The new frame format: EFF, SFF, or `None` for the frame's own.
        eff: Option<bool>,
    },
    /// Copies payload bytes; ranges may overlap.
    Copy {
        /// First byte to read.
        from: u16,
        /// First byte to write.
        to: u16,
        /// Number of bytes.
        count: u16,
        /// Write zeros to the bytes that were read.
        clear: bool,
    },
    /// A CRC8 that is computed by table.
    Crc8 {
        /// The positions of its bytes.
        at: ByteIndices,
        /// Start value.
        init: u8,
        /// Value that is XORed into the result.
        final_xor: u8,
        /// The new sum for each XOR of a sum and a byte.
        table: Box<[u8; 256]>,
        /// The additional input after the bytes.
        more: OneMore,
    },
    /// The XOR of the bytes.
    XorSum {
        /// The positions of its bytes.
        at: ByteIndices,
        /// Start value.
        init: u8,
    },
    /// Writes the value of a signal to another one.
    WriteSignal(Box<SignalWrite>),
}

/// The changes that a route makes to a frame, in the order in which they are made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BpfProgram(Vec<BpfInstruction>);

impl BpfProgram {
    /// Adds an instruction. Masks that directly follow masks are merged into them.
    pub fn push(&mut self, next: BpfInstruction) {
        match (self.0.last_mut(), next) {
            (Some(BpfInstruction::Masks(last)), BpfInstruction::Masks(next))
                if last.can_take(&next) =>
            {
                last.then(&next);
            }
            (_, next) => self.0.push(next),
        }
    }

    /// Returns the instructions.
    #[must_use]
    pub fn instructions(&self) -> &[BpfInstruction] {
        &self.0
    }
}
