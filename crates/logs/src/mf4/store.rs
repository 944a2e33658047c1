//! Frames in the order of their times, in little memory.

use super::plan::PlannedFrame;
use crate::bad::LogFault;
use crate::byte_order::ByteOrder;
use crate::draft::FrameDraft;
use crate::name::InterfaceName;
use crate::read::ParsedFrame;
use frame::text::Direction;
use frame::{CanId, FrameBuf, Kind, Nanos};

/// The largest number of bytes of frames: 4 GiB.
const MOST: usize = 4 << 30;

const TOO_MANY: LogFault =
    LogFault::Said("more frames than fit into 4 GiB of memory: cut the log into several files");

/// Size in bytes of a frame's fields before its payload.
const FIELDS: usize = 20;

const LE: ByteOrder = ByteOrder::Little;

/// All frames of a file.
#[derive(Default)]
pub(super) struct FrameStore {
    /// Time, and where the frame is in `bytes`.
    order: Vec<(Nanos, u64)>,
    bytes: Vec<u8>,
    next: usize,
}

impl FrameStore {
    /// Adds a frame, with its place in the file.
    pub(super) fn add(
        &mut self,
        ns: Nanos,
        place: u64,
        planned: &PlannedFrame,
    ) -> Result<(), LogFault> {
        let draft = &planned.draft;
        let payload = draft.data.get(..draft.len).unwrap_or(&draft.data);
        let used = self.bytes.len() + 16 * self.order.len();
        if used > MOST {
            return Err(TOO_MANY);
        }
        self.order.push((ns, self.bytes.len() as u64));
        let direction = match planned.direction {
            None => 0,
            Some(Direction::Received) => 1,
            Some(Direction::Sent) => 2,
        };
        let fd = u8::from(draft.kind == Kind::Fd);
        self.bytes.extend(place.to_le_bytes());
        self.bytes.extend(planned.channel.to_le_bytes());
        self.bytes.extend(draft.id.raw().to_le_bytes());
        self.bytes.extend([
            direction << 1 | fd,
            draft.flags,
            draft.raw_dlc,
            payload.len() as u8,
        ]);
        self.bytes.extend(payload);
        Ok(())
    }

    /// Puts the frames into the order of their times. Those of the same time stay in their order.
    pub(super) fn sort(&mut self) {
        self.order.sort_unstable();
    }

    /// Takes the next frame, with its place; `None` after the last one.
    pub(super) fn take(
        &mut self,
        frame: &mut FrameBuf,
    ) -> Option<(u64, Result<ParsedFrame, LogFault>)> {
        let (ns, at) = *self.order.get(self.next)?;
        self.next += 1;
        let stored = self.bytes.get(at as usize..)?;
        let (fields, rest) = stored.split_first_chunk::<FIELDS>()?;
        let place = LE.u64(fields, 0)?;
        let channel = LE.u32(fields, 8)?;
        let mut draft = FrameDraft::new(CanId::from_raw(LE.u32(fields, 12)?));
        let [.., state, flags, raw_dlc, len] = *fields;
        if state & 1 == 1 {
            draft.kind = Kind::Fd;
        }
        (draft.flags, draft.raw_dlc, draft.len) = (flags, raw_dlc, len.into());
        for (to, from) in draft.data.iter_mut().zip(rest.get(..draft.len)?) {
            *to = *from;
        }
        let direction = match state >> 1 {
            1 => Some(Direction::Received),
            2 => Some(Direction::Sent),
            _ => None,
        };
        let name = InterfaceName::of_channel(channel);
        let got = ParsedFrame::new(ns, direction, name);
        Some((place, draft.put(frame).map(|()| got)))
    }
}
