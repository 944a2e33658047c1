//! pcapng (draft-ietf-opsawg-pcapng), with link type 227, LINKTYPE_CAN_SOCKETCAN of tcpdump.org.
//!
//! Numbers of the file are in the machine's byte order, which the first block indicates. In the
//! frames the ID is big-endian, and so is the priority with the VCID of an XL frame, but the length
//! and the acceptance field are little-endian, as libpcap writes them.

use crate::write::{FrameEntry, FrameWriter, LossEntry};
use frame::text::Direction;
use frame::{FrameRef, Kind, flags};

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
/// LINKTYPE_CAN_SOCKETCAN
const CAN: u16 = 227;

// Options, by block.
const COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;
const PACKET_DROPPED: u16 = 4;
const STATISTICS_RECEIVED: u16 = 4;
const STATISTICS_DROPPED_BY_SYSTEM: u16 = 7;

// A packet's flags.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// An interface of the present section.
#[derive(Clone, Copy, Debug, Default)]
struct SeenInterface {
    /// Its number in the section, plus one; 0: it is not in the section yet.
    number: u32,
    frames: u64,
    lost: u64,
    /// Frames lost since the last frame.
    gap: u64,
    last: u64,
}

/// Writer of blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct PcapngWriter {
    by_place: Vec<SeenInterface>,
    interfaces: u32,
    /// Frames lost since the last frame, on an unknown interface.
    gap: u64,
    lost: u64,
}

impl PcapngWriter {
    /// Returns the state of the interface at an index; writes its block if it is new.
    #[inline]
    fn seen(&mut self, place: u16, name: &str, out: &mut Vec<u8>) -> &mut SeenInterface {
        let at = usize::from(place);
        if at >= self.by_place.len() {
            self.by_place.resize(at + 1, SeenInterface::default());
        }
        #[expect(clippy::indexing_slicing, reason = "the vector was made long enough")]
        let seen = &mut self.by_place[at];
        if seen.number == 0 {
            self.interfaces += 1;
            seen.number = self.interfaces;
            block(INTERFACE, out, |out| {
                out.extend_from_slice(&CAN.to_ne_bytes());
                out.extend_from_slice(&[0; 2]);
                // Frames are never cut off.
                word(0, out);
                option(INTERFACE_NAME, name.as_bytes(), out);
                // Stamps are nanoseconds.
                option(INTERFACE_RESOLUTION, &[9], out);
                option(0, &[], out);
            });
        }
        seen
    }
}

impl FrameWriter for PcapngWriter {
    /// Starts a section: at the beginning of a file, or later in it.
    fn begin(&mut self, out: &mut Vec<u8>) {
        *self = Self {
            gap: self.gap,
            ..Self::default()
        };
        let program = concat!("cangate ", env!("CARGO_PKG_VERSION"));
        block(SECTION, out, |out| {
            word(BYTE_ORDER, out);
            out.extend_from_slice(&1_u16.to_ne_bytes());
            out.extend_from_slice(&0_u16.to_ne_bytes());
            // The section's length is unknown.
            out.extend_from_slice(&u64::MAX.to_ne_bytes());
            option(SECTION_APPLICATION, program.as_bytes(), out);
            option(0, &[], out);
        });
    }

    #[inline]
    fn frame(&mut self, entry: &FrameEntry<'_>, out: &mut Vec<u8>) -> bool {
        let anywhere = std::mem::take(&mut self.gap);
        let seen = self.seen(entry.interface, entry.name, out);
        seen.frames += 1;
        seen.last = entry.stamp;
        let (number, gap) = (seen.number - 1, std::mem::take(&mut seen.gap));
        block(PACKET, out, |out| {
            word(number, out);
            word((entry.stamp >> 32) as u32, out);
            word(entry.stamp as u32, out);
            let lengths = out.len();
            out.extend_from_slice(&[0; 8]);
            let begin = out.len();
            on_the_wire(&entry.frame, out);
            let len = (out.len() - begin) as u32;
            let both = [len.to_ne_bytes(), len.to_ne_bytes()];
            if let Some(place) = out.get_mut(lengths..begin) {
                place.copy_from_slice(both.as_flattened());
            }
            pad(out.len() - begin, out);
            if entry.direction.is_some() || gap > 0 || anywhere > 0 {
                if let Some(direction) = entry.direction {
                    let flags = match direction {
                        Direction::Received => INBOUND,
                        Direction::Sent => OUTBOUND,
                    };
                    option(PACKET_FLAGS, &flags.to_ne_bytes(), out);
                }
                if gap > 0 {
                    option(PACKET_DROPPED, &gap.to_ne_bytes(), out);
                }
                if anywhere > 0 {
                    option(COMMENT, missing(anywhere).as_bytes(), out);
                }
                option(0, &[], out);
            }
        });
        true
    }

    /// Records a loss; it is written with the next frame, and in the statistics at the end.
    fn loss(&mut self, loss: &LossEntry<'_>, out: &mut Vec<u8>) {
        match loss.interface {
            Some((place, name)) => {
                let seen = self.seen(place, name, out);
                seen.gap += loss.frames;
                seen.lost += loss.frames;
                seen.last = seen.last.max(loss.stamp);
            }
            None => {
                self.gap += loss.frames;
                self.lost += loss.frames;
            }
        }
    }

    /// Ends the section.
    fn end(&mut self, out: &mut Vec<u8>) {
        // If there is only one interface, all losses belong to it.
        let only = self.interfaces == 1;
        let anywhere = std::mem::take(&mut self.lost);
        for seen in self.by_place.iter().filter(|seen| seen.number > 0) {
            block(STATISTICS, out, |out| {
                word(seen.number - 1, out);
                word((seen.last >> 32) as u32, out);
                word(seen.last as u32, out);
                let lost = seen.lost + if only { anywhere } else { 0 };
                let received = seen.frames + lost;
                option(STATISTICS_RECEIVED, &received.to_ne_bytes(), out);
                option(STATISTICS_DROPPED_BY_SYSTEM, &lost.to_ne_bytes(), out);
                if anywhere > 0 && !only {
                    option(COMMENT, missing(anywhere).as_bytes(), out);
                }
                option(0, &[], out);
            });
        }
    }
}

/// Returns the text for a loss that cannot be assigned to an interface.
fn missing(frames: u64) -> String {
    format!("{frames} frames of any interface are missing: the kernel's ring was full")
}

/// Writes a block: its type, and its length before and after its content.
#[inline]
fn block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    word(kind, out);
    word(0, out);
    body(out);
    let len = (out.len() + 4 - begin) as u32;
    word(len, out);
    if let Some(place) = out.get_mut(begin + 4..begin + 8) {
        place.copy_from_slice(&len.to_ne_bytes());
    }
}

#[inline]
fn word(value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_ne_bytes());
}

fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&code.to_ne_bytes());
    out.extend_from_slice(&(value.len() as u16).to_ne_bytes());
    out.extend_from_slice(value);
    pad(value.len(), out);
}

/// Pads to whole words.
#[inline]
fn pad(len: usize, out: &mut Vec<u8>) {
    let missing = len.next_multiple_of(4) - len;
    out.extend(std::iter::repeat_n(0, missing));
}

/// Writes the frame in the form of LINKTYPE_CAN_SOCKETCAN.
#[inline]
fn on_the_wire(frame: &FrameRef<'_>, out: &mut Vec<u8>) {
    let header = frame.header();
    if header.kind() == Kind::Xl {
        let xl = header.xl();
        let priority = header.id().number() | u32::from(xl.vcid) << 16;
        out.extend_from_slice(&priority.to_be_bytes());
        out.extend_from_slice(&[header.flags() | flags::XL_XLF, xl.sdt]);
        out.extend_from_slice(&(header.len() as u16).to_le_bytes());
        out.extend_from_slice(&xl.af.to_le_bytes());
    } else {
        let fd = header.kind() == Kind::Fd;
        let flags = if fd { header.flags() | flags::FDF } else { 0 };
        out.extend_from_slice(&header.id().raw().to_be_bytes());
        out.extend_from_slice(&[header.len() as u8, flags, 0, header.len8_dlc()]);
    }
    out.extend_from_slice(frame.data());
}

#[cfg(test)]
mod tests;
