//! Lines that begin with `CANXL`: their frame format states which kind of frame it is.

use super::flexible::{BRS, ESI, RTR, payload};
use super::read::{AscReader, id_of};
use crate::bad::LogFault;
use crate::draft::FrameDraft;
use crate::read::ParsedFrame;
use crate::words::{LineWords, number};
use core::ops::ControlFlow;
use frame::{CanId, FrameBuf, Nanos};

/// Classic and FD frames, with a base or an extended ID.
#[derive(Clone, Copy)]
struct XlFormat {
    fd: bool,
    eff: bool,
}

impl AscReader {
    /// Reads `2 Rx CBFF duration bits 123 NAME 8 8 11 … crc flags …`, after `CANXL`; in FD frames
    /// the number of stuff bits precedes the CRC.
    pub(super) fn extended(
        &self,
        words: &mut LineWords<'_>,
        ns: Nanos,
        frame: &mut FrameBuf,
    ) -> Result<Option<ParsedFrame>, LogFault> {
        let seen = match self.start(words, ns, frame)? {
            ControlFlow::Continue(seen) => seen,
            ControlFlow::Break(done) => return Ok(done),
        };
        let format = words.need("a frame format: CBFF, CEFF, FBFF, FEFF or XLFF")?;
        let (fd, eff) = match format {
            format if format.is("CBFF") => (false, false),
            format if format.is("CEFF") => (false, true),
            format if format.is("FBFF") => (true, false),
            format if format.is("FEFF") => (true, true),
            format if format.is("ErrorFrame") => {
                return self.put(&FrameDraft::error(), &seen, frame);
            }
            format if format.is("XLFF") => {
                return Err(format.wrong("a classic or FD frame: XL is not read from ASC"));
            }
            _ => return Err(format.wrong("a frame format: CBFF, CEFF, FBFF, FEFF or XLFF")),
        };
        let format = XlFormat { fd, eff };
        words.need("a duration")?;
        words.need("a number of bits")?;
        let word = words.need("an ID")?;
        let id = id_of(word.text, 16).or_else(|| {
            let digits = number(word.text, 16).filter(|_| format.eff);
            digits.and_then(|id| CanId::eff(id).ok())
        });
        let id = id.filter(|id| !id.is_eff() || format.eff);
        let id = id.and_then(|id| {
            if format.eff {
                CanId::eff(id.number()).ok()
            } else {
                Some(id)
            }
        });
        let id = id.ok_or(word.wrong("a hex ID that fits the frame format"))?;
        // A name can follow the ID, and it can be any word, even a digit.
        let plain = *words;
        let mut named = *words;
        named.next();
        let draft = match draft(id, format, plain) {
            Ok(draft) => draft,
            Err(fault) => draft_named(id, format, named).ok_or(fault)?,
        };
        self.put(&draft, &seen, frame)
    }
}

fn draft_named(id: CanId, format: XlFormat, words: LineWords<'_>) -> Option<FrameDraft> {
    draft(id, format, words).ok()
}

fn draft(id: CanId, format: XlFormat, mut words: LineWords<'_>) -> Result<FrameDraft, LogFault> {
    let (dlc, len, data) = payload(&mut words)?;
    let place = words.peek().map_or(1, |word| word.column);
    let flags = words.nth(if format.fd { 2 } else { 1 });
    let flags = flags.and_then(|word| word.number(16)).unwrap_or(0);
    let mut draft = FrameDraft::new(id);
    let expected = if format.fd {
        draft = draft.fd(flags & BRS != 0, flags & ESI != 0);
        u32::from(frame::dlc::fd_len(dlc as u8))
    } else {
        draft.raw_dlc = dlc as u8;
        dlc.min(8)
    };
    draft.len = len as usize;
    draft.data = data;
    if !format.fd && flags & RTR != 0 && len == 0 {
        draft.id = draft.id.with_rtr();
        draft.len = expected as usize;
    } else if expected != len {
        return Err(LogFault::Column(place, "as many bytes as the DLC states"));
    }
    Ok(draft)
}
