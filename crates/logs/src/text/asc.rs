//! Vector ASC: classic and FD frames, error frames.
//!
//! Channel N is the interface `can(N-1)`, as SocketCAN and python-can count, unless a comment of
//! our own says its name (`// cangate: channel 1 is can0`).

use super::words::{Word, Words, decimal, number};
use super::{Got, time};
use crate::bad::Fault;
use crate::draft::{self, Draft};
use crate::name::InterfaceName;
use frame::text::Direction;
use frame::{CanId, FrameBuf, Nanos};
use std::collections::BTreeMap;

/// The comment that names a channel; its number, `is` and the name follow.
const NAMES: &str = "cangate:";

/// As many channels can have names; CANoe has 64.
const MOST_NAMED: usize = 256;

/// Flags of an FD line: EDL, which tells FD from classic frames. CANoe logs both in such lines.
const EDL: u32 = 0x1000;

/// Reads lines.
#[derive(Clone, Debug)]
pub(crate) struct Asc {
    base: u32,
    /// Each time counts from the line before.
    relative: bool,
    /// When the measurement began; 0 where nothing says so.
    start: Nanos,
    /// The line `date` was there.
    dated: bool,
    /// The date of the block that has begun, until it is used.
    block: Option<Nanos>,
    at: Nanos,
    names: BTreeMap<u32, InterfaceName>,
}

impl Asc {
    pub(crate) const fn new() -> Self {
        Self {
            base: 16,
            relative: false,
            start: 0,
            dated: false,
            block: None,
            at: 0,
            names: BTreeMap::new(),
        }
    }

    pub(crate) fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<Got>, Fault> {
        let mut words = Words::new(line);
        let Some(first) = words.next() else {
            return Ok(None);
        };
        if !first.text.first().is_some_and(u8::is_ascii_digit) {
            return self.header(&first, words).map(|()| None);
        }
        let offset = decimal(first.text, 9).ok_or(first.wrong("a time in seconds"))?;
        // Of every event, also those that are no frames.
        self.at = if self.relative {
            self.at.saturating_add(offset)
        } else {
            offset
        };
        let ns = self.start.saturating_add(self.at);
        let Some(second) = words.next() else {
            return Ok(None);
        };
        if second.is("CANFD") {
            return self.fd(&mut words, ns, frame);
        }
        if second.is("CANXL") {
            return Err(second.wrong("a classic or FD frame: XL is not read from ASC"));
        }
        match second.number(10) {
            Some(channel) => self.classic(channel, &mut words, ns, frame),
            None => {
                // Triggers, J1939TP, system variables and the like; of this one the date is known.
                let is_start =
                    second.is("Start") && words.nth(1).is_some_and(|w| w.is("measurement"));
                if let Some(block) = self.block.take().filter(|_| is_start) {
                    self.start = block.saturating_sub(self.at);
                    self.dated = true;
                }
                Ok(None)
            }
        }
    }

    /// A line without a time.
    fn header(&mut self, first: &Word<'_>, mut words: Words<'_>) -> Result<(), Fault> {
        if first.is("date") {
            self.start = time::date(words).ok_or(first.wrong(
                "a date, as in Wed Nov 28 14:57:33.123 2012; times count from 1970 otherwise",
            ))?;
            self.dated = true;
        } else if first.is("base") {
            let base = words.need("hex or dec")?;
            self.base = match base {
                base if base.is("hex") => 16,
                base if base.is("dec") => 10,
                _ => return Err(base.wrong("hex or dec")),
            };
            let rest = words.skip_while(|word| !word.is("timestamps"));
            self.relative = rest.skip(1).any(|word| word.is("relative"));
        } else if first.is("Begin") {
            words.next();
            self.block = time::date(words);
            // Without a line `date`, the first block says it.
            if let Some(start) = self.block.filter(|_| !self.dated) {
                self.start = start;
                self.dated = true;
            }
        } else if first.text == b"//" && words.next().is_some_and(|word| word.is(NAMES)) {
            let channel = words.nth(1).and_then(|word| word.number(10));
            let name = words.nth(1).and_then(|word| str::from_utf8(word.text).ok());
            let named = channel.zip(name.and_then(InterfaceName::new));
            if let Some((channel, name)) = named.filter(|_| self.names.len() < MOST_NAMED) {
                self.names.insert(channel, name);
            }
        }
        Ok(())
    }

    /// `1  123x  Rx  d 8 11 22 …`, behind the channel.
    fn classic(
        &self,
        channel: u32,
        words: &mut Words<'_>,
        ns: Nanos,
        frame: &mut FrameBuf,
    ) -> Result<Option<Got>, Fault> {
        let Some(id) = words.next() else {
            return Ok(None);
        };
        if id.is("ErrorFrame") {
            Draft::error().put(frame)?;
            return Ok(Some(self.got(ns, channel, None)));
        }
        // Other events name a channel, too; of frames this says the direction. A request to send
        // (TxRq) was not on the bus yet.
        let Some(direction) = words.next().and_then(|word| direction(&word)) else {
            return Ok(None);
        };
        let mut draft = Draft::new(self.id(&id)?);
        let kind = words.need("d (data) or r (remote)")?;
        if kind.is("r") {
            draft.id = draft.id.with_rtr();
            let dlc = words.next().and_then(|word| word.number(self.base));
            draft = dlc.and_then(|dlc| draft.with_dlc(dlc)).unwrap_or(draft);
        } else if kind.is("d") {
            let dlc = words.need("a DLC")?;
            let value = dlc.number(self.base);
            draft = value
                .and_then(|value| draft.with_dlc(value))
                .ok_or(dlc.wrong("a DLC of 0 to 15"))?;
            words.bytes(draft.payload()?, self.base)?;
        } else {
            return Err(kind.wrong("d (data) or r (remote)"));
        }
        draft.put(frame)?;
        Ok(Some(self.got(ns, channel, Some(direction))))
    }

    /// `1 Rx  123  NAME 1 0 8 8 11 22 … duration length flags …`, behind `CANFD`.
    fn fd(
        &self,
        words: &mut Words<'_>,
        ns: Nanos,
        frame: &mut FrameBuf,
    ) -> Result<Option<Got>, Fault> {
        let channel = words.need("a channel")?;
        let channel = channel.number(10).ok_or(channel.wrong("a channel"))?;
        let side = words.need("Rx or Tx")?;
        if side.is("ErrorFrame") {
            Draft::error().put(frame)?;
            return Ok(Some(self.got(ns, channel, None)));
        }
        let Some(side) = direction(&side) else {
            return Ok(None);
        };
        let id = words.need("an ID")?;
        if id.is("ErrorFrame") {
            Draft::error().put(frame)?;
            return Ok(Some(self.got(ns, channel, Some(side))));
        }
        let id = self.id(&id)?;
        let mut brs = words.need("BRS, 0 or 1")?;
        // A name can stand between; it is never a digit alone.
        if !matches!(brs.text, b"0" | b"1") {
            brs = words.need("BRS, 0 or 1")?;
        }
        let esi = words.need("ESI, 0 or 1")?;
        for flag in [&brs, &esi] {
            if !matches!(flag.text, b"0" | b"1") {
                return Err(flag.wrong("0 or 1"));
            }
        }
        let dlc = words.need("a DLC")?;
        let dlc = dlc
            .number(self.base)
            .filter(|dlc| *dlc <= 15)
            .ok_or(dlc.wrong("a DLC of 0 to F"))?;
        let len = words.need("a number of bytes")?;
        let len = len
            .number(10)
            .filter(|len| *len <= 64)
            .ok_or(len.wrong("a number of bytes up to 64"))?;
        let mut data = [0; 64];
        let payload = data.get_mut(..len as usize).unwrap_or_default();
        words.bytes(payload, self.base)?;
        // Duration and length, then flags.
        let flags = words.nth(2).and_then(|word| word.number(16));
        let mut draft = Draft::new(id);
        if flags.is_none_or(|flags| flags & EDL != 0) {
            draft = draft.fd(brs.text == b"1", esi.text == b"1");
        } else {
            draft.raw_dlc = dlc as u8;
            if flags.is_some_and(|flags| flags & 0x10 != 0) {
                draft.id = draft.id.with_rtr();
                draft.len = dlc.min(8) as usize;
                draft.put(frame)?;
                return Ok(Some(self.got(ns, channel, Some(side))));
            }
        }
        draft.len = len as usize;
        draft.data = data;
        draft.put(frame)?;
        Ok(Some(self.got(ns, channel, Some(side))))
    }

    /// `123` or `123x` in the file's base.
    fn id(&self, word: &Word<'_>) -> Result<CanId, Fault> {
        let (digits, eff) = match word.text {
            [digits @ .., b'x' | b'X'] => (digits, true),
            digits => (digits, false),
        };
        let id = number(digits, self.base).and_then(|id| draft::id(id, eff));
        id.ok_or(word.wrong(if self.base == 10 {
            "a decimal ID, with an x behind an extended one (no symbolic name)"
        } else {
            "a hex ID, with an x behind an extended one (no symbolic name)"
        }))
    }

    fn got(&self, ns: Nanos, channel: u32, direction: Option<Direction>) -> Got {
        let name = self.names.get(&channel).copied();
        Got {
            ns,
            direction,
            name: name.unwrap_or_else(|| InterfaceName::numbered(channel.saturating_sub(1))),
        }
    }
}

fn direction(word: &Word<'_>) -> Option<Direction> {
    match word {
        word if word.is("Rx") => Some(Direction::Received),
        word if word.is("Tx") => Some(Direction::Sent),
        _ => None,
    }
}
