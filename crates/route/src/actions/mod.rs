//! What is done to a frame, one file for each action.
//!
//! A frame is changed in a [`Work`]: its payload in a buffer, ID, length and flags beside it,
//! because in between they may have values that no frame can have (can-gw checks the length
//! once, after all modifications and before the checksums).

mod copy_bytes;
mod crc8;
mod id;
mod modify;
mod xor_sum;

use crate::{Action, Stop};
use alloc::boxed::Box;
use frame::{CanId, FrameBuf, FrameRef, Header, Kind};

/// A compiled [`Action`].
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Modify(modify::Modify),
    OffsetId(i64),
    MapId(id::Map),
    CopyBytes(copy_bytes::CopyBytes),
    Crc8(Box<crate::Crc8>),
    XorSum(crate::XorSum),
}

impl Op {
    pub(crate) fn new(action: &Action) -> Self {
        match action {
            Action::Modify(modify) => Self::Modify(modify::Modify::new(modify)),
            Action::OffsetId { by } => Self::OffsetId(*by),
            Action::MapId {
                from,
                to,
                count,
                eff,
            } => Self::MapId(id::Map {
                from: *from,
                to: *to,
                count: *count,
                eff: *eff,
            }),
            Action::CopyBytes {
                from,
                to,
                count,
                clear,
            } => Self::CopyBytes(copy_bytes::CopyBytes {
                from: *from,
                to: *to,
                count: *count,
                clear: *clear,
            }),
            Action::Crc8(crc8) => Self::Crc8(Box::new(crc8.clone())),
            Action::XorSum(sum) => Self::XorSum(*sum),
        }
    }
}

impl Op {
    /// Leaves the payload alone?
    pub(crate) fn is_header_only(&self) -> bool {
        match self {
            Self::Modify(modify) => modify.is_header_only(),
            Self::OffsetId(_) | Self::MapId(_) => true,
            Self::CopyBytes(_) | Self::Crc8(_) | Self::XorSum(_) => false,
        }
    }
}

/// A frame while it is changed.
struct Work<'a> {
    kind: Kind,
    /// SocketCAN's 32 bits.
    raw: u32,
    /// May be more than the kind can carry until it is checked.
    len: u16,
    /// Raw DLC of a classic frame, 9 to 15, else 0.
    len8_dlc: u8,
    flags: u8,
    data: &'a mut [u8],
}

impl Work<'_> {
    fn id(&self) -> CanId {
        CanId::from_raw(self.raw)
    }

    fn len_fits(&self) -> bool {
        let len = usize::from(self.len);
        len <= self.kind.max_len() && (len > 0 || self.kind != Kind::Xl)
    }

    /// A checksum's index, counted from the end of the payload where it is negative; `None`
    /// outside the buffer (`calc_idx` of `net/can/gw.c`).
    fn index(&self, index: i16) -> Option<usize> {
        let from = if index < 0 { i32::from(self.len) } else { 0 };
        let at = usize::try_from(from + i32::from(index)).ok()?;
        (at < self.data.len()).then_some(at)
    }
}

/// Does `ops` to a copy of `frame` in `buf` and gives the result.
pub(crate) fn apply<'b>(
    ops: &[Op],
    frame: FrameRef<'_>,
    buf: &'b mut FrameBuf,
) -> Result<FrameRef<'b>, Stop> {
    buf.set(frame);
    let data = buf.buffer_mut();
    if frame.kind() == Kind::Xl
        && let Some(past) = data.get_mut(frame.len()..)
    {
        // `FrameBuf::set` zeroes classic and FD buffers only; nothing of an earlier frame may
        // show.
        past.fill(0);
    }
    let header = run(ops, frame.header(), data)?;
    buf.set_header(header);
    Ok(buf.view())
}

/// The same for ops that touch no payload: without a copy, unless the payload has to grow.
#[inline]
pub(crate) fn apply_to_header<'b>(
    ops: &[Op],
    frame: FrameRef<'b>,
    buf: &'b mut FrameBuf,
) -> Result<FrameRef<'b>, Stop> {
    let header = run(ops, frame.header(), &mut [])?;
    match FrameRef::new(header, frame.data()) {
        Ok(changed) => Ok(changed),
        Err(_) => apply(ops, frame, buf),
    }
}

#[inline]
fn run(ops: &[Op], header: &Header, data: &mut [u8]) -> Result<Header, Stop> {
    let mut work = Work {
        kind: header.kind(),
        raw: header.id().raw(),
        len: header.len() as u16,
        len8_dlc: header.len8_dlc(),
        flags: header.flags(),
        data,
    };
    for op in ops {
        match op {
            Op::Modify(modify) => modify.apply(&mut work),
            Op::OffsetId(by) => id::offset(&mut work, *by)?,
            Op::MapId(map) => map.apply(&mut work)?,
            Op::CopyBytes(copy) => copy.apply(&mut work),
            Op::Crc8(crc8) => crc8::apply(crc8, checked(&mut work)?),
            Op::XorSum(sum) => xor_sum::apply(sum, checked(&mut work)?),
        }
    }
    Ok(Header::new(work.kind, work.id(), usize::from(work.len))
        .map_err(|_| Stop::TooLong)?
        .with_flags(work.flags)
        .with_len8_dlc(work.len8_dlc)
        .with_xl(header.xl()))
}

fn checked<'w, 'a>(work: &'w mut Work<'a>) -> Result<&'w mut Work<'a>, Stop> {
    if work.len_fits() {
        Ok(work)
    } else {
        Err(Stop::TooLong)
    }
}
