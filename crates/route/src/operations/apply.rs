//! Application of compiled operations to a frame.

use super::draft::FrameDraft;
use crate::StopReason;
use core::fmt;
use frame::{CanId, FrameBuf, FrameRef, Header, Kind};

/// The compiled form of an operation, which is applied to each frame that a route takes. It needs
/// no allocation and no clock.
pub(crate) trait ApplyOperation: Clone + fmt::Debug {
    /// Returns whether the operation leaves the payload alone, so that the frame need not be
    /// copied.
    fn is_header_only(&self) -> bool {
        false
    }

    /// Applies the operation to a frame.
    ///
    /// # Errors
    /// The reason why the route can no longer send the frame.
    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason>;
}

/// Applies operations to a copy of `frame` in `buf` and returns the result.
#[inline]
pub(super) fn apply<'b>(
    operations: &[impl ApplyOperation],
    frame: FrameRef<'_>,
    buf: &'b mut FrameBuf,
) -> Result<FrameRef<'b>, StopReason> {
    buf.set(frame);
    let data = buf.buffer_mut();
    if frame.kind() == Kind::Xl
        && let Some(past) = data.get_mut(frame.len()..)
    {
        // `FrameBuf::set` zeroes classic and FD buffers only; no bytes of an earlier frame must be
        // visible.
        past.fill(0);
    }
    let header = run(operations, frame.header(), data)?;
    buf.set_header(header);
    Ok(buf.view())
}

/// Returns the header that results from the operations. `data` is the payload's buffer; it is empty
/// if the operations do not touch the payload.
#[inline]
pub(super) fn run(
    operations: &[impl ApplyOperation],
    header: &Header,
    data: &mut [u8],
) -> Result<Header, StopReason> {
    let mut draft = FrameDraft {
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
    let made = Header::new(draft.kind, draft.id(), usize::from(draft.len))
        .map_err(|_| StopReason::TooLong)?;
    // CAN FD has no remote frames (ISO 11898-1).
    if draft.kind == Kind::Fd && draft.raw & CanId::RTR_FLAG != 0 {
        return Err(StopReason::IdRange);
    }
    Ok(made
        .with_flags(draft.flags)
        .with_len8_dlc(draft.len8_dlc)
        .with_xl(header.xl()))
}
