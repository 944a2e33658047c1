//! The layout of parts.
//!
//! Byte 0 of each part has the number of the FD frame (its sequence number) in the upper four
//! bits and the number of the part in the lower four. Byte 1 of part 0 has the DLC of the FD frame
//! in the lower four bits, BRS in bit 4 and ESI in bit 5. The payload follows: up to 6 bytes in
//! part 0, up to 7 in the others. An FD frame has at most ten parts.

use frame::{CanId, Frame, FrameRef, Header, Kind, dlc, flags};

/// The most parts of an FD frame.
pub(super) const MOST_PARTS: usize = 10;
/// The number of sequence numbers.
const SEQUENCES: u8 = 16;
/// The bytes of payload in part 0, and in the others.
const IN_FIRST: usize = 6;
const IN_NEXT: usize = 7;
/// Flags in byte 1 of part 0.
const BRS: u8 = 1 << 4;
const ESI: u8 = 1 << 5;

/// A part as its frame has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FramePart<'a> {
    /// The number of the FD frame, 0 to 15.
    pub(super) sequence: u8,
    pub(super) content: PartContent<'a>,
}

/// The content of a part behind its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PartContent<'a> {
    /// Part 0.
    First {
        /// The length of the FD frame's payload.
        len: usize,
        /// Its flags, as in a [`Header`].
        flags: u8,
        payload: &'a [u8],
    },
    /// A part with this number, above 0.
    Next { number: usize, payload: &'a [u8] },
}

/// Returns the number of parts of an FD frame with this length.
pub(super) const fn part_count(len: usize) -> usize {
    1 + len.saturating_sub(IN_FIRST).div_ceil(IN_NEXT)
}

/// Returns the bytes of the payload that a part of an FD frame has: the first one, and the one
/// behind the last.
pub(super) const fn bytes_of(number: usize, len: usize) -> (usize, usize) {
    let (first, room) = match number {
        0 => (0, IN_FIRST),
        _ => (IN_FIRST + (number - 1) * IN_NEXT, IN_NEXT),
    };
    let end = first + room;
    (first, if end < len { end } else { len })
}

/// Returns the length of each part of an FD frame with this length. A length that is none of FD's
/// counts as the next one.
pub fn part_lens(len: usize) -> impl Iterator<Item = usize> {
    let len = dlc::fd_padded(len);
    (0..part_count(len)).map(move |number| {
        let (first, end) = bytes_of(number, len);
        let numbers = if number == 0 { 2 } else { 1 };
        numbers + end - first
    })
}

impl<'a> FramePart<'a> {
    /// Returns the part that a classic frame is; `None` if it is not one.
    pub(super) fn read(data: &'a [u8]) -> Option<Self> {
        let (numbers, rest) = data.split_first()?;
        let (sequence, number) = (numbers >> 4, usize::from(numbers & 0xF));
        let content = if number == 0 {
            let (about, payload) = rest.split_first()?;
            if about & !(0xF | BRS | ESI) != 0 {
                return None;
            }
            let mut flags = if about & BRS == 0 { 0 } else { flags::BRS };
            if about & ESI != 0 {
                flags |= flags::ESI;
            }
            PartContent::First {
                len: dlc::fd_len(about & 0xF).into(),
                flags,
                payload,
            }
        } else {
            PartContent::Next {
                number,
                payload: rest,
            }
        };
        Some(Self { sequence, content })
    }
}

/// Returns the next sequence number.
pub(super) const fn next_sequence(sequence: u8) -> u8 {
    (sequence + 1) % SEQUENCES
}

/// Hands over the parts of an FD frame. A length that is none of FD's is filled up with zeros, as a
/// controller does it.
pub(super) fn split(whole: FrameRef<'_>, id: CanId, sequence: u8, take: &mut dyn FnMut(Frame)) {
    let (header, data) = (whole.header(), whole.data());
    let len = dlc::fd_padded(header.len());
    let mut about = dlc::fd_dlc(len);
    if header.is_brs() {
        about |= BRS;
    }
    if header.is_esi() {
        about |= ESI;
    }
    for number in 0..part_count(len) {
        let (first, end) = bytes_of(number, len);
        // A part has at most eight bytes, and at most ten parts have numbers below 16.
        let mut part = [0; 8];
        let mut at = 0;
        let mut push = |byte| {
            if let Some(place) = part.get_mut(at) {
                *place = byte;
                at += 1;
            }
        };
        push(sequence << 4 | number as u8);
        if number == 0 {
            push(about);
        }
        for index in first..end {
            push(data.get(index).copied().unwrap_or(0));
        }
        if let Ok(frame) = Frame::classic(id, part.get(..at).unwrap_or_default()) {
            take(frame);
        }
    }
}

/// Returns the header of the FD frame that parts make.
pub(super) fn whole_header(id: CanId, len: usize, flags: u8) -> Option<Header> {
    let header = Header::new(Kind::Fd, id, len).ok()?;
    Some(header.with_flags(flags))
}
