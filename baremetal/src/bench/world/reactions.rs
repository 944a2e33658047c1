//! The reactions of controllers and tester to events on a bus.

use super::super::page::RegisterPage;
use super::super::task::StampKind;
use super::super::tester::RawStamp;
use super::happened::WorldEvent;
use super::{BenchWorld, ControllerSeat, INCOMING, OUTGOING};
use bus::{DropReason, ErrorState, NodeId};
use controller::mapped::{FIFO, TX_BUS_OFF, TX_FAILED, TX_SENT};
use frame::{Frame, Nanos};

impl BenchWorld {
    pub(super) fn react(&mut self, what: &WorldEvent, late: Nanos) {
        match *what {
            WorldEvent::Frame {
                start,
                end,
                bus,
                node,
                tag,
                frame,
                received,
            } => {
                let sender = self.whose(bus, node);
                self.tester.stamp(RawStamp {
                    end,
                    duration: end - start,
                    bus,
                    node: sender.map_or(0, |seat| seat as u8 + 1),
                    kind: StampKind::Frame,
                    frame: Some(frame),
                });
                match sender {
                    Some(seat) => self.end(seat, tag, TX_SENT, end),
                    None => self.tester.ended(end),
                }
                if sender.is_some() && bus == OUTGOING {
                    self.tester.came(&frame);
                }
                if self.ideal && bus == INCOMING && received != 0 {
                    self.pass(&frame, late);
                    return;
                }
                for seat in (0..self.seats.len()).filter(|seat| received & 1 << seat != 0) {
                    self.receive(seat, &frame, end);
                }
            }
            WorldEvent::Error {
                start,
                end,
                bus,
                node,
                frame,
            } => {
                self.tester.stamp(RawStamp {
                    end,
                    duration: end - start,
                    bus,
                    node: self.whose(bus, node).map_or(0, |seat| seat as u8 + 1),
                    kind: StampKind::Error,
                    frame: Some(frame),
                });
                for seat in 0..self.seats.len() {
                    self.error(seat, bus);
                }
            }
            WorldEvent::State {
                at,
                bus,
                node,
                state,
            } => {
                let Some(seat) = self.whose(bus, node) else {
                    return;
                };
                self.write_state(seat);
                self.change(seat);
                if state == ErrorState::BusOff {
                    self.tester.stamp(RawStamp {
                        end: at,
                        duration: 0,
                        bus,
                        node: seat as u8 + 1,
                        kind: StampKind::BusOff,
                        frame: None,
                    });
                }
            }
            WorldEvent::Dropped {
                at,
                bus,
                node,
                tag,
                why,
            } => match self.whose(bus, node) {
                Some(seat) => {
                    let state = match why {
                        DropReason::BusOff => TX_BUS_OFF,
                        DropReason::OneShot | DropReason::QueueFull => TX_FAILED,
                    };
                    self.end(seat, tag, state, at);
                }
                None => self.tester.ended(at),
            },
        }
    }

    /// Returns the controller that is this node.
    fn whose(&self, bus: u8, node: NodeId) -> Option<usize> {
        let is = |seat: &ControllerSeat| seat.bus == bus && seat.node == Some(node);
        self.seats.iter().position(is)
    }

    /// Signals a change; raises the line if the driver has enabled interrupts.
    fn change(&mut self, number: usize) {
        if let Some(seat) = self.seats.get_mut(number) {
            seat.changes = seat.changes.wrapping_add(1);
            seat.page.changed(seat.changes);
            if seat.page.interrupts() {
                self.raised |= 1 << number;
            }
        }
    }

    fn receive(&mut self, number: usize, frame: &Frame, end: Nanos) {
        let Some(seat) = self.seats.get_mut(number) else {
            return;
        };
        let id = frame.id().raw();
        let wants = |&(want, mask): &(u32, u32)| (id ^ want) & mask == 0;
        if !seat.filters.is_empty() && !seat.filters.iter().any(wants) {
            return;
        }
        if seat.head.wrapping_sub(seat.page.tail()) >= FIFO {
            seat.overruns += 1;
            seat.page.set_head(seat.head, seat.overruns);
            let bus = seat.bus;
            self.tester.stamp(RawStamp {
                end,
                duration: 0,
                bus,
                node: number as u8 + 1,
                kind: StampKind::Overrun,
                frame: Some(*frame),
            });
        } else {
            seat.head = seat.page.receive(seat.head, seat.overruns, frame, end);
        }
        self.change(number);
    }

    /// Acts as an ideal gateway: the frame is ready on the outgoing bus at once.
    fn pass(&mut self, frame: &Frame, at: Nanos) {
        let out = self.seats.iter().find(|seat| seat.bus == OUTGOING);
        let Some(node) = out.and_then(|seat| seat.node) else {
            return;
        };
        if let Some(side) = self.sides.get_mut(usize::from(OUTGOING)) {
            // A frame for which there is no space is lost, and missing among the stamps.
            let _ = side.bus.send(node, at.max(side.bus.now()), frame, u64::MAX);
        }
    }

    fn end(&mut self, number: usize, tag: u64, state: u32, at: Nanos) {
        let Some(seat) = self.seats.get_mut(number) else {
            return;
        };
        let buffer = tag as usize;
        if !RegisterPage::is_buffer(buffer) {
            return;
        }
        seat.pending &= !(1 << buffer);
        seat.page.set_buffer(buffer, state, at);
        self.change(number);
    }

    /// Records an error frame on a bus, which all its controllers see.
    fn error(&mut self, number: usize, bus: u8) {
        match self.seats.get_mut(number) {
            Some(seat) if seat.bus == bus => {
                seat.errors = seat.errors.wrapping_add(1);
                seat.page.set_errors(seat.errors);
            }
            _ => return,
        }
        self.write_state(number);
        self.change(number);
    }

    fn write_state(&mut self, number: usize) {
        let Some(seat) = self.seats.get(number) else {
            return;
        };
        let side = self.sides.get(usize::from(seat.bus));
        let state = seat.node.and_then(|node| side?.bus.node_state(node));
        if let Some(state) = state {
            // `BITCAN_ERROR_…` has the same numbers.
            seat.page
                .set_state(state.state as u32, state.tec, state.rec);
        }
    }
}
