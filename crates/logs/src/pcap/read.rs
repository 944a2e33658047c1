//! pcap, in libpcap's file format (draft-ietf-opsawg-pcap).

use super::indices::{InterfaceIndices, MANY};
use super::link::{CapturedPacket, FrameLink};
use crate::bad::LogFault;
use crate::byte_order::ByteOrder;
use crate::name::InterfaceName;
use crate::read::{BlockReader, HeadVerdict, NextBlock, ParsedFrame};
use frame::{FrameBuf, Nanos};

/// Size in bytes of the file's header, and of a record's header.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// The longest record that is read: well above an XL frame in a cooked capture.
const LONGEST: u32 = 16 * 1024;

/// If a record is longer than this, no record begins here (libpcap's own limit).
const IMPOSSIBLE: u32 = 262_144;

/// A reader of records.
#[derive(Clone, Debug, Default)]
pub(crate) struct PcapReader {
    /// The contents of the file's header, as soon as it has been read.
    records: Option<RecordReader>,
}

impl BlockReader for PcapReader {
    fn block(&mut self, head: &[u8], _: bool, frame: &mut FrameBuf) -> NextBlock {
        match &mut self.records {
            Some(records) => records.record(head, frame),
            None if head.len() < FILE_HEADER => NextBlock::More,
            None => {
                self.records = RecordReader::new(head);
                match self.records {
                    Some(_) => NextBlock::Other(FILE_HEADER as u64),
                    None => NextBlock::Lost(LogFault::Said("not a header of pcap")),
                }
            }
        }
    }
}

/// A reader of the records of a file with this header.
#[derive(Clone, Debug)]
struct RecordReader {
    order: ByteOrder,
    /// Nanoseconds per unit of the fraction.
    unit: Nanos,
    link: FrameLink,
    indices: InterfaceIndices,
}

/// Returns the byte order of a file with this beginning, and the nanoseconds per unit.
fn magic(head: &[u8]) -> Option<(ByteOrder, Nanos)> {
    match head.first_chunk()? {
        [0xD4, 0xC3, 0xB2, 0xA1] => Some((ByteOrder::Little, 1000)),
        [0xA1, 0xB2, 0xC3, 0xD4] => Some((ByteOrder::Big, 1000)),
        [0x4D, 0x3C, 0xB2, 0xA1] => Some((ByteOrder::Little, 1)),
        [0xA1, 0xB2, 0x3C, 0x4D] => Some((ByteOrder::Big, 1)),
        _ => None,
    }
}

/// Returns the link type from a file's header; its upper bits are not used.
fn link_type(head: &[u8]) -> Option<u32> {
    let (order, _) = magic(head)?;
    Some(order.u32(head, 20)? & 0xFFFF)
}

/// Returns whether a file with this beginning is pcap with CAN frames.
pub(super) fn verdict(head: &[u8]) -> HeadVerdict {
    match (magic(head), link_type(head)) {
        (None, _) => HeadVerdict::Other,
        (Some(_), None) => HeadVerdict::More,
        (Some(_), Some(link)) if FrameLink::from_number(link).is_none() => {
            HeadVerdict::LinkType(link)
        }
        (Some(_), Some(_)) => HeadVerdict::Yes,
    }
}

impl RecordReader {
    /// Creates a reader from the header; `None` where it is not valid, or of a link type without
    /// CAN frames.
    fn new(head: &[u8]) -> Option<Self> {
        let (order, unit) = magic(head)?;
        let link = FrameLink::from_number(link_type(head)?)?;
        Some(Self {
            order,
            unit,
            link,
            indices: InterfaceIndices::default(),
        })
    }

    /// Reads the record at the beginning of `head`.
    fn record(&mut self, head: &[u8], frame: &mut FrameBuf) -> NextBlock {
        let word = |at| self.order.u32(head, at);
        let (Some(seconds), Some(fraction), Some(captured), Some(original)) =
            (word(0), word(4), word(8), word(12))
        else {
            return NextBlock::More;
        };
        let size = RECORD_HEADER + captured as usize;
        if captured > IMPOSSIBLE {
            return NextBlock::Lost(LogFault::Said(
                "not a record of pcap: its length is impossible",
            ));
        }
        if captured > LONGEST {
            return NextBlock::Bad(size as u64, LogFault::Said("longer than any CAN frame"));
        }
        let Some(bytes) = head.get(RECORD_HEADER..size) else {
            return NextBlock::More;
        };
        let ns = Nanos::from(seconds) * 1_000_000_000 + Nanos::from(fraction) * self.unit;
        let packet = CapturedPacket {
            bytes,
            original: original as usize,
            order: self.order,
        };
        match self.link.read(&packet, frame) {
            Err(fault) => NextBlock::Bad(size as u64, fault),
            Ok(None) => NextBlock::Other(size as u64),
            Ok(Some(side)) => {
                let name = side
                    .index
                    .map_or(Some(InterfaceName::numbered(0)), |index| {
                        self.indices.name(index)
                    });
                let Some(name) = name else {
                    return NextBlock::Bad(size as u64, LogFault::Said(MANY));
                };
                NextBlock::Frame(size, ParsedFrame::new(ns, side.direction, name))
            }
        }
    }
}
