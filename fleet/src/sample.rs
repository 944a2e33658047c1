//! Frames in a sample, written and read.
//!
//! A sample is one ACF PDU as IEEE 1722 has it over UDP (annex J): the sample's number (32 bits),
//! an NTSCF header with the stream's ID, and messages of CAN. The stream is one run of one
//! publisher. The attachment is the number of the frames that the stream had in its samples before
//! this one (64 bits, big endian): so a receiver knows how many frames it lost, not only how many
//! samples. A PDU without messages is a statement: its number is that of the next sample.

use crate::account::SampleNumber;
use frame::{FrameRef, Nanos};
use net::ieee1722::{AcfReader, AcfWriter, ENCAPSULATION, HEADERS, MessageVersion};
use net::{DatagramFrame, DatagramReader as _, DatagramWriter as _, FrameTrail, NotWritten};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// The bit of a stream's ID that marks reports of gateways; a stream of frames does not have it.
const REPORT_BIT: u64 = net::ieee1722::REPORT_BIT;

/// Returns the ID of a new stream: a random one, so that a publisher that begins anew is another.
#[must_use]
pub fn new_stream() -> u64 {
    RandomState::new().build_hasher().finish() & !REPORT_BIT
}

/// A sample before it has its number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnsentSample {
    bytes: Vec<u8>,
    /// The frames in it.
    pub frames: u64,
}

/// Writes the samples of one stream.
#[derive(Debug)]
pub struct SampleWriter {
    acf: AcfWriter,
    /// Frames in the samples that are finished.
    frames: u64,
}

impl SampleWriter {
    /// Returns a writer of a stream, for messages of this version.
    #[must_use]
    pub fn new(stream: u64, version: MessageVersion) -> Self {
        Self {
            acf: AcfWriter::new(stream, version, 0, false),
            frames: 0,
        }
    }

    /// Numbers a sample, which is to be published next. Returns the payload and the attachment.
    pub fn finish(&mut self, sample: UnsentSample) -> (Vec<u8>, [u8; 8]) {
        let mut bytes = sample.bytes;
        self.acf.finish(&mut bytes);
        let before = self.frames.to_be_bytes();
        self.frames += sample.frames;
        (bytes, before)
    }

    /// Takes the number of the last sample back: it was not published.
    pub fn take_back(&mut self, frames: u64) {
        self.acf.take_back();
        self.frames -= frames;
    }

    /// Returns the payload and the attachment of a statement: what was published up to now.
    pub fn state(&mut self) -> (Vec<u8>, [u8; 8]) {
        let mut bytes = vec![0; HEADERS];
        self.acf.finish(&mut bytes);
        self.acf.take_back();
        (bytes, self.frames.to_be_bytes())
    }
}

/// Collects frames for samples of one class.
#[derive(Debug)]
pub struct SampleCollector {
    acf: AcfWriter,
    sample: UnsentSample,
    trail: Vec<u8>,
}

impl SampleCollector {
    /// Returns a collector for messages of this version, with this number of a bus.
    #[must_use]
    pub fn new(version: MessageVersion, bus: u16) -> Self {
        Self {
            // Stream and number are those of the writer that finishes the sample.
            acf: AcfWriter::new(0, version, bus, false).with_trails(),
            sample: UnsentSample::default(),
            trail: Vec::new(),
        }
    }

    /// Adds a frame. Returns the sample before it, if the frame has to begin another one.
    ///
    /// # Errors
    /// The messages cannot express the frame; it is left out.
    pub fn push(
        &mut self,
        frame: &FrameRef<'_>,
        stamp: Nanos,
        trail: FrameTrail<'_>,
    ) -> Result<Option<UnsentSample>, NotWritten> {
        // A sample has one trail, before its frames.
        let is_other = self.sample.frames > 0 && self.trail != trail.bytes();
        let before = is_other.then(|| self.take());
        match self.try_push(frame, stamp, trail) {
            Err(NotWritten::Full) => {
                let full = self.take();
                self.try_push(frame, stamp, trail)?;
                Ok(Some(full))
            }
            Err(NotWritten::Unsupported) if before.is_none() => Err(NotWritten::Unsupported),
            // The sample before it is not lost with the frame: it is begun anew.
            Err(NotWritten::Unsupported) => {
                self.sample = before.unwrap_or_default();
                Err(NotWritten::Unsupported)
            }
            Ok(()) => Ok(before),
        }
    }

    fn try_push(
        &mut self,
        frame: &FrameRef<'_>,
        stamp: Nanos,
        trail: FrameTrail<'_>,
    ) -> Result<(), NotWritten> {
        let bytes = &mut self.sample.bytes;
        if bytes.is_empty() && !trail.is_empty() {
            self.acf.push_trail(trail, bytes);
        }
        let pushed = self.acf.push(frame, stamp, bytes);
        match pushed {
            Ok(()) => {
                self.sample.frames += 1;
                self.trail.clear();
                self.trail.extend_from_slice(trail.bytes());
            }
            // No trail without frames.
            Err(_) if self.sample.frames == 0 => bytes.clear(),
            Err(_) => {}
        }
        pushed
    }

    fn take(&mut self) -> UnsentSample {
        std::mem::take(&mut self.sample)
    }

    /// Returns the sample that was begun, if any.
    pub fn finish(&mut self) -> Option<UnsentSample> {
        let sample = self.take();
        (sample.frames > 0).then_some(sample)
    }
}

/// A sample that was checked, with the frames in it.
#[derive(Debug)]
pub struct ReadSample<'p> {
    /// The ID of its stream.
    pub stream: u64,
    /// Its number, and those of its frames.
    pub number: SampleNumber,
    payload: &'p [u8],
    reader: AcfReader,
    at: usize,
}

impl<'p> ReadSample<'p> {
    /// Checks the payload and the attachment of a sample.
    ///
    /// # Errors
    /// A description of the first fault.
    pub fn check(payload: &'p [u8], attachment: Option<&[u8]>) -> Result<Self, String> {
        let before = attachment.and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        let before = before.ok_or("it has no number of frames in its attachment")?;
        let named = payload.get(ENCAPSULATION + 4..);
        let stream = named.and_then(<[u8]>::first_chunk);
        let stream = stream.map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let mut reader = AcfReader::new(stream, None);
        let number = reader.check(payload).map_err(|fault| fault.to_string())?;
        let number = number.and_then(|number| number.long);
        let number = number.ok_or("it has no number")?;
        let (mut at, mut frames) = (0, 0);
        while reader.next(payload, &mut at).is_some() {
            frames += 1;
        }
        if reader.passed_over() > 0 {
            return Err("it has messages of other types than CAN".to_owned());
        }
        let number = SampleNumber {
            sample: number,
            before: u64::from_be_bytes(before),
            frames,
        };
        Ok(Self {
            stream,
            number,
            payload,
            reader,
            at: 0,
        })
    }

    /// Returns the next frame.
    pub fn take_frame(&mut self) -> Option<DatagramFrame<'_>> {
        self.reader.next(self.payload, &mut self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{CanId, Frame};
    use proptest::prelude::*;

    fn frame(number: u32) -> Frame {
        Frame::classic(CanId::sff(number & 0x7FF).unwrap(), &[number as u8; 8]).unwrap()
    }

    fn collect(frames: &[(Frame, Nanos, Vec<u8>)]) -> Vec<UnsentSample> {
        let mut collector = SampleCollector::new(MessageVersion::V1, 0);
        let mut samples = Vec::new();
        for (frame, stamp, trail) in frames {
            let trail = FrameTrail::from_bytes(trail).unwrap();
            samples.extend(collector.push(&frame.view(), *stamp, trail).unwrap());
        }
        samples.extend(collector.finish());
        samples
    }

    #[test]
    fn a_sample_without_its_attachment_is_a_fault() {
        let mut writer = SampleWriter::new(new_stream(), MessageVersion::V1);
        let sample = collect(&[(frame(1), 5, Vec::new())]).remove(0);
        let (payload, before) = writer.finish(sample);
        assert!(ReadSample::check(&payload, Some(&before)).is_ok());
        for wrong in [None, Some(&before[..7])] {
            let fault = ReadSample::check(&payload, wrong).unwrap_err();
            assert!(fault.contains("attachment"), "{fault}");
        }
        let fault = ReadSample::check(&payload[..payload.len() - 1], Some(&before)).unwrap_err();
        assert!(fault.contains("length"), "{fault}");
    }

    #[test]
    fn a_frame_that_messages_cannot_express_takes_no_other_with_it() {
        let xl = frame::Header::new(frame::Kind::Xl, CanId::sff(1).unwrap(), 100).unwrap();
        let xl = FrameRef::new(xl, &[0; 100]).unwrap();
        let mut collector = SampleCollector::new(MessageVersion::V1, 0);
        let trail = [7; 8];
        let trail = FrameTrail::from_bytes(&trail).unwrap();
        let none = FrameTrail::default();
        assert_eq!(collector.push(&frame(1).view(), 1, none), Ok(None));
        assert_eq!(collector.push(&xl, 1, trail), Err(NotWritten::Unsupported));
        assert_eq!(collector.push(&frame(2).view(), 1, none), Ok(None));
        assert_eq!(collector.finish().unwrap().frames, 2);
        assert_eq!(collector.finish(), None);
    }

    proptest! {
        /// All collected frames are read, in their order, with their stamps, trails and numbers.
        #[test]
        fn samples_are_read_as_they_were_written(
            frames in prop::collection::vec((0_u32..0x800, any::<u64>(), 0_usize..3), 1..200)
        ) {
            let frames: Vec<_> = frames
                .into_iter()
                .map(|(id, stamp, stations)| (frame(id), stamp, vec![1; stations * 8]))
                .collect();
            let mut writer = SampleWriter::new(new_stream(), MessageVersion::V1);
            let mut all = frames.iter();
            let mut before = 0;
            for (index, sample) in collect(&frames).into_iter().enumerate() {
                let (payload, attachment) = writer.finish(sample);
                prop_assert!(payload.len() <= net::ieee1722::MAX_DATAGRAM);
                let mut read = ReadSample::check(&payload, Some(&attachment)).unwrap();
                prop_assert_eq!(read.number.sample, index as u32);
                prop_assert_eq!(read.number.before, before);
                before += read.number.frames;
                while let Some(got) = read.take_frame() {
                    let (frame, stamp, trail) = all.next().unwrap();
                    prop_assert_eq!(got.frame, frame.view());
                    prop_assert_eq!(got.stamp, Some(*stamp));
                    prop_assert_eq!(got.trail.bytes(), &trail[..]);
                }
            }
            prop_assert!(all.next().is_none());
            let (payload, attachment) = writer.state();
            let read = ReadSample::check(&payload, Some(&attachment)).unwrap();
            prop_assert_eq!((read.number.before, read.number.frames), (before, 0));
        }

        /// Nothing from outside stops the reader.
        #[test]
        fn any_payload_is_checked(payload in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = ReadSample::check(&payload, Some(&[0; 8]));
        }
    }
}
