//! candump's log format, as `candump -L` writes it: the same bytes as [`frame::text::LogLine`],
//! produced without `core::fmt`.

use crate::loss;
use crate::shortfall::{FileContext, Shortfall, applying, is_strange};
use crate::write::{FrameEntry, FrameWriter, LossEntry};
use frame::text::Direction;
use frame::{CanId, FrameRef, Kind, Nanos, flags};
use signals::DecodedFrame;
use std::io::Write as _;

/// Two hex digits for each byte.
#[expect(
    clippy::indexing_slicing,
    reason = "the compiler evaluates it; nothing comes from outside"
)]
const HEX: [[u8; 2]; 256] = {
    let digits = *b"0123456789ABCDEF";
    let mut all = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        all[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    all
};

/// Writer of lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextWriter {
    /// The second for which `head` was made, plus one; 0: none yet.
    second: u64,
    /// `(1398128223.`
    head: Vec<u8>,
    /// Nine digits of fraction instead of six.
    nanos: bool,
}

impl TextWriter {
    /// Creates a writer with nine digits of fraction, or six.
    pub(crate) fn new(nanos: bool) -> Self {
        Self {
            nanos,
            ..Self::default()
        }
    }

    #[inline]
    fn time(&mut self, stamp: Nanos, out: &mut Vec<u8>) {
        let (second, fraction) = (stamp / 1_000_000_000, (stamp % 1_000_000_000) as u32);
        if self.second != second + 1 {
            self.second = second + 1;
            self.head.clear();
            let _ = write!(self.head, "({second:010}.");
        }
        out.extend_from_slice(&self.head);
        if self.nanos {
            decimal::<9>(fraction, out);
        } else {
            decimal::<6>(fraction / 1000, out);
        }
    }
}

impl FrameWriter for TextWriter {
    fn begin(&mut self, _: &mut Vec<u8>) {}

    #[inline]
    fn frame(&mut self, entry: &FrameEntry<'_>, out: &mut Vec<u8>) -> bool {
        self.time(entry.stamp, out);
        out.extend_from_slice(b") ");
        out.extend_from_slice(entry.name.as_bytes());
        out.push(b' ');
        one(&entry.frame, out);
        match entry.direction {
            None => {}
            Some(Direction::Received) => out.extend_from_slice(b" R"),
            Some(Direction::Sent) => out.extend_from_slice(b" T"),
        }
        out.push(b'\n');
        true
    }

    /// Adds a comment, which can-utils and cangate pass over.
    fn message(&mut self, decoded: &DecodedFrame<'_>, out: &mut Vec<u8>) {
        // Writing to memory cannot fail.
        let _ = writeln!(out, "# {decoded}");
    }

    fn loss(&mut self, loss: &LossEntry<'_>, out: &mut Vec<u8>) {
        loss::comment("#", loss, out);
    }
}

/// Returns what candump's log cannot express of a frame.
pub(super) fn shortfalls(entry: &FrameEntry<'_>, file: &FileContext) -> Vec<Shortfall> {
    let header = entry.frame.header();
    let is_fd = header.kind() == Kind::Fd;
    applying([
        (
            !file.nanos && !entry.stamp.is_multiple_of(1000),
            Shortfall::Nanoseconds,
        ),
        (
            is_strange(&entry.frame) || is_fd && header.flags() & 0xF0 != 0,
            Shortfall::Bits,
        ),
    ])
}

#[inline]
fn decimal<const N: usize>(mut value: u32, out: &mut Vec<u8>) {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
    out.extend_from_slice(&digits);
}

#[inline]
fn bytes(data: &[u8], out: &mut Vec<u8>) {
    for byte in data {
        #[expect(clippy::indexing_slicing, reason = "256 entries, one for each byte")]
        out.extend_from_slice(&HEX[usize::from(*byte)]);
    }
}

#[inline]
fn digit(value: u32, out: &mut Vec<u8>) {
    out.extend(b"0123456789ABCDEF".get(value as usize & 15));
}

/// Writes the frame in cansend's grammar.
#[inline]
fn one(frame: &FrameRef<'_>, out: &mut Vec<u8>) {
    let header = frame.header();
    let id = header.id();
    if header.kind() == Kind::Xl {
        let xl = header.xl();
        bytes(&[xl.vcid], out);
        short(id.raw() & CanId::SFF_MASK, out);
        out.push(b'#');
        bytes(&[header.flags() | flags::XL_XLF], out);
        out.push(b':');
        bytes(&[xl.sdt], out);
        out.push(b':');
        bytes(&xl.af.to_be_bytes(), out);
        out.push(b'#');
        bytes(frame.data(), out);
        return;
    }
    if id.is_err() {
        let raw = id.raw() & (CanId::EFF_MASK | CanId::ERR_FLAG);
        bytes(&raw.to_be_bytes(), out);
    } else if id.is_eff() {
        bytes(&id.number().to_be_bytes(), out);
    } else {
        short(id.number(), out);
    }
    out.push(b'#');
    if header.kind() == Kind::Fd {
        out.push(b'#');
        digit(u32::from(header.flags() | flags::FDF), out);
        bytes(frame.data(), out);
        return;
    }
    if header.is_rtr() {
        out.push(b'R');
        if !header.is_empty() {
            digit(header.len() as u32, out);
        }
    } else {
        bytes(frame.data(), out);
    }
    if header.len8_dlc() != 0 {
        out.push(b'_');
        digit(u32::from(header.len8_dlc()), out);
    }
}

/// Writes three hex digits.
#[inline]
fn short(id: u32, out: &mut Vec<u8>) {
    digit(id >> 8, out);
    bytes(&[id as u8], out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::text::LogLine;
    use frame::{FrameBuf, Header, XlFields};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bytes_are_those_of_line(
            kind in 0..3_u8, raw in any::<u32>(), len in 0_usize..2048, dlc in any::<u8>(),
            flags in any::<u8>(), seed in any::<u8>(), xl in any::<(u8, u8, u32)>(),
            stamps in prop::collection::vec(any::<u64>(), 3),
            sent in any::<Option<bool>>(), nanos in any::<bool>(),
        ) {
            let kind = [Kind::Classic, Kind::Fd, Kind::Xl][usize::from(kind)];
            let (vcid, sdt, af) = xl;
            let len = len % (kind.max_len() + 1);
            let Ok(header) = Header::new(kind, CanId::from_raw(raw), len) else {
                return Ok(());
            };
            let header = header.with_flags(flags).with_len8_dlc(dlc).with_xl(XlFields { vcid, sdt, af });
            let mut buf = FrameBuf::new();
            buf.reset(header);
            for (at, byte) in buf.buffer_mut().iter_mut().enumerate() {
                *byte = seed.wrapping_mul(at as u8);
            }
            let frame = buf.view();
            let mut text = TextWriter::new(nanos);
            let direction = sent.map(|sent| if sent { Direction::Sent } else { Direction::Received });
            for stamp in stamps {
                let entry = FrameEntry { stamp, interface: 0, name: "can0", direction, frame };
                let mut out = Vec::new();
                prop_assert!(text.frame(&entry, &mut out));
                let line = LogLine { stamp, interface: "can0", frame, direction };
                let expected = if nanos { format!("{line:.9}\n") } else { format!("{line}\n") };
                prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
            }
        }
    }

    #[test]
    fn a_loss_is_a_comment() {
        let mut out = Vec::new();
        let loss = LossEntry {
            stamp: 0,
            interface: Some((0, "can0")),
            frames: 12,
            reason: "the queue to the file was full",
        };
        TextWriter::new(false).loss(&loss, &mut out);
        let mut buf = FrameBuf::new();
        assert_eq!(
            frame::text::parse_line(out.trim_ascii_end(), &mut buf),
            Ok(None)
        );
        assert!(out.starts_with(b"# 12 frames of can0 "));
    }
}
