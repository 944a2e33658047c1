//! Lines that begin with `CANFD`: FD frames, and in several versions of CANoe classic ones, too.
//!
//! Numbers of these lines are hex regardless of the base of the file, except for the number of
//! bytes.

use super::known;
use super::read::{AscReader, AscSighting, direction, dlc, id_of};
use crate::bad::LogFault;
use crate::draft::FrameDraft;
use crate::read::ParsedFrame;
use crate::words::LineWords;
use core::ops::ControlFlow;
use frame::{FrameBuf, Nanos};

/// Flags of a line: a remote frame, FD (EDL), BRS, ESI.
pub(super) const RTR: u32 = 0x10;
pub(super) const EDL: u32 = 0x1000;
pub(super) const BRS: u32 = 0x2000;
pub(super) const ESI: u32 = 0x4000;

/// The fields between the ID and the flags.
struct AscBody {
    brs: bool,
    esi: bool,
    dlc: u32,
    len: u32,
    data: [u8; 64],
    /// The flags; `None` where the program did not write or know them.
    flags: Option<u32>,
}

impl AscReader {
    /// Reads channel and direction of a line that begins with `CANFD` or `CANXL`; breaks with what
    /// the line is if it has no frame with an ID.
    pub(super) fn start(
        &self,
        words: &mut LineWords<'_>,
        ns: Nanos,
        frame: &mut FrameBuf,
    ) -> Result<ControlFlow<Option<ParsedFrame>, AscSighting>, LogFault> {
        let channel = words.need("a channel")?;
        let channel = channel.number(10).ok_or(channel.wrong("a channel"))?;
        let mut seen = AscSighting {
            ns,
            channel,
            direction: None,
        };
        let side = words.need("Rx or Tx")?;
        if side.is("ErrorFrame") {
            let error = self.put(&FrameDraft::error(), &seen, frame)?;
            return Ok(ControlFlow::Break(error));
        }
        if known::is_request(&side) || known::is_of_channel(&side) {
            return Ok(ControlFlow::Break(None));
        }
        seen.direction = Some(direction(&side).ok_or(side.wrong("Rx, Tx or TxRq"))?);
        Ok(ControlFlow::Continue(seen))
    }

    /// Reads `1 Rx  123  NAME 1 0 8 8 11 22 … duration length flags …`, after `CANFD`.
    pub(super) fn flexible(
        &self,
        words: &mut LineWords<'_>,
        ns: Nanos,
        frame: &mut FrameBuf,
    ) -> Result<Option<ParsedFrame>, LogFault> {
        let seen = match self.start(words, ns, frame)? {
            ControlFlow::Continue(seen) => seen,
            ControlFlow::Break(done) => return Ok(done),
        };
        let id = words.need("an ID")?;
        if id.is("ErrorFrame") {
            return self.put(&FrameDraft::error(), &seen, frame);
        }
        const ID: &str = "a hex ID, with an x after an extended one";
        let id = id_of(id.text, 16).ok_or(id.wrong(ID))?;
        // A name can follow the ID, and it can be any word, even a digit.
        let plain = *words;
        let mut named = *words;
        named.next();
        let body = match AscBody::read(plain) {
            Ok(body) => body,
            Err(fault) => AscBody::read(named).map_err(|_| fault)?,
        };
        let mut draft = FrameDraft::new(id);
        draft.len = body.len as usize;
        draft.data = body.data;
        if body.is_fd() {
            draft = draft.fd(body.brs, body.esi);
        } else {
            draft.raw_dlc = body.dlc as u8;
            if body.is_remote() {
                draft.id = draft.id.with_rtr();
                draft.len = body.dlc.min(8) as usize;
            }
        }
        self.put(&draft, &seen, frame)
    }
}

impl AscBody {
    /// Reads the fields where no name precedes them.
    fn read(mut words: LineWords<'_>) -> Result<Self, LogFault> {
        let mut flag = |expected| {
            let word = words.need(expected)?;
            match word.text {
                b"0" => Ok(false),
                b"1" => Ok(true),
                _ => Err(word.wrong(expected)),
            }
        };
        let brs = flag("BRS, 0 or 1")?;
        let esi = flag("ESI, 0 or 1")?;
        let (dlc, len, data) = payload(&mut words)?;
        let rest = words;
        // Duration, length, flags: in the output of a program that knows none of them, all are 0.
        let mut numbers = words.map(|word| word.number(16));
        let (duration, bits) = (numbers.next().flatten(), numbers.next().flatten());
        let known = duration != Some(0) || bits != Some(0);
        let flags = numbers.next().flatten();
        let flags = flags.filter(|flags| *flags != 0 || known);
        let body = Self {
            brs,
            esi,
            dlc,
            len,
            data,
            flags,
        };
        if !body.is_consistent() {
            let place = rest.peek().map_or(1, |word| word.column);
            return Err(LogFault::Column(place, "as many bytes as the DLC states"));
        }
        Ok(body)
    }

    /// Without flags, the line itself means FD. Properties that classic frames cannot have mean it,
    /// too.
    fn is_fd(&self) -> bool {
        let is_marked = self.flags.is_none_or(|flags| flags & EDL != 0);
        is_marked || self.brs || self.esi || self.len > 8
    }

    fn is_remote(&self) -> bool {
        self.flags.is_some_and(|flags| flags & RTR != 0)
    }

    fn is_consistent(&self) -> bool {
        let fd = u32::from(frame::dlc::fd_len(self.dlc as u8)) == self.len;
        let classic = self.dlc.min(8) == self.len || self.is_remote() && self.len == 0;
        if self.is_fd() { fd } else { classic }
    }
}

/// Reads a DLC, a number of bytes, and the bytes.
pub(super) fn payload(words: &mut LineWords<'_>) -> Result<(u32, u32, [u8; 64]), LogFault> {
    let word = words.need("a DLC")?;
    let value = dlc(&word).ok_or(word.wrong("a DLC of 0 to F"))?;
    let word = words.need("a number of bytes")?;
    let len = word.number(10).filter(|len| *len <= 64);
    let len = len.ok_or(word.wrong("a number of bytes up to 64"))?;
    let mut data = [0; 64];
    words.bytes(data.get_mut(..len as usize).unwrap_or_default(), 16)?;
    Ok((value, len, data))
}
