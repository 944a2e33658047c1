//! A frame in a datagram or a stream.

use frame::{CanId, FrameRef, Header, Kind, dlc, flags};

/// Length of a frame's fixed part, bytes: identifier and length.
const FIXED: usize = 5;

/// The bit of the length that marks an FD frame.
const FD: u8 = 0x80;

/// Length of the longest frame, bytes.
pub(super) const LONGEST: usize = FIXED + 1 + dlc::FD_MAX;

/// The result of reading the first frame of some bytes.
pub(super) enum EntryRead<'a> {
    /// The frame, and its length in bytes.
    Frame(FrameRef<'a>, usize),
    /// The bytes end within the frame.
    Short,
    /// It is not a valid frame.
    Wrong(&'static str),
}

/// Reads the first frame of these bytes.
pub(super) fn read(bytes: &[u8]) -> EntryRead<'_> {
    let Some((&[a, b, c, d, len], rest)) = bytes.split_first_chunk::<FIXED>() else {
        return EntryRead::Short;
    };
    let id = CanId::from_raw(u32::from_be_bytes([a, b, c, d]));
    if id.is_err() {
        return EntryRead::Wrong("an error frame");
    }
    let flag_bits = CanId::EFF_FLAG | CanId::RTR_FLAG;
    if id.raw() & !flag_bits != id.number() {
        return EntryRead::Wrong("a standard identifier above 7FF");
    }
    if len & FD == 0 {
        let Ok(header) = Header::new(Kind::Classic, id, usize::from(len)) else {
            return EntryRead::Wrong("a classic frame of more than 8 bytes");
        };
        return match FrameRef::new(header, rest) {
            Ok(frame) => EntryRead::Frame(frame, FIXED + header.data_len()),
            Err(_) => EntryRead::Short,
        };
    }
    let len = usize::from(len & !FD);
    if id.is_rtr() {
        return EntryRead::Wrong("a remote FD frame");
    }
    if len > dlc::FD_MAX || dlc::fd_padded(len) != len {
        return EntryRead::Wrong("a length that FD frames do not have");
    }
    let Some((&bits, data)) = rest.split_first() else {
        return EntryRead::Short;
    };
    // Kernels since 6.1 set FDF in the flags, and cannelloni sends them as they are.
    if bits & !(flags::BRS | flags::ESI | flags::FDF) != 0 {
        return EntryRead::Wrong("unknown flags of an FD frame");
    }
    let Ok(header) = Header::new(Kind::Fd, id, len) else {
        return EntryRead::Wrong("a length that FD frames do not have");
    };
    match FrameRef::new(header.with_flags(bits), data) {
        Ok(frame) => EntryRead::Frame(frame, FIXED + 1 + len),
        Err(_) => EntryRead::Short,
    }
}

/// Returns the length of a frame in bytes.
pub(super) fn size(frame: &FrameRef<'_>) -> usize {
    frame_size(frame.kind(), frame.data().len())
}

/// Returns the length of a frame of this kind and this many payload bytes, in bytes.
#[must_use]
pub fn frame_size(kind: Kind, len: usize) -> usize {
    FIXED + usize::from(kind == Kind::Fd) + len
}

/// Appends a frame that the protocol [can express](super::carries).
pub(super) fn write(frame: &FrameRef<'_>, out: &mut Vec<u8>) {
    let id = frame.id();
    let fd = frame.kind() == Kind::Fd;
    let flag_bits = id.raw() & (CanId::EFF_FLAG | CanId::RTR_FLAG);
    out.extend((id.number() | flag_bits).to_be_bytes());
    out.push(frame.len() as u8 | if fd { FD } else { 0 });
    if fd {
        out.push(frame.header().flags() & (flags::BRS | flags::ESI) | flags::FDF);
    }
    out.extend_from_slice(frame.data());
}
