//! pcapng (draft-ietf-opsawg-pcapng): sections, interfaces, packets; other blocks are skipped.

use crate::bad::LogFault;
use crate::byte_order::ByteOrder;
use crate::loss::{self, FrameLoss};
use crate::name::InterfaceName;
use crate::pcap::indices::{InterfaceIndices, MANY};
use crate::pcap::link::{CapturedPacket, FrameLink};
use crate::read::{BlockReader, NextBlock, ParsedFrame};
use frame::text::Direction;
use frame::{FrameBuf, Nanos};

pub(crate) const SECTION: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
const SECTION_TYPE: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;
const STATISTICS: u32 = 5;

// Options of a statistics block.
const DROPPED_BY_INTERFACE: u16 = 5;
const DROPPED_BY_SYSTEM: u16 = 7;

// Options of an interface and of a packet.
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;
const FLAGS: u16 = 2;
const DROPPED: u16 = 4;
const COMMENT: u16 = 1;

/// The number of lost packets that means that they were not counted (in an old packet block).
const NOT_COUNTED: u16 = u16::MAX;

/// The longest block that is read; longer ones are not frames.
const LONGEST: u64 = 32 * 1024;

/// Maximum number of interfaces of a section.
const MOST_INTERFACES: usize = 4096;

/// The contents of an interface's packets.
#[derive(Clone, Copy, Debug)]
enum PacketContents {
    Can(FrameLink),
    /// Certainly no CAN frames.
    Other,
    Unknown,
}

/// An interface of the current section.
#[derive(Clone, Copy, Debug)]
struct SectionInterface {
    link: PacketContents,
    name: InterfaceName,
    /// Units per second, at least 1.
    units: u128,
    /// Seconds to add to each time.
    offset: i64,
    /// Losses that were reported so far, with packets or in statistics.
    lost: u64,
}

/// A reader of blocks.
#[derive(Clone, Debug)]
pub(crate) struct PcapngReader {
    order: ByteOrder,
    interfaces: Vec<SectionInterface>,
    indices: InterfaceIndices,
    /// Losses of the section whose interface is not known.
    anywhere: u64,
}

impl PcapngReader {
    pub(crate) fn new() -> Self {
        Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            indices: InterfaceIndices::default(),
            anywhere: 0,
        }
    }
}

impl BlockReader for PcapngReader {
    fn block(&mut self, head: &[u8], _: bool, frame: &mut FrameBuf) -> NextBlock {
        let Some(start) = head.get(..12) else {
            return NextBlock::More;
        };
        if start.starts_with(&SECTION) {
            self.order = match start.get(8..12) {
                Some([0x4D, 0x3C, 0x2B, 0x1A]) => ByteOrder::Little,
                Some([0x1A, 0x2B, 0x3C, 0x4D]) => ByteOrder::Big,
                _ => return NextBlock::Lost(LogFault::Said("a section without its byte order")),
            };
        }
        let order = self.order;
        let (Some(kind), Some(size)) = (order.u32(start, 0), order.u32(start, 4)) else {
            return NextBlock::More;
        };
        if size < 12 || size % 4 != 0 {
            let what = "not a block of pcapng: its length is wrong";
            return NextBlock::Lost(LogFault::Said(what));
        }
        let size = u64::from(size);
        let known = [
            SECTION_TYPE,
            INTERFACE,
            OLD_PACKET,
            SIMPLE_PACKET,
            PACKET,
            STATISTICS,
        ];
        if !known.contains(&kind) {
            return NextBlock::Other(size);
        }
        if size > LONGEST {
            return match kind {
                SECTION_TYPE => {
                    self.interfaces.clear();
                    NextBlock::Other(size)
                }
                INTERFACE => NextBlock::Lost(LogFault::Said("an interface longer than 32 KiB")),
                STATISTICS => NextBlock::Other(size),
                _ => NextBlock::Bad(size, LogFault::Said("longer than any CAN frame")),
            };
        }
        let Some(block) = head.get(..size as usize) else {
            return NextBlock::More;
        };
        if order.u32(block, block.len() - 4).map(u64::from) != Some(size) {
            let what = "a block with different lengths at its beginning and its end";
            return NextBlock::Lost(LogFault::Said(what));
        }
        let body = block.get(8..block.len() - 4).unwrap_or_default();
        match kind {
            SECTION_TYPE => {
                self.interfaces.clear();
                self.anywhere = 0;
                NextBlock::Other(size)
            }
            INTERFACE => self.interface(body, size),
            SIMPLE_PACKET => NextBlock::Bad(size, LogFault::Said("a packet without a time stamp")),
            STATISTICS => self.statistics(body, size),
            OLD_PACKET => self.packet(body, true, frame),
            _ => self.packet(body, false, frame),
        }
    }
}

impl PcapngReader {
    fn interface(&mut self, body: &[u8], size: u64) -> NextBlock {
        let number = self.interfaces.len();
        if number >= MOST_INTERFACES {
            return NextBlock::Lost(LogFault::Said("more than 4096 interfaces"));
        }
        let mut interface = SectionInterface {
            link: match self.order.u16(body, 0).map(u32::from) {
                Some(number) if FrameLink::is_other(number) => PacketContents::Other,
                number => number
                    .and_then(FrameLink::from_number)
                    .map_or(PacketContents::Unknown, PacketContents::Can),
            },
            name: InterfaceName::numbered(number as u32),
            units: 1_000_000,
            offset: 0,
            lost: 0,
        };
        let options = body.get(8..).unwrap_or_default();
        for (code, value) in BlockOptions::new(self.order, options) {
            match (code, value) {
                (NAME, name) => {
                    let name = str::from_utf8(name).unwrap_or_default();
                    let name = name.trim_end_matches('\0');
                    // Only a name that a line-based log can have, too.
                    let usable = !name.is_empty()
                        && !name.contains(|c: char| c.is_whitespace() || c.is_control());
                    if let Some(name) = InterfaceName::new(name).filter(|_| usable) {
                        interface.name = name;
                    }
                }
                (RESOLUTION, [code]) => {
                    let (base, power) = if code & 0x80 == 0 {
                        (10_u128, code & 0x7F)
                    } else {
                        (2, code & 0x7F)
                    };
                    let Some(units) = base.checked_pow(u32::from(power)) else {
                        let what = "an interface with an impossible resolution of its clock";
                        return NextBlock::Lost(LogFault::Said(what));
                    };
                    interface.units = units;
                }
                (OFFSET, value) if value.len() == 8 => {
                    let offset = self.order.u64(value, 0).unwrap_or(0);
                    interface.offset = offset.cast_signed();
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        NextBlock::Other(size)
    }

    /// Reads losses that no packet reported: other programs count them only for a whole recording.
    fn statistics(&mut self, body: &[u8], size: u64) -> NextBlock {
        let number = self.order.u32(body, 0).unwrap_or(u32::MAX);
        let only = self.interfaces.len() == 1;
        let anywhere = if only { self.anywhere } else { 0 };
        let Some(interface) = self.interfaces.get_mut(number as usize) else {
            return NextBlock::Bad(
                size,
                LogFault::Said("statistics of an interface that is not in the section"),
            );
        };
        if !matches!(interface.link, PacketContents::Can(_)) {
            return NextBlock::Other(size);
        }
        let options = body.get(12..).unwrap_or_default();
        let lost = BlockOptions::new(self.order, options)
            .filter(|(code, _)| [DROPPED_BY_INTERFACE, DROPPED_BY_SYSTEM].contains(code))
            .filter_map(|(_, value)| self.order.u64(value, 0));
        let lost = lost.fold(0, u64::saturating_add);
        let known = interface.lost.saturating_add(anywhere);
        let frames = lost.saturating_sub(known);
        interface.lost = interface.lost.saturating_add(frames);
        NextBlock::Lossy(
            size,
            FrameLoss {
                frames,
                interface: Some(interface.name),
            },
        )
    }

    fn packet(&mut self, body: &[u8], old: bool, frame: &mut FrameBuf) -> NextBlock {
        let size = body.len() + 12;
        let bad = |what| NextBlock::Bad(size as u64, LogFault::Said(what));
        let number = if old {
            self.order.u16(body, 0).map(u32::from)
        } else {
            self.order.u32(body, 0)
        };
        let word = |at| self.order.u32(body, at);
        let (Some(number), Some(high), Some(low), Some(captured), Some(original), Some(rest)) =
            (number, word(4), word(8), word(12), word(16), body.get(20..))
        else {
            return bad("a packet shorter than its own header");
        };
        let Some(interface) = self.interfaces.get(number as usize) else {
            return bad("a packet of an interface that is not in the section");
        };
        let link = match interface.link {
            PacketContents::Can(link) => link,
            PacketContents::Other => return NextBlock::Other(size as u64),
            PacketContents::Unknown => {
                return bad(
                    "a packet of an interface whose link type is not known to carry CAN frames",
                );
            }
        };
        let Some(bytes) = rest.get(..captured as usize) else {
            return bad("a packet longer than its block");
        };
        let units = u128::from(u64::from(high) << 32 | u64::from(low));
        let Some(ns) = interface.ns(units) else {
            return bad("a time before 1970 or after 2554");
        };
        let options = rest.get((captured as usize).next_multiple_of(4)..);
        let mut found = PacketOptions::read(self.order, options.unwrap_or_default());
        if old {
            let drops = self.order.u16(body, 2).filter(|n| *n != NOT_COUNTED);
            found.lost = found.lost.max(drops.unwrap_or(0).into());
        }
        let name = interface.name;
        let packet = CapturedPacket {
            bytes,
            original: original as usize,
            order: self.order,
        };
        match link.read(&packet, frame) {
            Err(fault) => NextBlock::Bad(size as u64, fault),
            Ok(None) => NextBlock::Other(size as u64),
            Ok(Some(side)) => {
                let named = side
                    .index
                    .map_or(Some(name), |index| self.indices.name(index));
                let Some(name) = named else {
                    return bad(MANY);
                };
                let mut got = ParsedFrame::new(ns, found.direction.or(side.direction), name);
                got.lost = found.lost;
                got.lost_anywhere = found.anywhere;
                got.comments = found.comments;
                self.anywhere = self.anywhere.saturating_add(found.anywhere);
                if let Some(interface) = self.interfaces.get_mut(number as usize) {
                    interface.lost = interface.lost.saturating_add(found.lost);
                }
                NextBlock::Frame(size, got)
            }
        }
    }
}

/// The contents of a packet's options.
#[derive(Default)]
struct PacketOptions {
    direction: Option<Direction>,
    /// Number of packets of its interface that were lost before it.
    lost: u64,
    /// The same, where the file does not know the interface: from a comment written by cangate.
    anywhere: u64,
    /// Number of other comments.
    comments: u32,
}

impl PacketOptions {
    fn read(order: ByteOrder, options: &[u8]) -> Self {
        let mut found = Self::default();
        for (code, value) in BlockOptions::new(order, options) {
            match code {
                FLAGS => {
                    found.direction = match order.u32(value, 0).map(|flags| flags & 3) {
                        Some(1) => Some(Direction::Received),
                        Some(2) => Some(Direction::Sent),
                        _ => found.direction,
                    };
                }
                DROPPED => found.lost = order.u64(value, 0).unwrap_or(0),
                COMMENT => match loss::anywhere(value) {
                    Some(frames) => found.anywhere = found.anywhere.saturating_add(frames),
                    None => found.comments += 1,
                },
                _ => {}
            }
        }
        found
    }
}

impl SectionInterface {
    /// Returns a time in the interface's units as Unix time.
    fn ns(&self, units: u128) -> Option<Nanos> {
        let seconds = units / self.units;
        let part = (units % self.units).checked_mul(1_000_000_000)? / self.units;
        let seconds = i128::try_from(seconds).ok()? + i128::from(self.offset);
        let ns = seconds.checked_mul(1_000_000_000)? + i128::try_from(part).ok()?;
        Nanos::try_from(ns).ok()
    }
}

/// The options of a block, up to their end or the first one that does not fit into it.
struct BlockOptions<'a> {
    order: ByteOrder,
    rest: &'a [u8],
}

impl<'a> BlockOptions<'a> {
    const fn new(order: ByteOrder, rest: &'a [u8]) -> Self {
        Self { order, rest }
    }
}

impl<'a> Iterator for BlockOptions<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let code = self.order.u16(self.rest, 0).filter(|code| *code != 0)?;
        let len = usize::from(self.order.u16(self.rest, 2)?);
        let value = self.rest.get(4..4 + len)?;
        let next = 4 + len.next_multiple_of(4);
        self.rest = self.rest.get(next..).unwrap_or_default();
        Some((code, value))
    }
}
