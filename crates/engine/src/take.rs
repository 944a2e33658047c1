//! One batch of frames, from the receiving port to its destinations.

use crate::batch::DecisionBatch;
use crate::counters::PortState;
use crate::engine::Engine;
use crate::fate::FateSet;
use crate::half::{Receive, Transmit};
use crate::lane::CountedReceiver;
use crate::passing::ReceiveStamp;
use crate::setup::EngineSetup;
use alloc::vec::Vec;
use frame::Nanos;
use route::{FrameArrival, PortId};

impl<R: Receive, T: Transmit> Engine<R, T> {
    /// Receives a batch from a port, decides about its frames, and flushes the ports that got some.
    /// Returns the number of frames, and whether more may be available immediately.
    pub(crate) fn take_batch(&mut self, from: usize, now: Nanos) -> (usize, bool) {
        let Some(source) = self.setup.rx.get_mut(from) else {
            return (0, false);
        };
        if source.state != PortState::Up || core::mem::take(&mut source.skip) {
            return (0, false);
        }
        if source.can_wait || source.held_back {
            return self.take_what_has_room(from, now);
        }
        let (frames, more) = self.hand_over(from, now, self.budget);
        if frames > 0 || self.setup.tx.get(from).is_some_and(|port| port.touched) {
            self.flush_touched(now);
        }
        (frames, more)
    }

    /// Does the same as [`Self::take_batch`] for a port whose frames can wait, or must wait: takes
    /// no more frames than their destinations have room for.
    fn take_what_has_room(&mut self, from: usize, now: Nanos) -> (usize, bool) {
        let (mut frames, mut more) = (0, false);
        let mut full = false;
        while frames < self.budget {
            let room = self.room_for(from).min(self.budget - frames);
            if room == 0 {
                full = true;
                break;
            }
            let (taken, again) = self.hand_over(from, now, room);
            frames += taken;
            more = again;
            if taken < room {
                break;
            }
        }
        if frames > 0 {
            self.flush_touched(now);
        }
        let blocked = full && self.room_for(from) == 0;
        if let Some(source) = self.setup.rx.get_mut(from) {
            source.blocked = blocked;
        }
        (frames, (more || full) && !blocked)
    }

    /// Returns the number of frames of this port for which all its destinations have room, or, if
    /// its frames cannot wait, those destinations that make them wait. A destination with less room
    /// than a single frame may need counts as room for one frame whenever no frame waits there.
    fn room_for(&self, from: usize) -> usize {
        let all = self
            .setup
            .rx
            .get(from)
            .is_some_and(|source| source.can_wait);
        let to = self
            .setup
            .destinations
            .get(from)
            .map_or(&[][..], Vec::as_slice);
        let room = to.iter().filter_map(|to| {
            let port = self.setup.tx.get(to.port).filter(|port| port.in_service)?;
            if !all && !port.half.makes_wait() {
                return None;
            }
            match port.half.room() / to.copies {
                0 if port.half.counters().held == 0 => Some(1),
                room => Some(room),
            }
        });
        room.min().unwrap_or(usize::MAX)
    }

    /// Takes frames from a port and gives their copies to the destinations, without flushing these.
    #[inline]
    fn hand_over(&mut self, from: usize, now: Nanos, budget: usize) -> (usize, bool) {
        let EngineSetup {
            table,
            memory,
            rx,
            tx,
            routes,
            verifications,
            options,
            ..
        } = &mut self.setup;
        let Some(source) = rx.get_mut(from) else {
            return (0, false);
        };
        let CountedReceiver {
            half,
            received,
            fates,
            ..
        } = source;
        let before = *received;
        let id = PortId(u16::try_from(from).unwrap_or(u16::MAX));
        let mut batch = DecisionBatch {
            now,
            token: 0,
            stamp: ReceiveStamp::default(),
            tx,
            routes,
            verifications,
            options,
            marks: FateSet::default(),
            forwarding: None,
        };
        let result = half.receive(now, budget, &mut |came| {
            *received += 1;
            batch.token = came.token;
            batch.stamp = came.stamp;
            batch.marks = FateSet::default();
            let arrival = FrameArrival {
                from: id,
                now,
                hops: came.hops,
            };
            table.decide(memory, arrival, came.frame, &mut batch);
            fates.count_at(batch.marks.fate());
        });
        let frames = source.received - before;
        let more = match result {
            Ok(report) => {
                source.reported += report.frames as u64;
                self.events |= report.news;
                if report.ended
                    && let Some(port) = tx.get_mut(from)
                {
                    port.touched |= port.held > 0;
                }
                if report.finished {
                    source.state = PortState::Finished;
                }
                report.more && !report.finished
            }
            Err(error) => {
                // A failing port returns no report.
                source.reported += frames;
                self.fail(from, &error);
                false
            }
        };
        (usize::try_from(frames).unwrap_or(usize::MAX), more)
    }

    fn flush_touched(&mut self, now: Nanos) {
        for i in 0..self.setup.tx.len() {
            if self.setup.tx.get(i).is_some_and(|port| port.touched) {
                self.flush_one(i, now);
            }
        }
    }

    pub(crate) fn flush_held(&mut self, now: Nanos) {
        for i in 0..self.setup.tx.len() {
            if self.setup.tx.get(i).is_some_and(|port| port.held > 0) {
                self.flush_one(i, now);
            }
        }
    }

    /// Flushes a port outside of a step: the next step looks at what it holds.
    pub(crate) fn flush_now(&mut self, i: usize, now: Nanos) {
        self.flush_one(i, now);
        self.holding |= self.setup.tx.get(i).is_some_and(|port| port.held > 0);
    }

    fn flush_one(&mut self, i: usize, now: Nanos) {
        let Some(port) = self.setup.tx.get_mut(i) else {
            return;
        };
        port.touched = false;
        if !port.in_service {
            return;
        }
        match port.half.flush(now) {
            Ok(report) => port.held = report.held,
            Err(error) => self.fail(i, &error),
        }
    }
}
