//! Reading datagrams.

use super::message::{MessageContent, len, read};
use super::report::REPORT_BIT;
use super::{ENCAPSULATION, NTSCF, NTSCF_HEADER, TSCF, TSCF_HEADER};
use crate::{DatagramFault, DatagramFrame, DatagramNumber, DatagramReader, FrameTrail};
use std::ops::Range;

/// The bit of the second byte of a stream's header that marks its ID as valid.
const STREAM_VALID: u8 = 0x80;

/// Reads the datagrams of one stream.
#[derive(Clone, Debug)]
pub struct AcfReader {
    stream: u64,
    bus: Option<u16>,
    others: u64,
    /// Frames of other buses since the last query.
    foreign: u64,
    /// The sequence number before the stream's header is not one.
    is_short: bool,
    /// Place of the present trail in the datagram.
    trail: Range<usize>,
}

impl AcfReader {
    /// Returns a reader of the stream with this ID, which takes the frames of this bus; `None`: of
    /// all buses.
    #[must_use]
    pub const fn new(stream: u64, bus: Option<u16>) -> Self {
        Self {
            stream,
            bus,
            others: 0,
            foreign: 0,
            is_short: false,
            trail: 0..0,
        }
    }
}

impl AcfReader {
    /// Returns the reader for datagrams of Ethernet, before which 4 bytes were put that are no
    /// sequence number.
    #[must_use]
    pub const fn on_ethernet(mut self) -> Self {
        self.is_short = true;
        self
    }
}

/// Returns the length of what an Ethernet frame has of a stream, without the padding to Ethernet's
/// least length; `pdu` begins with the stream's header. Something else has its own length.
#[must_use]
pub fn unpadded_len(pdu: &[u8]) -> usize {
    let len = match pdu {
        [NTSCF, second, third, ..] => {
            NTSCF_HEADER + usize::from(u16::from_be_bytes([second & 7, *third]))
        }
        [TSCF, ..] if pdu.len() >= TSCF_HEADER => {
            TSCF_HEADER + usize::from(u16::from_be_bytes([pdu[20], pdu[21]]))
        }
        _ => pdu.len(),
    };
    len.min(pdu.len())
}

/// Returns whether the header of a datagram names this stream, or the stream of its reports.
#[must_use]
pub fn stream_of(datagram: &[u8], stream: u64) -> bool {
    let named = datagram.get(ENCAPSULATION + 4..);
    let named = named.and_then(<[u8]>::first_chunk).copied();
    let named = named.map(u64::from_be_bytes);
    named.is_some_and(|named| named == stream || named == stream ^ REPORT_BIT)
}

/// Returns the offset of the first message, the sequence number, the stream's ID, and the offset of
/// the end.
fn header(datagram: &[u8]) -> Result<(usize, u8, u64, usize), DatagramFault> {
    let fault = |at, what| Err(DatagramFault { at, what });
    let early = fault(datagram.len(), "the header ends early");
    let Some(header) = datagram.get(ENCAPSULATION..) else {
        return early;
    };
    let (Some(&subtype), Some(&second)) = (header.first(), header.get(1)) else {
        return early;
    };
    let is_ntscf = match subtype {
        NTSCF => true,
        TSCF => false,
        _ => return fault(ENCAPSULATION, "the subtype is neither NTSCF nor TSCF"),
    };
    let begin = if is_ntscf { NTSCF_HEADER } else { TSCF_HEADER };
    let Some(header) = header.get(..begin) else {
        return early;
    };
    if second & 0x70 != 0 {
        return fault(ENCAPSULATION + 1, "the version is not 0");
    }
    if second & STREAM_VALID == 0 {
        return fault(ENCAPSULATION + 1, "it has no valid stream ID");
    }
    let (len, sequence) = if is_ntscf {
        (u16::from_be_bytes([second & 7, header[2]]), header[3])
    } else {
        (u16::from_be_bytes([header[20], header[21]]), header[2])
    };
    let stream = header[4..12]
        .iter()
        .fold(0, |all, byte| all << 8 | u64::from(*byte));
    let begin = ENCAPSULATION + begin;
    let end = begin + usize::from(len);
    if end != datagram.len() {
        return fault(datagram.len(), "its length is not that of its messages");
    }
    Ok((begin, sequence, stream, end))
}

impl DatagramReader for AcfReader {
    fn check(&mut self, datagram: &[u8]) -> Result<Option<DatagramNumber>, DatagramFault> {
        let (mut at, sequence, stream, end) = header(datagram)?;
        while at < end {
            let fault = |what| DatagramFault { at, what };
            let rest = &datagram[at..end];
            let len = len(rest).map_err(fault)?;
            read(&rest[..len]).map_err(fault)?;
            at += len;
        }
        if stream != self.stream {
            self.others += 1;
            // Its numbers are those of another stream.
            return Ok(None);
        }
        let long = datagram.first_chunk().map(|long| u32::from_be_bytes(*long));
        let number = DatagramNumber {
            short: sequence,
            long: long.filter(|_| !self.is_short),
        };
        Ok(Some(number))
    }

    fn next<'d>(&'d mut self, datagram: &'d [u8], at: &mut usize) -> Option<DatagramFrame<'d>> {
        let (begin, _, stream, end) = header(datagram).ok()?;
        if stream != self.stream {
            return None;
        }
        if *at < begin {
            (*at, self.trail) = (begin, 0..0);
        }
        while *at < end {
            let rest = &datagram[*at..end];
            let len = len(rest).ok()?;
            *at += len;
            match read(&rest[..len]) {
                Ok(MessageContent::Can(bus, frame)) if self.bus.is_none_or(|own| own == bus) => {
                    let trail = datagram.get(self.trail.clone());
                    let trail = trail.and_then(FrameTrail::from_bytes).unwrap_or_default();
                    return Some(DatagramFrame { trail, ..frame });
                }
                Ok(MessageContent::Trail(trail)) => self.trail = *at - trail.bytes().len()..*at,
                Ok(MessageContent::Can(..)) => {
                    self.others += 1;
                    self.foreign += 1;
                }
                _ => self.others += 1,
            }
        }
        None
    }

    fn take_foreign(&mut self) -> u64 {
        std::mem::take(&mut self.foreign)
    }

    fn passed_over(&self) -> u64 {
        self.others
    }
}
