//! The printer for frames and log lines.

use super::Direction;
use crate::{CanId, Frame, FrameBuf, FrameRef, Kind, Nanos, flags};
use core::fmt;

/// A line of a log, for output with `Display`, without a line end.
///
/// The bytes are those of `candump -l` (`{:.9}`: of `candump -l -N`, nine digits of fraction; any
/// other precision gives six; digits that do not fit are truncated, not rounded, so that times are
/// never too late). FD frames are written with the flag FDF (`##4`, `##5`), as candump writes them
/// since it prints the kernel's flags; older versions left it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogLine<'a> {
    /// The time, in nanoseconds since the log's epoch.
    pub stamp: Nanos,
    /// The interface.
    pub interface: &'a str,
    /// The frame.
    pub frame: FrameRef<'a>,
    /// The direction; nothing is written for `None`.
    pub direction: Option<Direction>,
}

impl fmt::Display for LogLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = AsciiBuffer::new(f);
        out.push(b'(')?;
        out.decimal(self.stamp / 1_000_000_000, 10)?;
        out.push(b'.')?;
        let fraction = self.stamp % 1_000_000_000;
        if out.f.precision() == Some(9) {
            out.decimal(fraction, 9)?;
        } else {
            out.decimal(fraction / 1000, 6)?;
        }
        out.text(") ")?;
        out.text(self.interface)?;
        out.push(b' ')?;
        frame(&mut out, &self.frame, true)?;
        match self.direction {
            None => {}
            Some(Direction::Received) => out.text(" R")?,
            Some(Direction::Sent) => out.text(" T")?,
        }
        out.flush()
    }
}

impl fmt::Display for FrameRef<'_> {
    /// Formats the frame in cansend's grammar, with upper-case digits and no dots: `123#DEADBEEF`.
    /// FD flags are written without FDF, which `##` already implies; `{:#}` writes it, as in
    /// candump's logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fdf = f.alternate();
        let mut out = AsciiBuffer::new(f);
        frame(&mut out, self, fdf)?;
        out.flush()
    }
}

impl fmt::Display for Frame {
    /// Formats the frame like its [`FrameRef`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.view(), f)
    }
}

impl fmt::Display for FrameBuf {
    /// Formats the frame like its [`FrameRef`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.view(), f)
    }
}

fn frame(out: &mut AsciiBuffer<'_, '_>, frame: &FrameRef<'_>, fdf: bool) -> fmt::Result {
    let header = frame.header();
    let id = header.id();
    match header.kind() {
        Kind::Xl => {
            let xl = header.xl();
            out.hex(u32::from(xl.vcid), 2)?;
            out.hex(id.raw() & CanId::SFF_MASK, 3)?;
            out.push(b'#')?;
            out.hex(u32::from(header.flags() | flags::XL_XLF), 2)?;
            out.push(b':')?;
            out.hex(u32::from(xl.sdt), 2)?;
            out.push(b':')?;
            out.hex(xl.af, 8)?;
            out.push(b'#')?;
            return out.bytes(frame.data());
        }
        _ if id.is_err() => out.hex(id.raw() & (CanId::EFF_MASK | CanId::ERR_FLAG), 8)?,
        _ if id.is_eff() => out.hex(id.number(), 8)?,
        _ => out.hex(id.number(), 3)?,
    }
    out.push(b'#')?;
    if header.kind() == Kind::Fd {
        out.push(b'#')?;
        let fdf = if fdf { flags::FDF } else { 0 };
        out.hex(u32::from(header.flags() | fdf), 1)?;
        return out.bytes(frame.data());
    }
    if header.is_rtr() {
        out.push(b'R')?;
        if !header.is_empty() {
            out.hex(header.len() as u32, 1)?;
        }
    } else {
        out.bytes(frame.data())?;
    }
    if header.len8_dlc() != 0 {
        out.push(b'_')?;
        out.hex(u32::from(header.len8_dlc()), 1)?;
    }
    Ok(())
}

/// Collects ASCII, so that the formatter is called once per line and not once per digit.
struct AsciiBuffer<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    buf: [u8; 192],
    len: usize,
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

impl<'a, 'f> AsciiBuffer<'a, 'f> {
    fn new(f: &'a mut fmt::Formatter<'f>) -> Self {
        Self {
            f,
            buf: [0; 192],
            len: 0,
        }
    }

    fn flush(&mut self) -> fmt::Result {
        let text = self.buf.get(..self.len).unwrap_or_default();
        self.len = 0;
        self.f
            .write_str(core::str::from_utf8(text).map_err(|_| fmt::Error)?)
    }

    fn push(&mut self, byte: u8) -> fmt::Result {
        if self.len == self.buf.len() {
            self.flush()?;
        }
        if let Some(place) = self.buf.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> fmt::Result {
        match self.buf.get_mut(self.len..self.len + text.len()) {
            Some(place) => {
                place.copy_from_slice(text.as_bytes());
                self.len += text.len();
                Ok(())
            }
            None => {
                self.flush()?;
                self.f.write_str(text)
            }
        }
    }

    /// Writes the low `digits` hex digits of a value.
    fn hex(&mut self, value: u32, digits: u32) -> fmt::Result {
        for digit in (0..digits).rev() {
            self.push(DIGITS[(value >> (4 * digit) & 15) as usize])?;
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        for chunk in bytes.chunks(64) {
            if self.len + 2 * chunk.len() > self.buf.len() {
                self.flush()?;
            }
            let room = self.buf.get_mut(self.len..).unwrap_or_default();
            for (place, byte) in room.chunks_exact_mut(2).zip(chunk) {
                place.copy_from_slice(&[
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]);
            }
            self.len += 2 * chunk.len();
        }
        Ok(())
    }

    /// Writes at least `width` decimal digits, padded with zeros.
    fn decimal(&mut self, mut value: u64, width: usize) -> fmt::Result {
        let mut digits = [b'0'; 20];
        let mut at = digits.len();
        while value > 0 || digits.len() - at < width {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        for digit in digits.iter().skip(at) {
            self.push(*digit)?;
        }
        Ok(())
    }
}
