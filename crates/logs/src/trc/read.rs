//! Lines of TRC. Bus N is the interface `can(N-1)`, unless a comment written by cangate gives its
//! name.

use super::EPOCH;
use crate::bad::LogFault;
use crate::channels::ChannelNames;
use crate::draft::{self, FrameDraft};
use crate::read::{LineReader, ParsedFrame};
use crate::words::{LineWord, LineWords, decimal, number, signed, with_point};
use frame::text::Direction;
use frame::{FrameBuf, Nanos, dlc};

const DAY: u128 = 86_400_000_000_000;

/// The columns of each version where the file does not specify its own; `Y` is the direction or the
/// kind of another event, in versions 1.1 to 1.3.
const COLUMNS: [(&str, &str); 6] = [
    ("1.0", "NOILD"),
    ("1.1", "NOYILD"),
    ("1.2", "NOBYILD"),
    ("1.3", "NOBYIRLD"),
    ("2.0", "NOTIdlD"),
    ("2.1", "NOTBIdRLD"),
];

/// Lines of versions 1.1 to 1.3 that are not frames: warnings and states of the controller, events
/// of the user.
const OTHERS: [&str; 5] = ["Warng", "Warning", "Event", "Status", "Statu"];

/// A reader of TRC lines.
#[derive(Clone, Debug)]
pub(crate) struct TrcReader {
    start: Nanos,
    columns: Vec<u8>,
    /// Whether the file has given its version or its columns.
    reported: bool,
    names: ChannelNames,
}

impl TrcReader {
    pub(crate) fn new() -> Self {
        Self {
            start: 0,
            columns: b"NOILD".to_vec(),
            reported: false,
            names: ChannelNames::new(),
        }
    }
}

impl LineReader for TrcReader {
    fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<ParsedFrame>, LogFault> {
        let line = line.trim_ascii_end();
        match line.trim_ascii_start() {
            [] => Ok(None),
            [b';', header @ ..] => self.header(header).map(|()| None),
            _ => self.event(line, frame),
        }
    }
}

impl TrcReader {
    fn header(&mut self, text: &[u8]) -> Result<(), LogFault> {
        if let Some(version) = text.strip_prefix(b"$FILEVERSION=") {
            let known = COLUMNS.iter().find(|(name, _)| name.as_bytes() == version);
            let (_, columns) = known.ok_or(LogFault::Said(
                "a version of TRC that is not known: 1.0 to 1.3, 2.0 and 2.1 are read",
            ))?;
            self.columns = columns.as_bytes().to_vec();
            self.reported = true;
        } else if let Some(start) = text.strip_prefix(b"$STARTTIME=") {
            self.start = days(start).ok_or(LogFault::Said(
                "a start that is not a number of days since 1899-12-30; times count from 1970",
            ))?;
        } else if let Some(columns) = text.strip_prefix(b"$COLUMNS=") {
            let columns: Vec<u8> = columns.iter().copied().filter(|b| *b != b',').collect();
            if columns.len() > 16 || !columns.iter().all(u8::is_ascii_alphabetic) {
                return Err(LogFault::Said("columns that are not letters"));
            }
            self.columns = columns;
            self.reported = true;
        } else {
            self.names.comment(LineWords::new(text));
        }
        Ok(())
    }

    fn event(
        &mut self,
        line: &[u8],
        frame: &mut FrameBuf,
    ) -> Result<Option<ParsedFrame>, LogFault> {
        // In a section cut out of a file, a direction distinguishes version 1.1 from 1.0.
        if !self.reported
            && LineWords::new(line)
                .nth(2)
                .is_some_and(|word| is_event(&word))
        {
            self.columns = b"NOYILD".to_vec();
            self.reported = true;
        }
        let mut words = LineWords::new(line);
        let mut seen = TrcColumns::default();
        for column in &self.columns {
            match column {
                b'D' => break,
                b'O' => {
                    let word = words.need("a time in milliseconds")?;
                    let ns = time_of(word.text).ok_or(word.wrong("a time in milliseconds"))?;
                    seen.offset = ns;
                }
                b'B' => {
                    let word = words.need("the number of a bus")?;
                    let bus = word.number(10).ok_or(word.wrong("the number of a bus"))?;
                    seen.bus = Some(bus);
                }
                b'Y' => {
                    let word = words.need("Rx or Tx")?;
                    match word {
                        word if word.is("Rx") => seen.direction = Some(Direction::Received),
                        word if word.is("Tx") => seen.direction = Some(Direction::Sent),
                        word if word.is("Error") => return self.error(&seen, frame).map(Some),
                        word if OTHERS.iter().any(|other| word.is(other)) => return Ok(None),
                        _ => return Err(word.wrong("Rx, Tx, Error, Warng or Event")),
                    }
                }
                b'T' => {
                    let word = words.need("a type, as in DT")?;
                    match word.text {
                        b"DT" | b"FD" | b"FB" | b"FE" | b"BI" | b"RR" | b"ER" => {
                            seen.kind = word.text;
                        }
                        b"ST" | b"EC" | b"EV" => return Ok(None),
                        _ => {
                            return Err(
                                word.wrong("a type: DT, FD, FB, FE, BI, RR, ER, ST, EC or EV")
                            );
                        }
                    }
                }
                // An error frame has no ID, and its length has another meaning.
                b'I' if seen.kind == b"ER" => return self.error(&seen, frame).map(Some),
                b'I' => seen.id = Some(words.need("an ID of 4 or 8 hex digits")?),
                b'd' => {
                    let word = words.need("Rx or Tx")?;
                    seen.direction = match word {
                        word if word.is("Rx") => Some(Direction::Received),
                        word if word.is("Tx") => Some(Direction::Sent),
                        _ => return Err(word.wrong("Rx or Tx")),
                    };
                }
                b'L' | b'l' => {
                    seen.len = Some((words.need("a length")?, *column == b'L'));
                }
                // The number of the line, and reserved and unknown columns.
                _ => {
                    words.need("another column")?;
                }
            }
        }
        // Version 1.0 has no type; the word precedes the data.
        if words.peek().is_some_and(|word| word.is("ERROR")) {
            return self.error(&seen, frame).map(Some);
        }
        let Some(draft) = draft(&seen, &mut words)? else {
            return Ok(None);
        };
        draft.put(frame)?;
        Ok(Some(self.got(&seen)))
    }

    fn error(&self, seen: &TrcColumns<'_>, frame: &mut FrameBuf) -> Result<ParsedFrame, LogFault> {
        FrameDraft::error().put(frame)?;
        Ok(self.got(seen))
    }

    fn got(&self, seen: &TrcColumns<'_>) -> ParsedFrame {
        let ns = self.start.saturating_add_signed(seen.offset);
        let name = self.names.get(seen.bus.unwrap_or(1));
        ParsedFrame::new(ns, seen.direction, name)
    }
}

/// Returns whether a line is one of a header, or looks like that of a frame of versions 1.0 to 1.3,
/// in a file that has no header.
pub(super) fn is_line(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b";") || is_frame(line)
}

fn is_frame(line: &[u8]) -> bool {
    let mut words = LineWords::new(line);
    let number = words.next().and_then(|word| word.text.strip_suffix(b")"));
    let numbered = number.is_some_and(|digits| self::number(digits, 10).is_some());
    let timed = words
        .next()
        .is_some_and(|word| time_of(word.text).is_some());
    let id = words.next().is_some_and(|word| {
        is_event(&word) || matches!(word.text.len(), 4 | 8) && word.number(16).is_some()
    });
    numbered && timed && id
}

/// Returns whether a word is in the column in which versions 1.1 to 1.3 have the kind of a line.
fn is_event(word: &LineWord<'_>) -> bool {
    let events = ["Rx", "Tx", "Error"];
    events.iter().chain(&OTHERS).any(|event| word.is(event))
}

/// Parses a time in ms; some countries write it with a comma.
fn time_of(text: &[u8]) -> Option<i64> {
    signed(&with_point(text), 6)
}

/// The contents of the columns before the payload.
#[derive(Default)]
struct TrcColumns<'a> {
    /// The time from the start; a few programs write frames from before the start.
    offset: i64,
    bus: Option<u32>,
    kind: &'a [u8],
    id: Option<LineWord<'a>>,
    direction: Option<Direction>,
    /// A length, or a DLC.
    len: Option<(LineWord<'a>, bool)>,
}

fn draft(seen: &TrcColumns<'_>, words: &mut LineWords<'_>) -> Result<Option<FrameDraft>, LogFault> {
    const ID: &str = "an ID of 4 hex digits (standard) or 8 (extended)";
    const LEN: &str = "a length that this kind of frame can have";
    let missing = LogFault::Said("no ID or no length: the columns of this file leave them out");
    let (word, (len, is_dlc)) = seen.id.zip(seen.len).ok_or(missing)?;
    // Version 1.0 marks lines that are not frames in this way.
    if word.text == b"FFFFFFFF" {
        return Ok(None);
    }
    let id = word
        .number(16)
        .and_then(|id| draft::id(id, word.text.len() > 4));
    let mut draft = FrameDraft::new(id.ok_or(word.wrong(ID))?);
    let value = len.number(10).filter(|value| *value <= 64);
    let value = value.ok_or(len.wrong(LEN))?;
    match seen.kind {
        b"FD" | b"FB" | b"FE" | b"BI" => {
            let (brs, esi) = (
                matches!(seen.kind, b"FB" | b"BI"),
                matches!(seen.kind, b"FE" | b"BI"),
            );
            draft = draft.fd(brs, esi);
            draft.len = match is_dlc {
                true if value > 15 => return Err(len.wrong(LEN)),
                true => usize::from(dlc::fd_len(value as u8)),
                false => value as usize,
            };
        }
        _ => draft = draft.with_dlc(value).ok_or(len.wrong(LEN))?,
    }
    let remote = words.peek().is_some_and(|word| word.is("RTR"));
    if remote || seen.kind == b"RR" {
        draft.id = draft.id.with_rtr();
    } else {
        if let Some(word) = (*words).take(draft.len).find(|word| word.text.len() != 2) {
            return Err(word.wrong("a byte of the payload, two hex digits"));
        }
        words.bytes(draft.payload()?, 16)?;
        words.no_further_byte()?;
    }
    Ok(Some(draft))
}

/// Parses days since 1899-12-30 with a fraction, and returns Unix time.
fn days(text: &[u8]) -> Option<Nanos> {
    let text = &*with_point(text);
    // A day in units of 10^-14 days is 0.864 ns.
    let point = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    let (whole, fraction) = text.split_at_checked(point)?;
    let whole = decimal(whole, 0)?.checked_sub(EPOCH)?;
    let part = match fraction {
        [] | [b'.'] => 0,
        [_, digits @ ..] => decimal(&[b"0.", digits].concat(), 14)?,
    };
    let ns = u128::from(whole) * DAY + (u128::from(part) * DAY + DAY / 2) / 10_u128.pow(14);
    // To the microsecond: no program writes more digits than that.
    Nanos::try_from((ns + 500) / 1000 * 1000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_days_of_another_epoch() {
        assert_eq!(days(b"25569"), Some(0));
        assert_eq!(days(b"25570.5"), Some(86_400_000_000_000 * 3 / 2));
        // 2017-09-29 22:06:13.191
        assert_eq!(days(b"43007.920986006946"), Some(1_506_722_773_191_000_000));
        for wrong in ["", "x", "-1", "25568", "99999999999999999999"] {
            assert_eq!(days(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
