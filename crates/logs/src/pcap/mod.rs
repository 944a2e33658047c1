//! pcap and pcapng, with the link types that carry CAN frames.

pub(crate) mod classic;
mod indices;
pub(crate) mod link;
pub(crate) mod ng;

use crate::bad::Fault;
use crate::loss::Loss;
use crate::text::Got;

/// The byte order of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Little,
    Big,
}

impl Order {
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        })
    }

    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        })
    }

    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let bytes = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        })
    }
}

/// What stands at the beginning of what was not read yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Block {
    /// Not all of it is there.
    More,
    /// Nothing that is a frame, of so many bytes, which need not be there yet.
    Other(u64),
    /// The same, and it says that frames are missing.
    Lossy(u64, Loss),
    /// A frame, of so many bytes.
    Frame(usize, Got),
    /// Something wrong, of so many bytes.
    Bad(u64, Fault),
    /// It cannot be said where the next block begins.
    Lost(Fault),
}
