//! How compiled operations are done to a frame.

use super::draft::Draft;
use crate::Stop;
use core::fmt;
use frame::{CanId, FrameBuf, FrameRef, Header, Kind};

/// An operation's compiled form: done to each frame that a route takes. No allocation, no clock.
pub(crate) trait Apply: Clone + fmt::Debug {
    /// It leaves the payload alone, so that the frame need not be copied for it.
    fn is_header_only(&self) -> bool {
        false
    }

    /// Does it to a frame.
    ///
    /// # Errors
    /// Why the route cannot send the frame any more.
    fn apply(&self, draft: &mut Draft<'_>) -> Result<(), Stop>;
}

/// Does operations to a copy of `frame` in `buf` and gives the result.
#[inline]
pub(super) fn apply<'b>(
    operations: &[impl Apply],
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
    let header = run(operations, frame.header(), data)?;
    buf.set_header(header);
    Ok(buf.view())
}

/// The header that the operations make of a frame's; `data` is the payload's buffer, empty where
/// they do not touch it.
#[inline]
pub(super) fn run(
    operations: &[impl Apply],
    header: &Header,
    data: &mut [u8],
) -> Result<Header, Stop> {
    let mut draft = Draft {
        kind: header.kind(),
        raw: header.id().raw(),
        len: header.len() as u16,
        len8_dlc: header.len8_dlc(),
        flags: header.flags(),
        data,
    };
    for operation in operations {
        operation.apply(&mut draft)?;
    }
    let made =
        Header::new(draft.kind, draft.id(), usize::from(draft.len)).map_err(|_| Stop::TooLong)?;
    // CAN FD has no remote frames (ISO 11898-1).
    if draft.kind == Kind::Fd && draft.raw & CanId::RTR_FLAG != 0 {
        return Err(Stop::IdRange);
    }
    Ok(made
        .with_flags(draft.flags)
        .with_len8_dlc(draft.len8_dlc)
        .with_xl(header.xl()))
}
