//! Reading datagrams.

use super::message::{MessageContent, len, read};
use super::report::REPORT_BIT;
use super::{
    ENCAPSULATION, LONGEST_SPAN, NTSCF, NTSCF_HEADER, TIME_UNCERTAIN, TIME_VALID, TSCF, TSCF_HEADER,
};
use crate::{
    DatagramFault, DatagramFrame, DatagramNumber, DatagramReader, FrameTrail, PresentationTime,
};
use frame::Nanos;
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
    /// The earliest stamp of the present datagram's frames, if its presentation time is that of the
    /// frame with it.
    earliest: Option<Nanos>,
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
            earliest: None,
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

/// The header of a stream, and the places of its messages.
struct StreamHeader {
    /// Offset of the first message.
    begin: usize,
    /// Offset behind the last message.
    end: usize,
    sequence: u8,
    stream: u64,
    presentation: Option<PresentationTime>,
}

/// Reads the header of a datagram.
fn header(datagram: &[u8]) -> Result<StreamHeader, DatagramFault> {
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
    let has_time = !is_ntscf && second & TIME_VALID != 0;
    let presentation = has_time.then(|| PresentationTime {
        low: u32::from_be_bytes([header[12], header[13], header[14], header[15]]),
        is_uncertain: header[3] & TIME_UNCERTAIN != 0,
    });
    let begin = ENCAPSULATION + begin;
    let end = begin + usize::from(len);
    if end != datagram.len() {
        return fault(datagram.len(), "its length is not that of its messages");
    }
    Ok(StreamHeader {
        begin,
        end,
        sequence,
        stream,
        presentation,
    })
}

/// The earliest and the latest stamp of a datagram's frames.
#[derive(Default)]
struct StampSpan(Option<(Nanos, Nanos)>);

impl StampSpan {
    fn add(&mut self, stamp: Option<Nanos>) {
        if let Some(stamp) = stamp {
            let (earliest, latest) = self.0.unwrap_or((stamp, stamp));
            self.0 = Some((earliest.min(stamp), latest.max(stamp)));
        }
    }

    /// Returns the earliest stamp, if the latest one is near it.
    fn earliest(&self) -> Option<Nanos> {
        let (earliest, latest) = self.0?;
        (latest - earliest <= LONGEST_SPAN).then_some(earliest)
    }
}

impl DatagramReader for AcfReader {
    fn check(&mut self, datagram: &[u8]) -> Result<Option<DatagramNumber>, DatagramFault> {
        let header = header(datagram)?;
        let (mut at, end) = (header.begin, header.end);
        let mut span = StampSpan::default();
        while at < end {
            let fault = |what| DatagramFault { at, what };
            let rest = &datagram[at..end];
            let len = len(rest).map_err(fault)?;
            if let MessageContent::Can(_, frame) = read(&rest[..len]).map_err(fault)? {
                span.add(frame.stamp);
            }
            at += len;
        }
        self.earliest = span.earliest();
        if header.stream != self.stream {
            self.others += 1;
            // Its numbers are those of another stream.
            return Ok(None);
        }
        let long = datagram.first_chunk().map(|long| u32::from_be_bytes(*long));
        let number = DatagramNumber {
            short: header.sequence,
            long: long.filter(|_| !self.is_short),
        };
        Ok(Some(number))
    }

    fn next<'d>(&'d mut self, datagram: &'d [u8], at: &mut usize) -> Option<DatagramFrame<'d>> {
        let header = header(datagram).ok()?;
        if header.stream != self.stream {
            return None;
        }
        if *at < header.begin {
            (*at, self.trail) = (header.begin, 0..0);
        }
        while *at < header.end {
            let rest = &datagram[*at..header.end];
            let len = len(rest).ok()?;
            *at += len;
            match read(&rest[..len]) {
                Ok(MessageContent::Can(bus, frame)) if self.bus.is_none_or(|own| own == bus) => {
                    let trail = datagram.get(self.trail.clone());
                    let trail = trail.and_then(FrameTrail::from_bytes).unwrap_or_default();
                    let later = frame.stamp.zip(self.earliest);
                    let later = later.map_or(0, |(stamp, earliest)| stamp.saturating_sub(earliest));
                    return Some(DatagramFrame {
                        presentation: header.presentation.map(|time| time.plus(later)),
                        trail,
                        ..frame
                    });
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
