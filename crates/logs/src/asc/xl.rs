//! Lines that begin with `CANXL`: their frame format states which kind of frame it is.
//!
//! The columns of XL frames are those of version 1.4.17 of Vector's format, as can-utils reads and
//! writes them.

use super::flexible::{BRS, ESI, RTR, payload};
use super::read::{AscReader, id_of};
use crate::bad::LogFault;
use crate::draft::FrameDraft;
use crate::read::ParsedFrame;
use crate::words::{LineWords, number};
use core::ops::ControlFlow;
use frame::{CanId, FrameBuf, Header, Kind, Nanos, XlFields, flags};

/// Flags of a line with an XL frame: XL itself, RRS, SEC.
const XLF: u32 = 0x0040_0000;
const RRS: u32 = 0x0080_0000;
const SEC: u32 = 0x0100_0000;

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
                xl_frame(words, frame)?;
                return Ok(Some(self.got(&seen)));
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

/// Reads `984438 4656 432 NAME e0 0 3 4 1 1f96 00 00000000 11 22 … crc flags …`, after `XLFF`.
fn xl_frame(words: &mut LineWords<'_>, frame: &mut FrameBuf) -> Result<(), LogFault> {
    const ID: &str = "a hex ID of an XL frame, at most 7FF";
    words.need("a duration")?;
    words.need("a number of bits")?;
    let word = words.need(ID)?;
    let id = number(word.text, 16).and_then(|id| CanId::sff(id).ok());
    let id = id.ok_or(word.wrong(ID))?;
    let plain = *words;
    let mut named = *words;
    named.next();
    match xl_body(id, plain, frame) {
        Ok(()) => Ok(()),
        // The mistake is the one that is further behind.
        Err(plain) => xl_body(id, named, frame).map_err(|named| match (&plain, &named) {
            (LogFault::Column(a, _), LogFault::Column(b, _)) if a >= b => plain,
            _ => named,
        }),
    }
}

/// Reads the columns behind the name of an XL frame.
fn xl_body(id: CanId, mut words: LineWords<'_>, frame: &mut FrameBuf) -> Result<(), LogFault> {
    const LENGTH: &str = "the length of an XL frame, which is its DLC and 1";
    let mut hex = |expected| {
        let word = words.need(expected)?;
        word.number(16).ok_or(word.wrong(expected))
    };
    let byte = |number: u32| u8::try_from(number).map_err(|_| LogFault::Said("more than a byte"));
    let sdt = byte(hex("an SDT, two hex digits")?)?;
    let is_secure = hex("SEC, 0 or 1")?;
    let dlc = hex("a DLC of an XL frame, 0 to 7FF")?;
    let word = words.need(LENGTH)?;
    let len = word
        .number(10)
        .filter(|len| dlc.checked_add(1) == Some(*len));
    let header = len.and_then(|len| Header::new(Kind::Xl, id, len as usize).ok());
    let header = header.ok_or(word.wrong(LENGTH))?;
    words.need("a number of stuff bits")?;
    words.need("a CRC of the preface")?;
    let mut hex = |expected| {
        let word = words.need(expected)?;
        word.number(16).ok_or(word.wrong(expected))
    };
    let vcid = byte(hex("a VCID, two hex digits")?)?;
    let af = hex("an acceptance field, eight hex digits")?;
    let header = header.with_xl(XlFields { vcid, sdt, af });
    frame.reset(header);
    let data = frame.buffer_mut().get_mut(..header.len());
    words.bytes(data.unwrap_or_default(), 16)?;
    words.need("a CRC of the frame")?;
    let word = words.need("flags, with that of XL")?;
    let stated = word.number(16).filter(|stated| stated & XLF != 0);
    let stated = stated.ok_or(word.wrong("flags, with that of XL"))?;
    // The bit has a column and a flag.
    if is_secure != u32::from(stated & SEC != 0) {
        return Err(word.wrong("flags with the SEC of its own column"));
    }
    let of = |flag, bit| if stated & flag != 0 { bit } else { 0 };
    let bits = of(RRS, flags::XL_RRS) | of(SEC, flags::XL_SEC);
    frame.set_header(header.with_flags(bits));
    Ok(())
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
