//! A tester on cards of the same machine: it sends on one and receives on another, between the
//! gateway's steps.
//!
//! The buses of its cards (QEMU's) take no time, so that its stamps record the frames that came,
//! their order, and when this tester saw them; they measure no bus times.

use super::task::{BenchStamp, BenchTask, SendPattern, StampKind, TaskFrame};
use alloc::sync::Arc;
use alloc::vec::Vec;
use controller::driven::{DrivenPort, DrivenReceiver, DrivenTransmitter};
use engine::{OutgoingFrame, PortError, Receive as _, Transmit as _, TransmitRefusal};
use frame::{Frame, Nanos};

/// The most frames that are taken at a time.
const BUDGET: usize = 64;

/// The tester.
pub struct OnCards {
    sides: [CardSide; 2],
    frames: Vec<(Nanos, Frame)>,
    pattern: SendPattern,
    timeout: Nanos,
    started: Nanos,
    next: usize,
    /// Time of the last event.
    last: Nanos,
    /// In the pattern one at a time: whether a frame was sent and has not come.
    waits: bool,
    stamps: Vec<BenchStamp>,
}

struct CardSide {
    receiver: DrivenReceiver,
    transmitter: DrivenTransmitter,
}

impl OnCards {
    /// Creates a tester on these ports: the incoming bus, and the outgoing one; returns `None` if
    /// the task contains something that is not a valid frame.
    #[must_use]
    pub fn new(task: &BenchTask, ports: [Arc<DrivenPort>; 2], now: Nanos) -> Option<Self> {
        let frames = task
            .frames
            .iter()
            .map(|f| f.frame().map(|frame| (f.0, frame)));
        Some(Self {
            frames: frames.collect::<Option<Vec<_>>>()?,
            sides: ports.map(|port| CardSide {
                receiver: DrivenReceiver::new(Arc::clone(&port)),
                transmitter: DrivenTransmitter::new(port),
            }),
            pattern: task.pattern,
            timeout: task.timeout,
            started: now,
            next: 0,
            last: now,
            waits: false,
            stamps: Vec::new(),
        })
    }

    /// Takes frames that have come, and sends frames that are due. Returns false at the end.
    ///
    /// # Errors
    /// One of its cards is lost.
    pub fn step(&mut self, now: Nanos) -> Result<bool, PortError> {
        for (bus, side) in (0..).zip(&mut self.sides) {
            let (stamps, last, waits) = (&mut self.stamps, &mut self.last, &mut self.waits);
            side.receiver.receive(now, BUDGET, &mut |received| {
                *last = now;
                *waits = false;
                if let Some(frame) = Frame::from_view(received.frame) {
                    stamps.push(stamp(now, bus, 1, &frame));
                }
            })?;
            side.transmitter.flush(now)?;
        }
        if self.waits && now < self.last.saturating_add(self.timeout) {
            return Ok(true);
        }
        self.waits = false;
        let Some(&(at, frame)) = self.frames.get(self.next) else {
            return Ok(now < self.last.saturating_add(self.timeout));
        };
        if self.pattern == SendPattern::Schedule && now < self.started.saturating_add(at) {
            return Ok(true);
        }
        let [side, _] = &mut self.sides;
        match side
            .transmitter
            .transmit(now, OutgoingFrame::new(frame.view(), 0))
        {
            Ok(_) => {
                self.stamps.push(stamp(now, 0, 0, &frame));
                self.next += 1;
                self.last = now;
                self.waits = self.pattern == SendPattern::OneAtATime;
            }
            // The frame is tried again later.
            Err(TransmitRefusal::Full | TransmitRefusal::Down) => {}
            // The frame can never be sent: it is missing among the frames that are sent.
            Err(_) => self.next += 1,
        }
        Ok(true)
    }

    /// Returns the stamps.
    #[must_use]
    pub fn stamps(&self) -> &[BenchStamp] {
        &self.stamps
    }
}

fn stamp(now: Nanos, bus: u8, node: u8, frame: &Frame) -> BenchStamp {
    BenchStamp {
        end: now,
        duration: 0,
        bus,
        node,
        kind: StampKind::Frame,
        frame: TaskFrame::new(0, frame),
    }
}
