//! One ACF message.

use super::{USER_TYPE, trail};
use crate::{DatagramFrame, FrameTrail};
use frame::{CanId, FrameRef, Header, Kind, XlFields, dlc, flags};

/// Types of messages.
const CAN: u8 = 0x01;
const CAN_BRIEF: u8 = 0x02;
const CAN_XL: u8 = 0x11;
const CAN_XL_BRIEF: u8 = 0x12;
const CAN_V2: u8 = 0x21;
const CAN_BRIEF_V2: u8 = 0x22;

/// Flags in the first word of a message, version 1.
const MTV: u32 = 1 << 13;
const RTR: u32 = 1 << 12;
const EFF: u32 = 1 << 11;
const BRS: u32 = 1 << 10;
const FDF: u32 = 1 << 9;
const ESI: u32 = 1 << 8;

/// Flags in the word of the identifier, version 2.
const BRS_V2: u32 = 1 << 31;
const FDF_V2: u32 = 1 << 30;
const ESI_V2: u32 = 1 << 29;

/// Flags in the word of the priority, XL.
const RRS_XL: u32 = 1 << 12;
const SEC_XL: u32 = 1 << 11;

/// The fields of XL's last word that a message with a whole frame has at 0: more segments follow
/// (MS), and the number of the segment. The number of the transaction stands before them.
const SEGMENT_XL: u32 = 0x1FFF;

/// The version of messages that are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MessageVersion {
    /// IEEE 1722-2016: 32 buses, no XL.
    #[default]
    V1,
    /// IEEE 1722-2025: 2048 buses, and CAN XL.
    V2,
}

impl MessageVersion {
    /// Returns the greatest number of a bus.
    #[must_use]
    pub const fn last_bus(self) -> u16 {
        match self {
            Self::V1 => 31,
            Self::V2 => 2047,
        }
    }
}

/// The content of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MessageContent<'a> {
    /// A frame of a bus, with its time stamp if it has a valid one.
    Can(u16, DatagramFrame<'a>),
    /// The trail of the frames after it.
    Trail(FrameTrail<'a>),
    /// A message of another type.
    Other,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes))
}

/// Returns the length of the first message in bytes, with its header and its padding.
pub(super) fn len(bytes: &[u8]) -> Result<usize, &'static str> {
    let first = word(bytes, 0).ok_or("a message ends early")?;
    match (first >> 16 & 0x1FF) as usize * 4 {
        0 => Err("a message without a length"),
        len if len > bytes.len() => Err("a message ends early"),
        len => Ok(len),
    }
}

/// Reads a message, of which `bytes` are exactly all.
pub(super) fn read(bytes: &[u8]) -> Result<MessageContent<'_>, &'static str> {
    const EARLY: &str = "a message ends early";
    let first = word(bytes, 0).ok_or(EARLY)?;
    let kind = (first >> 25) as u8;
    let (brief, xl, v2) = match kind {
        CAN => (false, false, false),
        CAN_BRIEF => (true, false, false),
        CAN_V2 => (false, false, true),
        CAN_BRIEF_V2 => (true, false, true),
        CAN_XL => (false, true, true),
        CAN_XL_BRIEF => (true, true, true),
        USER_TYPE => {
            let trail = trail::read(bytes)?;
            return Ok(trail.map_or(MessageContent::Other, MessageContent::Trail));
        }
        _ => return Ok(MessageContent::Other),
    };
    let fixed = if brief { 4 } else { 12 };
    let valid = !brief && first & MTV != 0;
    let stamp = valid.then(|| bytes.get(4..12)?.first_chunk()).flatten();
    let stamp = stamp.map(|stamp| u64::from_be_bytes(*stamp));
    let bus = first & if v2 { 0x7FF } else { 0x1F };
    let padding = (first >> 14 & 3) as usize;
    let id = word(bytes, fixed).ok_or(EARLY)?;
    let data = bytes.get(fixed + if xl { 12 } else { 4 }..).ok_or(EARLY)?;
    let len = data
        .len()
        .checked_sub(padding)
        .ok_or("more padding than data")?;
    let data = &data[..len];
    let header = if xl {
        if word(bytes, fixed + 8).ok_or(EARLY)? & SEGMENT_XL != 0 {
            return Err("a segment of an XL frame");
        }
        xl_header(id, word(bytes, fixed + 4).ok_or(EARLY)?, len)?
    } else {
        let (fdf, brs, esi) = match v2 {
            true => (id & FDF_V2, id & BRS_V2, id & ESI_V2),
            false => (first & FDF, first & BRS, first & ESI),
        };
        let (rtr, eff) = (first & RTR != 0, first & EFF != 0);
        let bits = [rtr, eff, fdf != 0, brs != 0, esi != 0];
        can_header(id, bits, len)?
    };
    let frame = FrameRef::new(header, data).map_err(|_| EARLY)?;
    Ok(MessageContent::Can(
        bus as u16,
        DatagramFrame {
            stamp,
            ..frame.into()
        },
    ))
}

fn can_header(
    id: u32,
    [rtr, eff, fdf, brs, esi]: [bool; 5],
    len: usize,
) -> Result<Header, &'static str> {
    let number = id & CanId::EFF_MASK;
    let id = if eff {
        CanId::eff(number)
    } else {
        CanId::sff(number)
    };
    let id = id.map_err(|_| "a standard identifier above 7FF")?;
    let (kind, id) = match (fdf, rtr) {
        (false, false) => (Kind::Classic, id),
        (false, true) => (Kind::Classic, id.with_rtr()),
        (true, false) => (Kind::Fd, id),
        (true, true) => return Err("a remote FD frame"),
    };
    if fdf && (len > dlc::FD_MAX || dlc::fd_padded(len) != len) {
        return Err("a length that FD frames do not have");
    }
    let header = Header::new(kind, id, len).map_err(|_| "a classic frame of more than 8 bytes")?;
    let bits = if brs { flags::BRS } else { 0 } | if esi { flags::ESI } else { 0 };
    Ok(header.with_flags(bits))
}

fn xl_header(first: u32, af: u32, len: usize) -> Result<Header, &'static str> {
    let priority = CanId::from_raw(first & CanId::SFF_MASK);
    let header =
        Header::new(Kind::Xl, priority, len).map_err(|_| "a length that XL frames do not have")?;
    let bits = if first & SEC_XL != 0 {
        flags::XL_SEC
    } else {
        0
    } | if first & RRS_XL != 0 {
        flags::XL_RRS
    } else {
        0
    };
    Ok(header.with_flags(bits).with_xl(XlFields {
        vcid: (first >> 24) as u8,
        sdt: (first >> 16) as u8,
        af,
    }))
}

/// Returns the length of a message with this frame, in bytes.
pub(super) fn size(frame: &FrameRef<'_>, brief: bool) -> usize {
    frame_size(frame.kind(), frame.len(), brief)
}

/// Returns the length of a message with a frame of this kind and this many payload bytes, in bytes.
#[must_use]
pub fn frame_size(kind: Kind, len: usize, brief: bool) -> usize {
    let header = if kind == Kind::Xl { 16 } else { 8 };
    let stamp = if brief { 0 } else { 8 };
    header + stamp + len.next_multiple_of(4)
}

/// Appends a message. `stamp`: the time of the frame, ns; `None` for a brief message.
pub(super) fn write(
    frame: &FrameRef<'_>,
    version: MessageVersion,
    bus: u16,
    stamp: Option<u64>,
    out: &mut Vec<u8>,
) {
    let (id, header) = (frame.id(), frame.header());
    let (xl, v2) = (frame.kind() == Kind::Xl, version == MessageVersion::V2);
    let len = size(frame, stamp.is_none());
    let kind = match (xl, v2, stamp.is_some()) {
        (true, _, true) => CAN_XL,
        (true, _, false) => CAN_XL_BRIEF,
        (false, true, true) => CAN_V2,
        (false, true, false) => CAN_BRIEF_V2,
        (false, false, true) => CAN,
        (false, false, false) => CAN_BRIEF,
    };
    let when = |condition: bool, bit: u32| if condition { bit } else { 0 };
    let padding = frame.len().next_multiple_of(4) - frame.len();
    let fd = frame.kind() == Kind::Fd;
    let mut first = u32::from(kind) << 25 | (len as u32 / 4) << 16 | (padding as u32) << 14;
    first |= when(stamp.is_some(), MTV) | u32::from(bus);
    if !xl {
        first |= when(header.is_rtr(), RTR) | when(id.is_eff(), EFF);
        if !v2 {
            first |= when(fd, FDF) | when(header.is_brs(), BRS) | when(header.is_esi(), ESI);
        }
    }
    out.extend(first.to_be_bytes());
    if let Some(stamp) = stamp {
        out.extend(stamp.to_be_bytes());
    }
    if xl {
        let fields = header.xl();
        let second = u32::from(fields.vcid) << 24
            | u32::from(fields.sdt) << 16
            | when(header.flags() & flags::XL_RRS != 0, RRS_XL)
            | when(header.flags() & flags::XL_SEC != 0, SEC_XL)
            | id.raw() & CanId::SFF_MASK;
        out.extend(second.to_be_bytes());
        out.extend(fields.af.to_be_bytes());
        // Not segmented.
        out.extend([0; 4]);
    } else {
        let mut second = id.number();
        if v2 {
            second |=
                when(fd, FDF_V2) | when(header.is_brs(), BRS_V2) | when(header.is_esi(), ESI_V2);
        }
        out.extend(second.to_be_bytes());
    }
    let end = out.len() + frame.len().next_multiple_of(4);
    out.extend_from_slice(frame.data());
    out.resize(end, 0);
}
