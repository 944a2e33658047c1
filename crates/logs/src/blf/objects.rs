//! The objects in the unpacked containers.

use super::frames::{self, ObjectEvent};
use super::kinds::{self, ObjectKind};
use super::{LE, NO_OBJECT};
use crate::bad::LogFault;
use crate::loss::FrameLoss;
use crate::read::NextBlock;
use frame::{FrameBuf, Nanos};

/// The first bytes of an object.
const SIGNATURE: &[u8] = b"LOBJ";

/// Size in bytes of the part of an object's header that all objects have.
const BASE_HEADER: usize = 16;

/// If an object states a longer header than this, no object begins there.
const LONGEST_HEADER: usize = 256;

/// The longest object with a frame that is read: well above an FD frame with all its additions.
const LONGEST: u32 = 4096;

/// Maximum number of padding bytes between two objects that need not be zeros. Writers disagree
/// about their number.
const PADDING: usize = 7;

/// The part of an object's header that all objects have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ObjectHeader {
    /// Size of the whole header in bytes.
    pub(super) header_size: usize,
    /// Size of the object in bytes, with its header, without padding.
    pub(super) size: u32,
    /// The number of its type.
    pub(super) kind: u32,
}

/// The result of [`look`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LookResult {
    /// More bytes are needed.
    More,
    /// No object begins in these bytes: they can be discarded.
    Skip(usize),
    /// No object begins where one is expected. Any other begins after this number of bytes, whose
    /// last ones are a signature without a header if there are any.
    Nothing(usize),
    /// An object begins after this number of bytes.
    At(usize, ObjectHeader),
}

/// Looks for an object at the beginning of `bytes`, after padding; if `searching`, anywhere.
pub(super) fn find_object(bytes: &[u8], searching: bool) -> LookResult {
    let near = bytes.get(..PADDING + SIGNATURE.len());
    let range = if searching {
        bytes
    } else {
        near.unwrap_or(bytes)
    };
    let at = range
        .windows(SIGNATURE.len())
        .position(|window| window == SIGNATURE);
    let Some(at) = at else {
        let checked = bytes.len().saturating_sub(SIGNATURE.len() - 1);
        return match near {
            _ if searching && checked > 0 => LookResult::Skip(checked),
            Some(_) if !searching => LookResult::Nothing(0),
            _ => LookResult::More,
        };
    };
    let (Some(header_size), Some(size), Some(kind)) = (
        LE.u16(bytes, at + 4).map(usize::from),
        LE.u32(bytes, at + 8),
        LE.u32(bytes, at + 12),
    ) else {
        return match at {
            1.. if searching => LookResult::Skip(at),
            _ => LookResult::More,
        };
    };
    if !(BASE_HEADER..=LONGEST_HEADER).contains(&header_size) || (size as usize) < header_size {
        return LookResult::Nothing(at + SIGNATURE.len());
    }
    let header = ObjectHeader {
        header_size,
        size,
        kind,
    };
    LookResult::At(at, header)
}

/// The unpacked bytes that were not used yet: at most a piece and a part of an object.
#[derive(Default)]
pub(super) struct ObjectBuffer {
    bytes: Vec<u8>,
    /// Unused bytes begin here.
    begin: usize,
    /// The position of `begin` in all unpacked bytes.
    place: u64,
    /// Number of bytes of a long object that still have to be skipped.
    skip: u64,
    /// No object began where one was expected: the next one is searched for.
    searching: bool,
}

impl ObjectBuffer {
    /// Sets the place of the first object.
    pub(super) const fn begin(&mut self, place: u64) {
        self.place = place;
    }

    /// Returns the number of bytes that were unpacked so far.
    pub(super) fn unpacked(&self) -> u64 {
        self.place + self.head().len() as u64
    }

    /// Adds unpacked bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.begin);
        self.begin = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Discards an object whose end cannot be read.
    pub(super) fn damage(&mut self) {
        self.advance(usize::MAX);
        self.skip = 0;
        self.searching = true;
    }

    /// Discards the rest at the end of the log. Returns whether it was a part of an object.
    pub(super) fn end(&mut self) -> bool {
        let part = self.head().iter().any(|b| *b != 0) && !self.searching;
        let skipping = std::mem::take(&mut self.skip) > 0;
        self.advance(usize::MAX);
        part || skipping
    }

    fn head(&self) -> &[u8] {
        self.bytes.get(self.begin..).unwrap_or_default()
    }

    /// Uses up bytes, at most all; returns their number.
    fn advance(&mut self, bytes: usize) -> usize {
        let bytes = bytes.min(self.bytes.len() - self.begin);
        self.begin += bytes;
        self.place += bytes as u64;
        bytes
    }

    /// Returns the next object that is worth an answer, with its place; `None` where more bytes are
    /// needed.
    pub(super) fn next(&mut self, start: Nanos, frame: &mut FrameBuf) -> Option<(u64, NextBlock)> {
        loop {
            let most = usize::try_from(self.skip).unwrap_or(usize::MAX);
            self.skip -= self.advance(most) as u64;
            if self.skip > 0 {
                return None;
            }
            // Vector's programs pad some objects with dozens of zeros.
            let zeros = self.head().iter().take_while(|b| **b == 0).count();
            self.advance(zeros);
            let place = self.place;
            let (at, object) = match find_object(self.head(), self.searching) {
                LookResult::More => return None,
                LookResult::Skip(bytes) => {
                    self.advance(bytes);
                    return None;
                }
                LookResult::Nothing(bytes) => {
                    self.advance(bytes);
                    self.searching = true;
                    let place = place + bytes.saturating_sub(SIGNATURE.len()) as u64;
                    return Some((place, NextBlock::Bad(0, NO_OBJECT)));
                }
                LookResult::At(at, object) => (at, object),
            };
            // The object may not be complete yet: it is found again at the beginning.
            self.advance(at);
            self.searching = false;
            let place = self.place;
            let whole = u64::from(object.size);
            let fault = match kinds::find(object.kind) {
                Some(ObjectKind::Other) => {
                    self.skip = whole;
                    continue;
                }
                None => LogFault::Unknown("an object of type", object.kind.into()),
                Some(_) if object.size > LONGEST => {
                    LogFault::Said("an object longer than any CAN frame")
                }
                Some(kind) => {
                    let bytes = self.head().get(..whole as usize)?;
                    let read = frames::read(kind, bytes, object.header_size, start, frame);
                    self.advance(whole as usize);
                    let block = match read {
                        Ok(ObjectEvent::Frame(got)) => NextBlock::Frame(0, got),
                        Ok(ObjectEvent::Lost(frames)) => {
                            let interface = None;
                            NextBlock::Lossy(0, FrameLoss { frames, interface })
                        }
                        Ok(ObjectEvent::Other) => NextBlock::Other(0),
                        Err(fault) => NextBlock::Bad(0, fault),
                    };
                    return Some((place, block));
                }
            };
            self.skip = whole;
            return Some((place, NextBlock::Bad(0, fault)));
        }
    }
}
