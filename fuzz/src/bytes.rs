//! Numbers from fuzz input, for targets that run a sequence of operations.

use frame::{CanId, Frame};

/// A reader of numbers; after the end it returns zeros.
#[derive(Clone, Debug)]
pub struct ByteSource<'a> {
    rest: &'a [u8],
}

impl<'a> ByteSource<'a> {
    /// Creates a reader from the first byte on.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns whether no byte is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the bytes that are left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        *first
    }

    /// Returns the next two bytes.
    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Returns the next four bytes.
    pub fn word(&mut self) -> u32 {
        u32::from(self.short()) | u32::from(self.short()) << 16
    }

    /// Returns a number below `end`, which must not be zero.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    /// Returns a frame of any kind except XL and error frames; with few IDs, so that some are
    /// equal.
    pub fn frame(&mut self) -> Frame {
        let shape = self.byte();
        let id = match shape & 1 {
            0 => CanId::sff(u32::from(self.short()) & CanId::SFF_MASK),
            _ => CanId::eff(self.word() & CanId::EFF_MASK),
        }
        .expect("the mask keeps it in range");
        let mut data = [0; 64];
        let fd = shape & 2 != 0;
        let len = usize::from(self.byte()) % if fd { 65 } else { 9 };
        for byte in data.iter_mut().take(len) {
            *byte = self.byte();
        }
        let data = &data[..len];
        if fd {
            Frame::fd(id, shape >> 2 & 3, data)
        } else if shape & 4 != 0 {
            Frame::remote(id, len)
        } else {
            Frame::classic(id, data).map(|frame| frame.with_len8_dlc(shape >> 4))
        }
        .expect("the length fits")
    }
}
