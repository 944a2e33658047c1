//! Vector ASC: classic and FD frames; of an error frame only the fact that there was one; no XL
//! frames.
//!
//! Times count from that of the first frame, rounded down to the millisecond, which is the finest
//! resolution of the line `date`. They have six digits, as CANoe writes them, and nine if there are
//! fractions of a microsecond. Dates are UTC. The interface `canN` becomes channel N + 1 if that is
//! free, as SocketCAN's readers count; a comment names the interface of each channel, so that
//! `logs` can restore it.

use crate::chunk::{FrameGap, RecordedFrame};
use chrono::{DateTime, Utc};
use frame::text::Direction;
use frame::{FrameRef, Kind, Nanos, dlc};
use std::io::Write as _;

/// Maximum number of channels that can be distinguished: `logs` keeps this many names.
pub(crate) const CHANNELS: usize = 255;

/// Bits of an FD line's flags: FDF (EDL), BRS, ESI.
const FDF: u32 = 0x1000;
const BRS: u32 = 0x2000;
const ESI: u32 = 0x4000;

/// Writer of lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct AscWriter {
    /// Origin of the times; `None` before the first frame of a file.
    start: Option<Nanos>,
    /// Channels by the indexes of the interfaces; 0: none yet.
    channels: Vec<u16>,
    /// The file has no header yet.
    fresh: bool,
}

/// Returns the origin of the times of a file whose first frame has this stamp.
pub(crate) const fn start(first: Nanos) -> Nanos {
    if first > i64::MAX as Nanos {
        // After 2262 there is no date that readers can parse. Times count from 1970.
        return 0;
    }
    first - first % 1_000_000
}

impl AscWriter {
    /// Starts a file.
    pub(crate) fn begin(&mut self) {
        *self = Self {
            fresh: true,
            ..Self::default()
        };
    }

    fn header(&mut self, first: Nanos, out: &mut Vec<u8>) {
        self.fresh = false;
        let start = start(first);
        self.start = Some(start);
        let seconds = (start / 1_000_000_000).cast_signed();
        let date = DateTime::<Utc>::from_timestamp(seconds, (start % 1_000_000_000) as u32);
        let date = date
            .unwrap_or_default()
            .format("%a %b %d %H:%M:%S%.3f %Y")
            .to_string();
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

    /// Returns the channel of an interface; writes a comment with its name if it is new.
    fn channel(&mut self, place: u16, name: &str, out: &mut Vec<u8>) -> Option<u16> {
        let at = usize::from(place);
        if at >= self.channels.len() {
            self.channels.resize(at + 1, 0);
        }
        let known = *self.channels.get(at)?;
        if known > 0 {
            return Some(known);
        }
        let taken = |channel: u16| self.channels.contains(&channel);
        let own = name.strip_prefix("can").and_then(|n| n.parse().ok());
        let own = own.filter(|n: &u16| usize::from(*n) < CHANNELS && name == format!("can{n}"));
        let mut free = own.map(|n| n + 1).into_iter().chain(1..=CHANNELS as u16);
        let channel = free.find(|channel| !taken(*channel))?;
        if let Some(place) = self.channels.get_mut(at) {
            *place = channel;
        }
        let _ = writeln!(out, "// cangate: channel {channel} is {name}");
        Some(channel)
    }

    /// Adds a line; `false` if the bytes are not a frame, or a frame that ASC cannot express.
    pub(crate) fn frame(
        &mut self,
        record: &RecordedFrame<'_>,
        name: &str,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(frame) = record.frame() else {
            return false;
        };
        if frame.header().kind() == Kind::Xl {
            return false;
        }
        if self.fresh {
            self.header(record.stamp, out);
        }
        let Some(channel) = self.channel(record.interface, name, out) else {
            return false;
        };
        let start = self.start.unwrap_or_default();
        time(record.stamp.saturating_sub(start), out);
        one(&frame, channel, record.direction, out);
        out.push(b'\n');
        true
    }

    /// Adds a comment, which readers ignore.
    pub(crate) fn gap(gap: &FrameGap, name: Option<&str>, out: &mut Vec<u8>) {
        let whose = name.map_or(String::new(), |name| format!(" of {name}"));
        let _ = writeln!(
            out,
            "// {} frames{whose} are missing here: {}",
            gap.frames,
            gap.at.words()
        );
    }

    /// Ends the file.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        if self.fresh {
            // A file without a frame still gets the header that identifies its format.
            self.header(0, out);
        }
        out.extend_from_slice(b"End TriggerBlock\n");
    }
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
