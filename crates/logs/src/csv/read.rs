//! Rows of CSV.

use super::{PYTHON_CAN, base64};
use crate::bad::LogFault;
use crate::draft::{self, FrameDraft};
use crate::name::InterfaceName;
use crate::read::{LineReader, ParsedFrame};
use crate::words::{LineWord, decimal, number};
use frame::text::Direction;
use frame::{CanId, FrameBuf, Nanos, dlc};

/// The columns of SavvyCAN before the bytes of the payload. Versions before 2019 had no direction.
const SAVVY_CAN: [(&str, CsvLayout); 2] = [
    (
        "time stamp,id,extended,dir,bus,len,d1",
        CsvLayout::SavvyCan {
            has_direction: true,
        },
    ),
    (
        "time stamp,id,extended,bus,len,d1",
        CsvLayout::SavvyCan {
            has_direction: false,
        },
    ),
];

/// The meaning of the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CsvLayout {
    PythonCan,
    SavvyCan { has_direction: bool },
}

impl CsvLayout {
    /// Returns the layout of a file whose first line is this one.
    fn parse(line: &[u8]) -> Option<Self> {
        let line: Vec<u8> = line.to_ascii_lowercase();
        let line = line.trim_ascii();
        if line == PYTHON_CAN.as_bytes() {
            return Some(Self::PythonCan);
        }
        let of_savvy_can = |(begin, _): &&(&str, Self)| line.starts_with(begin.as_bytes());
        let found = SAVVY_CAN.iter().find(of_savvy_can);
        found.map(|(_, layout)| *layout)
    }
}

/// Returns whether a line names the columns of a layout that is known.
pub(super) fn is_header(line: &[u8]) -> bool {
    CsvLayout::parse(line).is_some()
}

/// A reader of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct CsvReader {
    /// `None` before the line that names the columns.
    layout: Option<CsvLayout>,
}

impl LineReader for CsvReader {
    fn line(&mut self, line: &[u8], frame: &mut FrameBuf) -> Result<Option<ParsedFrame>, LogFault> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        if let Some(layout) = CsvLayout::parse(line) {
            self.layout = Some(layout);
            return Ok(None);
        }
        let mut cells = RowCells::new(line);
        match self.layout {
            None => Err(LogFault::Said(
                "no line before this one names the columns, as python-can and SavvyCAN write them",
            )),
            Some(CsvLayout::PythonCan) => python_can(&mut cells, frame).map(Some),
            Some(CsvLayout::SavvyCan { has_direction }) => {
                savvy_can(&mut cells, has_direction, frame).map(Some)
            }
        }
    }
}

/// Reads `1712567411.25,0x123,0,0,0,2,3q0=`.
fn python_can(cells: &mut RowCells<'_>, frame: &mut FrameBuf) -> Result<ParsedFrame, LogFault> {
    const DATA: &str = "the payload in base64, as many bytes as the column dlc states";
    let time = cells.need("a time in seconds")?;
    let ns = seconds(time.text).ok_or(time.wrong("a time in seconds"))?;
    let id = cells.need("an ID, as in 0x123")?;
    let raw = hex(&id).ok_or(id.wrong("an ID, as in 0x123"))?;
    let is_extended = cells.flag("1 (extended) or 0")?;
    let is_remote = cells.flag("1 (remote) or 0")?;
    let is_error = cells.flag("1 (error frame) or 0")?;
    let length = cells.need("a DLC, or a number of bytes of an FD frame")?;
    let count = length.number(10).filter(|count| *count <= 64);
    let count = count.ok_or(length.wrong("a DLC, or a number of bytes of an FD frame"))?;
    let data = cells.need(DATA)?;
    let mut bytes = [0; 64];
    let len = base64::decode(data.text, &mut bytes).ok_or(data.wrong(DATA))?;
    if let Some(cell) = cells.next() {
        return Err(cell.wrong("the end of the row: it has seven columns"));
    }
    let mut draft = if is_error {
        FrameDraft::new(CanId::from_raw(CanId::ERR_FLAG | raw & CanId::EFF_MASK))
    } else {
        let wrong = id.wrong("an ID of at most 7FF, or 1FFFFFFF where the frame is extended");
        FrameDraft::new(draft::id(raw, is_extended).ok_or(wrong)?)
    };
    if is_remote {
        draft.id = draft.id.with_rtr();
        draft = draft.with_dlc(count).ok_or(length.wrong("a DLC"))?;
    } else if is_error && raw == 0 && len == 0 {
        // A log that only records that there was one.
        draft = FrameDraft::error();
    } else if len <= 8 {
        draft = draft.with_dlc(count).ok_or(data.wrong(DATA))?;
    } else {
        draft = fd(draft, len).ok_or(length.wrong("a number of bytes of an FD frame"))?;
    }
    if !is_remote && !is_error && draft.len != len || len > 8 && count as usize != len {
        return Err(data.wrong(DATA));
    }
    draft.data = bytes;
    draft.put(frame)?;
    Ok(ParsedFrame::new(ns, None, InterfaceName::numbered(0)))
}

/// Reads `39747828,000005EB,false,Rx,0,8,E8,45,85,4B,4A,28,36,69,`.
fn savvy_can(
    cells: &mut RowCells<'_>,
    has_direction: bool,
    frame: &mut FrameBuf,
) -> Result<ParsedFrame, LogFault> {
    const TIME: &str = "a time in whole microseconds";
    const LEN: &str = "a length that a classic or FD frame can have";
    let time = cells.need(TIME)?;
    // A fraction would be seconds, which some firmware writes into this column.
    let us = Some(time.text).filter(|text| !text.contains(&b'.'));
    let ns = us
        .and_then(|text| decimal(text, 3))
        .ok_or(time.wrong(TIME))?;
    let id = cells.need("a hex ID")?;
    let is_extended = cells.flag("true (extended) or false")?;
    let wrong = id.wrong("a hex ID of at most 7FF, or 1FFFFFFF where the frame is extended");
    let raw = hex(&id).and_then(|raw| draft::id(raw, is_extended));
    let mut draft = FrameDraft::new(raw.ok_or(wrong)?);
    let mut direction = None;
    if has_direction {
        let side = cells.need("Rx or Tx")?;
        direction = Some(match side {
            side if side.is("Rx") => Direction::Received,
            side if side.is("Tx") => Direction::Sent,
            _ => return Err(side.wrong("Rx or Tx")),
        });
    }
    let bus = cells.need("the number of a bus, from 0")?;
    let number = bus
        .number(10)
        .ok_or(bus.wrong("the number of a bus, from 0"))?;
    let length = cells.need(LEN)?;
    let len = length.number(10).filter(|len| *len <= 64);
    let len = len.ok_or(length.wrong(LEN))?;
    draft = match len {
        0..=8 => draft.with_dlc(len),
        _ => fd(draft, len as usize),
    }
    .ok_or(length.wrong(LEN))?;
    for byte in draft.payload()? {
        let cell = cells.need("a byte of the payload, two hex digits")?;
        let value = hex(&cell).and_then(|value| u8::try_from(value).ok());
        *byte = value.ok_or(cell.wrong("a byte of the payload, two hex digits"))?;
    }
    // Zeros for the bytes that a shorter payload does not have, and an empty cell, can follow.
    if let Some(cell) = cells.find(|cell| hex(cell).is_some_and(|value| value != 0)) {
        return Err(cell.wrong("no further byte: the row has all that its length states"));
    }
    draft.put(frame)?;
    Ok(ParsedFrame::new(
        ns,
        direction,
        InterfaceName::numbered(number),
    ))
}

/// Makes it an FD frame of this length.
fn fd(draft: FrameDraft, len: usize) -> Option<FrameDraft> {
    let mut draft = draft.fd(false, false);
    draft.len = len;
    (usize::from(dlc::fd_len(dlc::fd_dlc(len))) == len).then_some(draft)
}

/// Parses a hex number with or without `0x`.
fn hex(cell: &LineWord<'_>) -> Option<u32> {
    let digits = cell.text.strip_prefix(b"0x").unwrap_or(cell.text);
    number(digits, 16)
}

/// Parses seconds as Python writes them, also as in `1.5e-05`, and returns nanoseconds.
fn seconds(text: &[u8]) -> Option<Nanos> {
    let exponent = text.iter().position(|b| matches!(b, b'e' | b'E'));
    let Some(exponent) = exponent else {
        return decimal(text, 9);
    };
    let (mantissa, exponent) = text.split_at_checked(exponent)?;
    let power = number(exponent.get(1..)?.strip_prefix(b"-")?, 10)?;
    // One digit precedes the point; Python writes no other exponents for times of this size.
    Some(
        decimal(mantissa, 9)?
            .checked_div(10_u64.checked_pow(power)?)
            .unwrap_or(0),
    )
}

/// The rest of a row.
struct RowCells<'a> {
    rest: Option<&'a [u8]>,
    column: usize,
}

impl<'a> RowCells<'a> {
    const fn new(line: &'a [u8]) -> Self {
        Self {
            rest: Some(line),
            column: 1,
        }
    }

    /// Returns the next cell, or an error with the expected element.
    fn need(&mut self, expected: &'static str) -> Result<LineWord<'a>, LogFault> {
        let column = self.column;
        self.next().ok_or(LogFault::Column(column, expected))
    }

    fn flag(&mut self, expected: &'static str) -> Result<bool, LogFault> {
        let cell = self.need(expected)?;
        match cell {
            cell if cell.is("1") || cell.is("true") => Ok(true),
            cell if cell.is("0") || cell.is("false") => Ok(false),
            _ => Err(cell.wrong(expected)),
        }
    }
}

impl<'a> Iterator for RowCells<'a> {
    type Item = LineWord<'a>;

    fn next(&mut self) -> Option<LineWord<'a>> {
        let rest = self.rest?;
        let end = rest.iter().position(|b| *b == b',');
        let cell = rest.get(..end.unwrap_or(rest.len()))?;
        let word = LineWord {
            text: cell.trim_ascii(),
            column: self.column,
        };
        self.rest = end.and_then(|end| rest.get(end + 1..));
        self.column += cell.len() + 1;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_python() {
        for (text, ns) in [
            ("0.0", Some(0)),
            ("1712567411.25", Some(1_712_567_411_250_000_000)),
            ("1.5e-05", Some(15_000)),
            ("9e-09", Some(9)),
            ("1e+16", None),
            ("1e-99", None),
            ("e-1", None),
            ("nan", None),
            ("-1.0", None),
        ] {
            assert_eq!(seconds(text.as_bytes()), ns, "{text}");
        }
    }
}
