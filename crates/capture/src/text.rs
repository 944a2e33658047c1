//! candump's log format, as `candump -L` writes it: the same bytes as [`frame::text::LogLine`],
//! produced without `core::fmt`.

use crate::chunk::{FrameGap, RecordedFrame};
use frame::text::Direction;
use frame::{CanId, FrameRef, Kind, Nanos, flags};
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

    /// Adds a line; `false` if the bytes are not a frame.
    #[inline]
    pub(crate) fn frame(
        &mut self,
        record: &RecordedFrame<'_>,
        name: &str,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(frame) = record.frame() else {
            return false;
        };
        self.time(record.stamp, out);
        out.extend_from_slice(b") ");
        out.extend_from_slice(name.as_bytes());
        out.push(b' ');
        one(&frame, out);
        match record.direction {
            None => {}
            Some(Direction::Received) => out.extend_from_slice(b" R"),
            Some(Direction::Sent) => out.extend_from_slice(b" T"),
        }
        out.push(b'\n');
        true
    }

    /// Adds a comment, which readers of logs ignore.
    pub(crate) fn gap(gap: &FrameGap, name: Option<&str>, out: &mut Vec<u8>) {
        let whose = name.map_or(String::new(), |name| format!(" of {name}"));
        // Writes into memory do not fail.
        let _ = writeln!(
            out,
            "# {} frames{whose} are missing here: {}",
            gap.frames,
            gap.at.words()
        );
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bytes_are_those_of_line(
            kernel in prop_oneof![
                prop::collection::vec(any::<u8>(), 16),
                prop::collection::vec(any::<u8>(), 72),
                prop::collection::vec(any::<u8>(), 13..200),
            ],
            len in any::<u8>(), stamps in prop::collection::vec(any::<u64>(), 3),
            sent in any::<Option<bool>>(), nanos in any::<bool>(),
        ) {
            let mut kernel = kernel;
            kernel[4] = len;
            if len & 0x80 != 0 {
                let payload = (kernel.len() - 12) as u16;
                kernel[6..8].copy_from_slice(&payload.to_ne_bytes());
            } else {
                kernel[4] %= 9;
            }
            let mut text = TextWriter::new(nanos);
            let direction = sent.map(|sent| if sent { Direction::Sent } else { Direction::Received });
            for stamp in stamps {
                let record = RecordedFrame { stamp, interface: 0, direction, bytes: &kernel };
                let mut out = Vec::new();
                let done = text.frame(&record, "can0", &mut out);
                let Some(frame) = record.frame() else {
                    prop_assert!(!done && out.is_empty());
                    continue;
                };
                let line = LogLine {
                    stamp,
                    interface: "can0",
                    frame,
                    direction,
                };
                let expected = if nanos { format!("{line:.9}\n") } else { format!("{line}\n") };
                prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
            }
        }
    }

    #[test]
    fn a_loss_is_a_comment() {
        let mut out = Vec::new();
        let gap = FrameGap {
            stamp: 0,
            interface: Some(0),
            frames: 12,
            at: crate::LossPlace::Queue,
        };
        TextWriter::gap(&gap, Some("can0"), &mut out);
        let mut buf = frame::FrameBuf::new();
        assert_eq!(
            frame::text::parse_line(out.trim_ascii_end(), &mut buf),
            Ok(None)
        );
        assert!(out.starts_with(b"# 12 frames of can0 "));
    }
}
