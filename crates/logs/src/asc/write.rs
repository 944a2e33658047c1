//! Vector ASC: classic and FD frames; of an error frame only the fact that there was one; no XL
//! frames.
//!
//! Times count from that of the first frame, rounded down to the millisecond, which is the finest
//! resolution of the line `date`. They have six digits, as CANoe writes them, and nine if there are
//! fractions of a microsecond. Dates are UTC. The interface `canN` becomes channel N + 1 if that is
//! free, as SocketCAN's readers count; a comment names the interface of each channel, so that
//! the reader can restore it.

use crate::channels::{CHANNELS, ChannelNumbers};
use crate::loss;
use crate::shortfall::{FileContext, Shortfall, applying, has_other_flags, is_strange};
use crate::time::{CivilTime, origin};
use crate::write::{FrameEntry, FrameWriter, LossEntry};
use frame::text::Direction;
use frame::{FrameRef, Kind, Nanos, dlc};
use std::io::Write as _;

/// Bits of an FD line's flags: FDF (EDL), BRS, ESI.
const FDF: u32 = 0x1000;
const BRS: u32 = 0x2000;
const ESI: u32 = 0x4000;

/// Writer of lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct AscWriter {
    /// Origin of the times; `None` before the first frame of a file.
    start: Option<Nanos>,
    channels: ChannelNumbers,
    /// The file has no header yet.
    fresh: bool,
}

impl AscWriter {
    fn header(&mut self, first: Nanos, out: &mut Vec<u8>) {
        self.fresh = false;
        let start = origin(first);
        self.start = Some(start);
        let date = CivilTime::from_nanos(start);
        // Writes into memory do not fail; this applies to all writes in this module.
        let _ = write!(
            out,
            "date {date}\nbase hex  timestamps absolute\ninternal events logged\n"
        );
        let _ = write!(
            out,
            "// written by cangate {}\nBegin Triggerblock {date}\n",
            env!("CARGO_PKG_VERSION")
        );
        let _ = writeln!(out, "   0.000000 Start of measurement");
    }
}

impl FrameWriter for AscWriter {
    fn begin(&mut self, _: &mut Vec<u8>) {
        *self = Self {
            fresh: true,
            ..Self::default()
        };
    }

    fn frame(&mut self, entry: &FrameEntry<'_>, out: &mut Vec<u8>) -> bool {
        if entry.frame.kind() == Kind::Xl {
            return false;
        }
        if self.fresh {
            self.header(entry.stamp, out);
        }
        let Some(channel) = self
            .channels
            .find_or_add(entry.interface, entry.name, "//", out)
        else {
            return false;
        };
        let start = self.start.unwrap_or_default();
        time(entry.stamp.saturating_sub(start), out);
        one(&entry.frame, channel, entry.direction, out);
        out.push(b'\n');
        true
    }

    fn loss(&mut self, loss: &LossEntry<'_>, out: &mut Vec<u8>) {
        loss::comment("//", loss, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if self.fresh {
            // A file without a frame still gets the header that identifies its format.
            self.header(0, out);
        }
        out.extend_from_slice(b"End TriggerBlock\n");
    }
}

/// Returns what ASC cannot express of a frame.
pub(super) fn shortfalls(entry: &FrameEntry<'_>, file: &FileContext) -> Vec<Shortfall> {
    if entry.frame.kind() == Kind::Xl {
        return vec![Shortfall::Xl];
    }
    if usize::from(entry.interface) >= CHANNELS {
        return vec![Shortfall::Channel];
    }
    let is_error = entry.frame.id().is_err();
    applying([
        (entry.stamp < origin(file.first), Shortfall::Before),
        (is_error, Shortfall::ErrorFrame),
        // The line of an error frame contains nothing of it, and an error frame has no sender.
        (entry.direction.is_none() && !is_error, Shortfall::Direction),
        (
            !is_error && (is_strange(&entry.frame) || has_other_flags(&entry.frame)),
            Shortfall::Bits,
        ),
    ])
}

fn time(offset: Nanos, out: &mut Vec<u8>) {
    let (seconds, fraction) = (offset / 1_000_000_000, offset % 1_000_000_000);
    let _ = if fraction.is_multiple_of(1000) {
        write!(out, "{seconds:4}.{:06}", fraction / 1000)
    } else {
        write!(out, "{seconds:4}.{fraction:09}")
    };
}

fn one(frame: &FrameRef<'_>, channel: u16, direction: Option<Direction>, out: &mut Vec<u8>) {
    let (header, id) = (frame.header(), frame.header().id());
    let side = match direction {
        Some(Direction::Sent) => "Tx",
        // ASC has no third word.
        Some(Direction::Received) | None => "Rx",
    };
    if id.is_err() {
        let _ = write!(out, " {channel}  ErrorFrame");
        return;
    }
    let mark = if id.is_eff() { "x" } else { "" };
    let name = format!("{:X}{mark}", id.number());
    if header.kind() == Kind::Fd {
        let (brs, esi) = (header.is_brs(), header.is_esi());
        let flags = FDF | if brs { BRS } else { 0 } | if esi { ESI } else { 0 };
        let _ = write!(
            out,
            " CANFD {channel:>3} {side:<4} {name:>8}  {:>32} {} {} {:x} {:>2}",
            "",
            u8::from(brs),
            u8::from(esi),
            dlc::fd_dlc(header.len()),
            header.len()
        );
        bytes(frame.data(), out);
        // Duration and length, which were not measured; flags, CRC, bit timings.
        let _ = write!(
            out,
            " {:>8} {:>4} {flags:>8X} {:>8} {:>8} {:>8} {:>8} {:>8}",
            0, 0, 0, 0, 0, 0, 0
        );
        return;
    }
    let kind = if header.is_rtr() { 'r' } else { 'd' };
    let _ = write!(
        out,
        " {channel}  {name:<15} {side:<4} {kind} {:x}",
        header.dlc()
    );
    bytes(frame.data(), out);
}

fn bytes(data: &[u8], out: &mut Vec<u8>) {
    for byte in data {
        let _ = write!(out, " {byte:02X}");
    }
}
