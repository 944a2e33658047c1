//! Elements, and frames in them.

use crate::digits;
use frame::{CanId, Frame, FrameRef, Kind, Nanos, dlc};
use std::io::Write as _;

/// Greatest length of an element, bytes, with its brackets; python-can discards longer ones.
const LONGEST: usize = 200;

/// Greatest length of a bus's name: that of a Linux interface with its ending zero is 16, and a
/// port's name has up to 32 characters.
const LONGEST_NAME: usize = 32;

/// The beginning of the bytes that have arrived.
pub(super) enum ElementRead<'a> {
    /// The words of an element, and the bytes that it used.
    Words(Vec<&'a [u8]>, usize),
    /// These bytes are not an element.
    Wrong(usize),
    /// Blanks between elements.
    Blank(usize),
    /// More bytes are needed.
    Short,
    /// An element that is too long.
    TooLong,
}

/// Returns whether a client can name such a bus: 1 to 32 characters without blanks and brackets.
#[must_use]
pub fn is_bus_name(name: &str) -> bool {
    let fits = (1..=LONGEST_NAME).contains(&name.len());
    fits && name
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>'))
}

/// Returns whether the protocol can express the frame: a classic data frame, or the class of an
/// error frame.
#[must_use]
pub fn carries(frame: &FrameRef<'_>) -> bool {
    frame.kind() == Kind::Classic && !frame.header().is_rtr()
}

/// Reads the first element of these bytes.
pub(super) fn read(input: &[u8]) -> ElementRead<'_> {
    let blanks = input
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    if blanks > 0 {
        return ElementRead::Blank(blanks);
    }
    match input.first() {
        None => return ElementRead::Short,
        Some(b'<') => {}
        Some(_) => {
            let wrong = input.iter().take_while(|byte| **byte != b'<').count();
            return ElementRead::Wrong(wrong);
        }
    }
    let Some(end) = input.iter().position(|byte| *byte == b'>') else {
        if input.len() >= LONGEST {
            return ElementRead::TooLong;
        }
        return ElementRead::Short;
    };
    if end >= LONGEST {
        return ElementRead::TooLong;
    }
    // A second bracket begins an element whose beginning was cut off.
    if let Some(again) = input[1..end].iter().position(|byte| *byte == b'<') {
        return ElementRead::Wrong(again + 1);
    }
    let words = input[1..end].split(u8::is_ascii_whitespace);
    ElementRead::Words(words.filter(|word| !word.is_empty()).collect(), end + 1)
}

/// Reads an identifier of up to 3, or of 8 hex digits.
fn id(word: &[u8]) -> Option<CanId> {
    let number = digits::number(word)?;
    match word.len() {
        8 => CanId::eff(number).ok(),
        1..=3 => CanId::sff(number).ok(),
        _ => None,
    }
}

/// Reads the words after `send`: ID, DLC, and each byte as one or two hex digits.
pub(super) fn sent_frame(words: &[&[u8]]) -> Option<Frame> {
    let [name, len, bytes @ ..] = words else {
        return None;
    };
    let [len @ b'0'..=b'8'] = len else {
        return None;
    };
    let mut data = [0; dlc::CLASSIC_MAX];
    let data = data.get_mut(..usize::from(len - b'0'))?;
    if bytes.len() != data.len() {
        return None;
    }
    for (byte, word) in data.iter_mut().zip(bytes) {
        if word.len() > 2 {
            return None;
        }
        *byte = digits::number(word)? as u8;
    }
    Frame::classic(id(name)?, data).ok()
}

/// Reads the words after `frame`: ID, stamp, and all bytes as one word, which is left out where
/// there are none.
pub(super) fn received_frame(words: &[&[u8]]) -> Option<Frame> {
    let (name, stamp, digits) = match words {
        [name, stamp] => (name, stamp, &b""[..]),
        [name, stamp, digits] => (name, stamp, *digits),
        _ => return None,
    };
    if !is_stamp(stamp) {
        return None;
    }
    let mut data = [0; dlc::CLASSIC_MAX];
    let data = data.get_mut(..digits.len() / 2)?;
    digits::fill(data, digits)?;
    Frame::classic(id(name)?, data).ok()
}

/// Reads the words after `error`, if they are an error frame: its class and a stamp.
pub(super) fn error_frame(words: &[&[u8]]) -> Option<Frame> {
    let [class, stamp] = words else {
        return None;
    };
    let class = digits::number(class)?;
    if !is_stamp(stamp) || class > CanId::EFF_MASK {
        return None;
    }
    let id = CanId::from_raw(CanId::ERR_FLAG | class);
    Frame::classic(id, &[0; dlc::CLASSIC_MAX]).ok()
}

/// Returns whether a word is a time: digits, a point, digits.
fn is_stamp(word: &[u8]) -> bool {
    let mut parts = word.split(|byte| *byte == b'.');
    let is_number = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_none()
}

fn put_id(id: CanId, out: &mut Vec<u8>) {
    let digits = if id.is_eff() { 8 } else { 3 };
    digits::put(out, id.number(), digits);
}

/// Appends a frame that the protocol [can express](carries), as a server sends it.
pub(super) fn write_received(frame: &FrameRef<'_>, unix: Nanos, out: &mut Vec<u8>) {
    let id = frame.id();
    out.extend_from_slice(if id.is_err() {
        b"< error "
    } else {
        b"< frame "
    });
    if id.is_err() {
        digits::put(out, id.number(), if id.number() > 0xFFF { 8 } else { 3 });
    } else {
        put_id(id, out);
    }
    let (seconds, us) = (unix / 1_000_000_000, unix / 1000 % 1_000_000);
    // Writing to memory cannot fail.
    let _ = write!(out, " {seconds}.{us:06} ");
    if !id.is_err() {
        for byte in frame.data() {
            digits::put(out, u32::from(*byte), 2);
        }
        out.push(b' ');
    }
    out.push(b'>');
}

/// Appends a classic data frame as a client sends it.
pub(super) fn write_sent(frame: &FrameRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"< send ");
    put_id(frame.id(), out);
    let _ = write!(out, " {} ", frame.len());
    for byte in frame.data() {
        let _ = write!(out, "{byte:x} ");
    }
    if frame.is_empty() {
        out.push(b' ');
    }
    out.push(b'>');
}
