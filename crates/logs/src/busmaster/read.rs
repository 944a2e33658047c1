//! Lines of BUSMASTER's logs, as its source (`LogObjectCAN.cpp`) and its test data have them.
//! Channel N is the interface `can(N-1)`.
//!
//! A header has lines between three asterisks on each side. Times of frames have units of 100 µs.

use crate::bad::LogFault;
use crate::draft::{self, FrameDraft};
use crate::name::InterfaceName;
use crate::read::{LineReader, ParsedFrame};
use crate::time::day;
use crate::words::{LineWord, LineWords, number};
use frame::text::Direction;
use frame::{FrameBuf, Nanos, dlc};

const SECOND: Nanos = 1_000_000_000;
const DAY: Nanos = 86_400 * SECOND;

/// The longest recording in hours: more than ten years.
const MAX_HOURS: u32 = 100_000;

/// The characters on both sides of a line of the header.
const MARK: &[u8] = b"***";

/// The kinds of frames.
const TYPES: [(&str, FrameType); 6] = [
    ("s", FrameType::new(false, false, false)),
    ("x", FrameType::new(true, false, false)),
    ("sr", FrameType::new(false, true, false)),
    ("xr", FrameType::new(true, true, false)),
    ("s-fd", FrameType::new(false, false, true)),
    ("x-fd", FrameType::new(true, false, true)),
];

#[derive(Clone, Copy, Debug)]
struct FrameType {
    is_extended: bool,
    is_remote: bool,
    is_fd: bool,
}

impl FrameType {
    const fn new(is_extended: bool, is_remote: bool, is_fd: bool) -> Self {
        Self {
            is_extended,
            is_remote,
            is_fd,
        }
    }

    fn parse(word: &LineWord<'_>) -> Option<Self> {
        let found = TYPES.iter().find(|(name, _)| word.is(name));
        found.map(|(_, kind)| *kind)
    }
}

/// The meaning of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum TimeMode {
    /// Since the start of the recording.
    #[default]
    Absolute,
    /// Since the previous frame.
    Relative,
    /// Since midnight.
    System,
}

/// A reader of lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct BusmasterReader {
    /// The base of IDs and payloads; `None` before the header states it.
    base: Option<u32>,
    mode: TimeMode,
    /// The start of the recording; 0 where the file does not give it.
    start: Nanos,
    /// The time of the previous frame since the start or since midnight.
    at: Nanos,
    /// Whether the lines are of another protocol than CAN.
    is_other_protocol: bool,
    /// Whether the user's comment has begun, and has not ended.
    in_comment: bool,
}

impl LineReader for BusmasterReader {
    fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<ParsedFrame>, LogFault> {
        let line = line.trim_ascii();
        if let Some(header) = line.strip_prefix(MARK) {
            return self.header(header).map(|()| None);
        }
        if line.is_empty() || self.in_comment {
            return Ok(None);
        }
        if self.is_other_protocol {
            return Err(LogFault::Said(
                "a line of a session of another protocol than CAN, which its header states",
            ));
        }
        self.frame(line, frame).map(Some)
    }
}

impl BusmasterReader {
    /// Reads a line of the header, after its asterisks. None of them is a damaged frame.
    fn header(&mut self, text: &[u8]) -> Result<(), LogFault> {
        let text = text.strip_suffix(MARK).unwrap_or(text).trim_ascii();
        match text {
            b"[START LOGGING SESSION]" => self.at = 0,
            b"HEX" => self.base = Some(16),
            b"DEC" => self.base = Some(10),
            b"ABSOLUTE MODE" => self.mode = TimeMode::Absolute,
            b"RELATIVE MODE" => self.mode = TimeMode::Relative,
            b"SYSTEM MODE" => self.mode = TimeMode::System,
            b"START COMMENT" => self.in_comment = true,
            b"END COMMENT" => self.in_comment = false,
            _ => {}
        }
        if let Some(protocol) = text.strip_prefix(b"PROTOCOL ") {
            self.is_other_protocol = protocol.trim_ascii() != b"CAN";
        }
        if let Some(start) = text.strip_prefix(b"START DATE AND TIME ") {
            self.at = 0;
            self.start = date(start).ok_or(LogFault::Said(
                "a start that is not a date, as in 8:4:2024 9:10:11:350 (day, month, year); times \
                 count from 1970",
            ))?;
        }
        Ok(())
    }

    /// Reads `11:45:04:1230 Rx 1 0x123 s 8 11 22 …`.
    fn frame(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<ParsedFrame, LogFault> {
        const TIME: &str = "a time, as in 11:45:04:1230";
        const ID: &str = "an ID in the base that the header states: HEX or DEC";
        let mut words = LineWords::new(line);
        let word = words.need(TIME)?;
        // Also for a line that is left out: the next one can count from it.
        let ns = self.time(time_of(word.text).ok_or(word.wrong(TIME))?);
        let mut seen = ParsedFrame::new(ns, None, InterfaceName::of_channel(1));
        let side = words.need("Rx or Tx")?;
        if is_error(&side) {
            FrameDraft::error().put(frame)?;
            return Ok(seen);
        }
        seen.direction = Some(match side {
            side if side.is("Rx") => Direction::Received,
            side if side.is("Tx") => Direction::Sent,
            _ => return Err(side.wrong("Rx or Tx")),
        });
        let channel = words.need("a channel")?;
        let number = channel.number(10).ok_or(channel.wrong("a channel"))?;
        seen.name = InterfaceName::of_channel(number);
        let id = words.need(ID)?;
        if is_error(&id) {
            // An error frame has no sender.
            seen.direction = None;
            FrameDraft::error().put(frame)?;
            return Ok(seen);
        }
        let raw = self.number(&id).ok_or(id.wrong(ID))?;
        let kind = words.need("s, x, sr, xr, s-fd or x-fd")?;
        let kind = FrameType::parse(&kind).ok_or(kind.wrong("s, x, sr, xr, s-fd or x-fd"))?;
        let wrong = id.wrong("an ID of at most 7FF, or 1FFFFFFF where the frame is extended (x)");
        let mut draft = FrameDraft::new(draft::id(raw, kind.is_extended).ok_or(wrong)?);
        let length = words.need("a length")?;
        let count = length.number(10).filter(|count| *count <= 64);
        let count = count.ok_or(length.wrong("a length of at most 64"))?;
        if kind.is_remote {
            // Zeros in place of a payload can follow.
            draft.id = draft.id.with_rtr();
            draft = draft.with_dlc(count).ok_or(length.wrong("a DLC"))?;
        } else {
            if kind.is_fd {
                draft = draft.fd(false, false);
                draft.len = fd_length(count as usize, words.count())
                    .ok_or(length.wrong("as many bytes as the line has, or their DLC"))?;
            } else {
                draft = draft.with_dlc(count).ok_or(length.wrong("a DLC"))?;
            }
            // The ID has been read, so the base is known: that of the header, or hex.
            words.bytes(draft.payload()?, self.base.unwrap_or(16))?;
            if let Some(word) = words.next() {
                return Err(word.wrong("the end of the line: all bytes of the payload are there"));
            }
        }
        draft.put(frame)?;
        Ok(seen)
    }

    /// Returns the time of a frame.
    fn time(&mut self, time: Nanos) -> Nanos {
        match self.mode {
            TimeMode::Absolute => self.start.saturating_add(time),
            TimeMode::Relative => {
                self.at = self.at.saturating_add(time);
                self.start.saturating_add(self.at)
            }
            TimeMode::System => {
                // The time of day begins again at midnight.
                if self.at.saturating_sub(time) > DAY / 2 {
                    self.start = self.start.saturating_add(DAY);
                }
                self.at = time;
                (self.start - self.start % DAY).saturating_add(time)
            }
        }
    }

    /// Parses a number in the base of the file. Where no header states it, `0x` shows that it is
    /// hex.
    fn number(&self, word: &LineWord<'_>) -> Option<u32> {
        match (word.text.strip_prefix(b"0x"), self.base) {
            (Some(digits), None | Some(16)) => number(digits, 16),
            (Some(_), Some(_)) => None,
            (None, base) => word.number(base?),
        }
    }
}

/// Returns whether a line is one of a header, or looks like that of a frame in a section that was
/// cut out of a log; its IDs must show their base.
pub(super) fn is_line(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if let Some(header) = line.strip_prefix(MARK) {
        let begins = [&b"BUSMASTER "[..], b"PROTOCOL ", b"[START LOGGING SESSION]"];
        return begins.iter().any(|begin| header.starts_with(begin));
    }
    let mut words = LineWords::new(line);
    words
        .next()
        .is_some_and(|word| time_of(word.text).is_some())
        && words
            .next()
            .is_some_and(|word| word.is("Rx") || word.is("Tx"))
        && words.next().is_some_and(|word| word.number(10).is_some())
        && words
            .next()
            .is_some_and(|word| word.text.starts_with(b"0x"))
        && words
            .next()
            .is_some_and(|word| FrameType::parse(&word).is_some())
}

fn is_error(word: &LineWord<'_>) -> bool {
    word.text.starts_with(b"ERR")
}

/// Returns the length of an FD frame with these bytes on its line: the number is theirs, or their
/// DLC.
fn fd_length(number: usize, bytes: usize) -> Option<usize> {
    let of_code = u8::try_from(number).ok().filter(|code| *code <= 15);
    let of_code = of_code.map(|code| usize::from(dlc::fd_len(code)));
    let is_length = usize::from(dlc::fd_len(dlc::fd_dlc(bytes))) == bytes;
    (is_length && (number == bytes || of_code == Some(bytes))).then_some(bytes)
}

/// Parses `11:45:04:1230`: hours, minutes, seconds and units of 100 µs.
fn time_of(text: &[u8]) -> Option<Nanos> {
    let [hours, minutes, seconds, units] = parts(text)?;
    (hours < MAX_HOURS && minutes < 60 && seconds < 60 && units < 10_000).then(|| {
        Nanos::from(hours) * 3600 * SECOND
            + Nanos::from(minutes * 60 + seconds) * SECOND
            + Nanos::from(units) * 100_000
    })
}

/// Parses `29:6:2012 11:39:2:250`: day, month, year, hours, minutes, seconds and milliseconds.
fn date(text: &[u8]) -> Option<Nanos> {
    let mut words = LineWords::new(text);
    let [of_month, month, year] = parts(words.next()?.text)?;
    let [hours, minutes, seconds, ms] = parts(words.next()?.text)?;
    if hours >= 24 || minutes >= 60 || seconds >= 60 || ms >= 1000 {
        return None;
    }
    let of_day = Nanos::from(hours * 3600 + minutes * 60 + seconds) * SECOND;
    Some(day(year, month, of_month)? + of_day + Nanos::from(ms) * 1_000_000)
}

/// Parses numbers with colons between them.
fn parts<const N: usize>(text: &[u8]) -> Option<[u32; N]> {
    let mut found = [0; N];
    let mut parts = text.split(|b| *b == b':');
    for place in &mut found {
        *place = number(parts.next()?, 10)?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_fd_frames() {
        assert_eq!(fd_length(12, 12), Some(12));
        assert_eq!(fd_length(9, 12), Some(12));
        assert_eq!(fd_length(8, 8), Some(8));
        assert_eq!(fd_length(15, 64), Some(64));
        for (number, bytes) in [(13, 13), (9, 9), (12, 8), (64, 0)] {
            assert_eq!(fd_length(number, bytes), None, "{number} {bytes}");
        }
    }

    #[test]
    fn times_and_dates() {
        assert_eq!(time_of(b"00:00:01:2541"), Some(1_254_100_000));
        assert_eq!(time_of(b"94:56:24:3862"), Some(341_784_386_200_000));
        assert_eq!(
            date(b"29:6:2012 11:39:2:250"),
            Some(1_340_969_942_250_000_000)
        );
        for wrong in [
            "",
            "1:2:3",
            "1:2:3:4:5",
            "1:60:3:4",
            "1:2:3:x",
            "4294967295:2:3:4",
            "1:2:3:10000",
        ] {
            assert_eq!(time_of(wrong.as_bytes()), None, "{wrong}");
        }
        for wrong in ["6:29:2012 11:39:2:250", "29:6:2012 4294967295:39:2:250"] {
            assert_eq!(date(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
