//! A tester on cards of the same machine: it sends on one and receives on another, between the
//! gateway's steps.
//!
//! Its cards' buses take no time (QEMU's), so that its stamps say what came, in which order, and
//! when this tester saw it; they time nothing.

use super::task::{Pattern, Stamp, StampKind, Task, TaskFrame};
use alloc::sync::Arc;
use alloc::vec::Vec;
use controller::driven::{Receiver, Shared, Transmitter};
use engine::{Outgoing, PortError, Receive as _, Refused, Transmit as _};
use frame::{Frame, Nanos};

/// Frames that are taken at a time.
const BUDGET: usize = 64;

/// The tester.
pub struct OnCards {
    sides: [Side; 2],
    frames: Vec<(Nanos, Frame)>,
    pattern: Pattern,
    timeout: Nanos,
    started: Nanos,
    next: usize,
    /// When the last thing happened.
    last: Nanos,
    /// One at a time: a frame has gone and has not come.
    waits: bool,
    stamps: Vec<Stamp>,
}

struct Side {
    receiver: Receiver,
    transmitter: Transmitter,
}

impl OnCards {
    /// On these ports: the incoming bus, and the outgoing one; `None` where the task has what is no
    /// frame.
    #[must_use]
    pub fn new(task: &Task, ports: [Arc<Shared>; 2], now: Nanos) -> Option<Self> {
        let frames = task
            .frames
            .iter()
            .map(|f| f.frame().map(|frame| (f.0, frame)));
        Some(Self {
            frames: frames.collect::<Option<Vec<_>>>()?,
            sides: ports.map(|port| Side {
                receiver: Receiver::new(Arc::clone(&port)),
                transmitter: Transmitter::new(port),
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

    /// Takes what has come, and sends what is to be sent. Gives false at the end.
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
        if self.pattern == Pattern::Schedule && now < self.started.saturating_add(at) {
            return Ok(true);
        }
        let [side, _] = &mut self.sides;
        match side
            .transmitter
            .transmit(now, Outgoing::new(frame.view(), 0))
        {
            Ok(_) => {
                self.stamps.push(stamp(now, 0, 0, &frame));
                self.next += 1;
                self.last = now;
                self.waits = self.pattern == Pattern::OneAtATime;
            }
            // Later.
            Err(Refused::Full | Refused::Down) => {}
            // Never: it is missing among what is sent.
            Err(_) => self.next += 1,
        }
        Ok(true)
    }

    /// What was seen.
    #[must_use]
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps
    }
}

fn stamp(now: Nanos, bus: u8, node: u8, frame: &Frame) -> Stamp {
    Stamp {
        end: now,
        duration: 0,
        bus,
        node,
        kind: StampKind::Frame,
        frame: TaskFrame::new(0, frame),
    }
}
