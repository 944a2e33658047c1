//! pcap and pcapng, with the link types that carry CAN frames.

pub(crate) mod classic;
mod indices;
pub(crate) mod link;
pub(crate) mod ng;

use crate::bad::LogFault;
use crate::loss::FrameLoss;
use crate::text::ParsedFrame;

/// The byte order of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
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

/// The result for the first bytes of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeadVerdict {
    /// It is another format.
    Other,
    /// It is this format if more bytes follow.
    More,
    /// It is this format.
    Yes,
}

/// The element at the beginning of the input that was not read yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextBlock {
    /// The element is not complete.
    More,
    /// Not a frame; with its number of bytes, which may not have been read yet.
    Other(u64),
    /// The same, and it states that frames are missing.
    Lossy(u64, FrameLoss),
    /// A frame, with its number of bytes.
    Frame(usize, ParsedFrame),
    /// A mistake, with its number of bytes.
    Bad(u64, LogFault),
    /// The beginning of the next block cannot be determined.
    Lost(LogFault),
}
