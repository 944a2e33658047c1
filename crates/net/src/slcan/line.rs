//! A frame as a line.

use crate::digits;
use frame::{CanId, Frame, FrameRef, Kind, dlc, flags};

/// Reads a frame from a line without its end. `stamped`: a time stamp of four hex digits may
/// follow, which is not used.
pub(super) fn read(line: &[u8], stamped: bool) -> Option<Frame> {
    let (&letter, rest) = line.split_first()?;
    let wide = letter.is_ascii_uppercase();
    let (id, rest) = rest.split_at_checked(if wide { 8 } else { 3 })?;
    let number = digits::number(id)?;
    let id = if wide {
        CanId::eff(number).ok()?
    } else {
        CanId::sff(number).ok()?
    };
    let (&code, data) = rest.split_first()?;
    let code = digits::digit(code)?;
    let letter = letter.to_ascii_lowercase();
    let len = match letter {
        b't' | b'r' if code > 8 => return None,
        _ => usize::from(dlc::fd_len(code)),
    };
    let data = match letter {
        b'r' => rest_of(data, 0, stamped)?,
        _ => rest_of(data, len, stamped)?,
    };
    let mut bytes = [0; dlc::FD_MAX];
    let bytes = bytes.get_mut(..data.len() / 2)?;
    digits::fill(bytes, data)?;
    match letter {
        b't' => Frame::classic(id, bytes).ok(),
        b'r' => Frame::remote(id, len).ok(),
        b'd' => Frame::fd(id, 0, bytes).ok(),
        b'b' => Frame::fd(id, flags::BRS, bytes).ok(),
        _ => None,
    }
}

/// Returns the digits of a payload of `len` bytes; `None` if the line has another length.
fn rest_of(digits: &[u8], len: usize, stamped: bool) -> Option<&[u8]> {
    let (data, stamp) = digits.split_at_checked(2 * len)?;
    let fits = stamp.is_empty() || stamped && stamp.len() == 4 && digits::number(stamp).is_some();
    fits.then_some(data)
}

/// Appends a frame that a line [can express](super::carries), without the line's end.
pub(super) fn write(frame: &FrameRef<'_>, out: &mut Vec<u8>) {
    let header = frame.header();
    let letter = match frame.kind() {
        Kind::Classic if header.is_rtr() => b'r',
        Kind::Classic => b't',
        _ if header.is_brs() => b'b',
        _ => b'd',
    };
    let id = frame.id();
    if id.is_eff() {
        out.push(letter.to_ascii_uppercase());
        digits::put(out, id.number(), 8);
    } else {
        out.push(letter);
        digits::put(out, id.number(), 3);
    }
    let code = match frame.kind() {
        Kind::Classic => frame.len() as u32,
        _ => u32::from(dlc::fd_dlc(frame.len())),
    };
    digits::put(out, code, 1);
    for byte in frame.data() {
        digits::put(out, u32::from(*byte), 2);
    }
    // A length that no DLC represents is padded, as on the wire.
    if frame.kind() == Kind::Fd {
        for _ in frame.len()..dlc::fd_padded(frame.len()) {
            out.extend_from_slice(b"00");
        }
    }
}
