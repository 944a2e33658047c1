//! The objects that are frames.

use super::LE;
use super::kinds::ObjectKind;
use crate::bad::LogFault;
use crate::draft::{FrameDraft, id};
use crate::name::InterfaceName;
use crate::read::ParsedFrame;
use frame::text::Direction;
use frame::{FrameBuf, Nanos, dlc};

/// The bit of an ID that makes it an extended one.
const EXTENDED: u32 = 0x8000_0000;

/// `BL_OBJ_FLAG_TIME_TEN_MICS`: the time stamp counts 10 µs; otherwise it counts ns.
const TEN_MICROSECONDS: u32 = 1;

/// Of a classic frame's flags: sent, remote.
const SENT: u8 = 0x01;
const REMOTE: u8 = 0x80;

/// Size in bytes of `CAN_FD_MESSAGE_64` before its payload.
const FD_64: usize = 40;

const SHORT: LogFault = LogFault::Said("an object that is too short for its type");
const ID: LogFault = LogFault::Said("an ID that is too large for its format");
const DLC: LogFault = LogFault::Said("a DLC above 15");
const LENGTH: LogFault = LogFault::Said("fewer bytes than its DLC states");

/// The result for an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ObjectEvent {
    Frame(ParsedFrame),
    /// The recorder lost this number of events here.
    Lost(u64),
    /// An event that is known not to be a frame.
    Other,
}

/// The fields of a frame's object.
struct FrameFields {
    channel: u32,
    direction: Option<Direction>,
    draft: FrameDraft,
}

/// Reads a whole object into `frame`. `start` is the time at which the measurement began.
pub(super) fn read(
    kind: ObjectKind,
    object: &[u8],
    header_size: usize,
    start: Nanos,
    frame: &mut FrameBuf,
) -> Result<ObjectEvent, LogFault> {
    let body = object.get(header_size..).ok_or(SHORT)?;
    if kind == ObjectKind::DataLost {
        let events = LE.u32(body, 12).ok_or(SHORT)?;
        return Ok(ObjectEvent::Lost(events.into()));
    }
    // All versions of the header have these two at the same place.
    let (flags, stamp) = LE.u32(object, 16).zip(LE.u64(object, 24)).ok_or(SHORT)?;
    let unit = match flags & TEN_MICROSECONDS {
        0 => 1,
        _ => 10_000,
    };
    let ns = stamp.checked_mul(unit).and_then(|ns| ns.checked_add(start));
    let ns = ns.ok_or(LogFault::Said("a time after 2554"))?;
    let fields = match kind {
        ObjectKind::Classic => classic(body)?,
        ObjectKind::Fd => fd(body)?,
        ObjectKind::Fd64 => match fd_64(object, header_size)? {
            Some(fields) => fields,
            None => return Ok(ObjectEvent::Other),
        },
        ObjectKind::Error => error(LE.u16(body, 0).map(u32::from))?,
        ObjectKind::FdError64 => error(body.first().copied().map(u32::from))?,
        ObjectKind::DataLost | ObjectKind::Other => return Ok(ObjectEvent::Other),
    };
    fields.draft.put(frame)?;
    let name = InterfaceName::of_channel(fields.channel);
    let got = ParsedFrame::new(ns, fields.direction, name);
    Ok(ObjectEvent::Frame(got))
}

/// Reads `CAN_MESSAGE` and `CAN_MESSAGE2`.
fn classic(body: &[u8]) -> Result<FrameFields, LogFault> {
    let channel = LE.u16(body, 0).ok_or(SHORT)?;
    let flags = *body.get(2).ok_or(SHORT)?;
    let draft = draft(LE.u32(body, 4))?.with_dlc(byte(body, 3)?.into());
    let mut draft = draft.ok_or(DLC)?;
    if flags & REMOTE != 0 {
        draft.id = draft.id.with_rtr();
    } else {
        let data = body.get(8..).and_then(|data| data.get(..draft.len));
        draft.payload()?.copy_from_slice(data.ok_or(SHORT)?);
    }
    Ok(FrameFields {
        channel: channel.into(),
        direction: Some(direction(flags & SENT != 0)),
        draft,
    })
}

/// Reads `CAN_FD_MESSAGE`.
fn fd(body: &[u8]) -> Result<FrameFields, LogFault> {
    const FDF: u8 = 0x1;
    let channel = LE.u16(body, 0).ok_or(SHORT)?;
    let (flags, fd_flags) = (byte(body, 2)?, byte(body, 13)?);
    let mut draft = draft(LE.u32(body, 4))?;
    if fd_flags & FDF != 0 {
        draft = draft.fd(fd_flags & 0x2 != 0, fd_flags & 0x4 != 0);
    }
    let stated = usize::from(byte(body, 14)?);
    let data = body.get(20..).unwrap_or_default();
    if data.len() < stated {
        return Err(SHORT);
    }
    let remote = flags & REMOTE != 0;
    Ok(FrameFields {
        channel: channel.into(),
        direction: Some(direction(flags & SENT != 0)),
        draft: with_data(draft, byte(body, 3)?, remote, stated, data)?,
    })
}

/// Reads `CAN_FD_MESSAGE_64`; `None` where it is only a request to send.
fn fd_64(object: &[u8], header_size: usize) -> Result<Option<FrameFields>, LogFault> {
    const REMOTE: u32 = 0x0010;
    const FDF: u32 = 0x1000;
    let body = object.get(header_size..).ok_or(SHORT)?;
    let flags = LE.u32(body, 12).ok_or(SHORT)?;
    let direction = match byte(body, 34)? {
        0 => Direction::Received,
        1 => Direction::Sent,
        2 => return Ok(None),
        other => return Err(LogFault::Unknown("a direction", other.into())),
    };
    // Further data can follow the payload; their place counts from the object's first byte.
    let end = match usize::from(byte(body, 35)?) {
        0 => object.len(),
        end => end.min(object.len()),
    };
    let data = object.get(header_size + FD_64..end).unwrap_or_default();
    let mut draft = draft(LE.u32(body, 4))?;
    if flags & FDF != 0 {
        draft = draft.fd(flags & 0x2000 != 0, flags & 0x4000 != 0);
    }
    let (dlc, stated) = (byte(body, 1)?, usize::from(byte(body, 2)?));
    Ok(Some(FrameFields {
        channel: byte(body, 0)?.into(),
        direction: Some(direction),
        draft: with_data(draft, dlc, flags & REMOTE != 0, stated, data)?,
    }))
}

/// Adds the payload. `stated`: the number of bytes that the object states. Where the object itself
/// is shorter, Vector's programs read zeros.
fn with_data(
    mut draft: FrameDraft,
    dlc: u8,
    remote: bool,
    stated: usize,
    data: &[u8],
) -> Result<FrameDraft, LogFault> {
    if draft.kind == frame::Kind::Fd {
        let valid = Some(dlc).filter(|dlc| *dlc <= 15).ok_or(DLC)?;
        draft.len = usize::from(dlc::fd_len(valid));
    } else {
        draft = draft.with_dlc(dlc.into()).ok_or(DLC)?;
        if remote {
            draft.id = draft.id.with_rtr();
            return Ok(draft);
        }
    }
    let payload = draft.payload()?;
    if stated < payload.len() {
        return Err(LENGTH);
    }
    for (place, byte) in payload.iter_mut().zip(data) {
        *place = *byte;
    }
    Ok(draft)
}

fn error(channel: Option<u32>) -> Result<FrameFields, LogFault> {
    Ok(FrameFields {
        channel: channel.ok_or(SHORT)?,
        direction: None,
        draft: FrameDraft::error(),
    })
}

fn draft(raw: Option<u32>) -> Result<FrameDraft, LogFault> {
    let raw = raw.ok_or(SHORT)?;
    let id = id(raw & !EXTENDED, raw & EXTENDED != 0).ok_or(ID)?;
    Ok(FrameDraft::new(id))
}

const fn direction(sent: bool) -> Direction {
    if sent {
        Direction::Sent
    } else {
        Direction::Received
    }
}

fn byte(bytes: &[u8], at: usize) -> Result<u8, LogFault> {
    bytes.get(at).copied().ok_or(SHORT)
}
