//! The tester's task, and its stamps.

use crate::plan::PortPlan;
use alloc::string::String;
use alloc::vec::Vec;
use frame::{CanId, Frame, Kind, Nanos};
use serde::{Deserialize, Serialize};

/// A measurement, which the image gets as a file of its own (a module of PVH).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchTask {
    /// Whether frames pass from the incoming to the outgoing controller within the bench, without a
    /// gateway: this measures the overhead of the bench itself.
    pub ideal: bool,
    /// The order and times of the frames.
    pub pattern: SendPattern,
    /// Time after which a frame is given up, and for which the tester listens after the last one,
    /// ns.
    pub timeout: Nanos,
    /// Ticks per second of the processor's counter and of its timer, if they are known exactly (in
    /// virtual time).
    pub ticks: Option<u64>,
    /// If the tester is on cards of the machine instead of the bench's buses: its ports on the
    /// incoming and on the outgoing bus.
    pub on_cards: Option<[PortPlan; 2]>,
    /// The number of stamps that are stored; `None` for four per frame, and about a thousand more.
    /// Further stamps are counted as lost.
    pub stamps: Option<u32>,
    /// The disturbance of the outgoing bus of the bench.
    pub disturbed: Option<DisturbedFrames>,
    /// The frames, in order.
    pub frames: Vec<TaskFrame>,
}

/// Starts of frame on the outgoing bus whose frame is destroyed by an inverted bit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DisturbedFrames {
    /// The first one, counted from 1, including repeated attempts.
    pub first: u64,
    /// The number of them; 32 in a row make the gateway's controller bus-off (fault confinement,
    /// rule 10).
    pub count: u64,
}

/// The order and times of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SendPattern {
    /// Each frame is sent when one with the previous frame's number (first two payload bytes) has
    /// come out.
    OneAtATime,
    /// Each frame is sent at its time, in ns after the start; a flood has all at 0.
    Schedule,
}

/// A frame to send: time, ns; identifier with flag bits; FD flags, `None` for a classic frame;
/// payload.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TaskFrame(pub Nanos, pub u32, pub Option<u8>, pub String);

/// Something that happened on a bus.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchStamp {
    /// End of frame, or time of the event; ns of bus time.
    pub end: Nanos,
    /// Time from start of frame to its end, ns.
    pub duration: Nanos,
    /// The bus.
    pub bus: u8,
    /// The node; 0 is the tester.
    pub node: u8,
    /// The kind of event.
    pub kind: StampKind,
    /// The frame.
    pub frame: TaskFrame,
}

/// The kind of event on a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StampKind {
    /// A frame ended without error.
    Frame,
    /// An error frame ended.
    Error,
    /// A receive FIFO lost this frame.
    Overrun,
    /// A controller went bus-off.
    BusOff,
}

impl TaskFrame {
    /// Creates the description of a frame at a time.
    #[must_use]
    pub fn new(at: Nanos, frame: &Frame) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let header = frame.header();
        // A remote frame has a length and no data.
        let data = frame.data().iter().copied().chain(core::iter::repeat(0));
        let mut hex = String::with_capacity(2 * header.len());
        for byte in data.take(header.len()) {
            for digit in [byte >> 4, byte & 15] {
                hex.extend(DIGITS.get(usize::from(digit)).map(|&c| char::from(c)));
            }
        }
        let fd = (frame.kind() == Kind::Fd).then(|| header.flags());
        Self(at, frame.id().raw(), fd, hex)
    }

    /// Returns the frame; `None` if it is not valid.
    #[must_use]
    pub fn frame(&self) -> Option<Frame> {
        let mut data = [0; 64];
        let mut len = 0;
        let mut digits = self.3.chars().map(|c| c.to_digit(16));
        while let Some(high) = digits.next() {
            let byte = high? * 16 + digits.next()??;
            *data.get_mut(len)? = byte as u8;
            len += 1;
        }
        let (id, data) = (CanId::from_raw(self.1), data.get(..len)?);
        match self.2 {
            Some(flags) => Frame::fd(id, flags, data).ok(),
            None if id.is_rtr() => Frame::remote(id, len).ok(),
            None => Frame::classic(id, data).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_what_they_were() {
        let id = CanId::from_raw;
        for frame in [
            Frame::classic(id(0x123), &[1, 0xAB]).unwrap(),
            Frame::classic(id(0x9234_5678), &[]).unwrap(),
            Frame::remote(id(0x4000_0123), 5).unwrap(),
            Frame::fd(id(0x7FF), 1, &[0xF0; 64]).unwrap(),
        ] {
            assert_eq!(TaskFrame::new(7, &frame).frame(), Some(frame));
        }
        let bad = |hex: &str| TaskFrame(0, 1, None, hex.into()).frame();
        assert_eq!(
            (bad("1"), bad("1g"), bad("000000000000000000")),
            (None, None, None)
        );
    }
}
