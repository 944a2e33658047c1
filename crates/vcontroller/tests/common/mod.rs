//! The controller on a simulated bus: what stands between the two.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each program of tests uses a part; a test that cannot go on has failed"
)]

use bus::{Bus, Event, NodeConfig, NodeId};
use frame::{Frame, Nanos};
use vcontroller::{Candidate, Controller, State};

/// One controller as a node of a bus.
pub struct Attached {
    pub controller: Controller,
    pub node: NodeId,
    /// What lies in the node's transmit buffer and is not on the wire.
    offered: Option<Candidate>,
    /// What is on the wire.
    flying: Option<Candidate>,
    /// The start of the attempt that has failed last.
    failed: Option<Nanos>,
}

/// Something that happened on the bus, before anybody has reacted to it.
pub enum Happened {
    Sent {
        at: Nanos,
        frame: Frame,
        node: NodeId,
        start: Nanos,
    },
    Error {
        end: Nanos,
        start: Nanos,
        node: NodeId,
    },
    State {
        at: Nanos,
        node: NodeId,
        state: State,
    },
}

impl Happened {
    pub fn of(event: &Event<'_>) -> Option<Self> {
        Some(match *event {
            Event::Frame {
                start,
                end,
                node,
                frame,
                ..
            } => Self::Sent {
                at: end,
                frame: *frame,
                node,
                start,
            },
            Event::Error {
                start, end, node, ..
            } => Self::Error { end, start, node },
            Event::State { at, node, state } => Self::State {
                at,
                node,
                state: match state {
                    bus::ErrorState::Active => State::Active,
                    bus::ErrorState::Warning => State::Warning,
                    bus::ErrorState::Passive => State::Passive,
                    bus::ErrorState::BusOff => State::BusOff,
                },
            },
            Event::Dropped { .. } => return None,
        })
    }
}

impl Attached {
    pub fn new(bus: &mut Bus, controller: Controller) -> Self {
        let mut node = NodeConfig::new("vcontroller");
        // One buffer for the frame on the wire, one for what is offered beside it.
        node.mailboxes = 2;
        node.queue = 0;
        let node = bus.attach(node).unwrap();
        let mut this = Self {
            controller,
            node,
            offered: None,
            flying: None,
            failed: None,
        };
        this.controller.set_state(State::Active, bus.now());
        this
    }

    /// What competes from now on is the controller's best. To be called after each step of the bus.
    pub fn offer(&mut self, bus: &mut Bus) {
        if let Some((order, start)) = bus.sending(self.node) {
            // The error frame after a failed attempt has not ended.
            if self.failed == Some(start) {
                return;
            }
            if let Some(offered) = self.offered.take_if(|offered| offered.order == order) {
                self.controller.on_wire(&offered, start);
                self.flying = Some(offered);
            }
        }
        let best = self.controller.best(bus.now());
        if self.flying.is_some() || best == self.offered {
            return;
        }
        if let Some(old) = self.offered.take() {
            assert!(bus.cancel(self.node, old.order), "not on the wire");
        }
        if let Some(new) = best {
            bus.send(self.node, bus.now(), &new.frame, new.order)
                .unwrap();
            self.offered = Some(new);
        }
    }

    /// Reacts to what happened.
    pub fn react(&mut self, what: &Happened) {
        match *what {
            Happened::Sent {
                at, frame, node, ..
            } => match self.flying.take_if(|_| node == self.node) {
                Some(sent) => self.controller.sent(&sent, at),
                None => self.controller.heard(&frame, at),
            },
            Happened::Error { end, start, node } => {
                if let Some(failed) = self.flying.take_if(|_| node == self.node) {
                    self.controller.off_wire(&failed, end);
                    // It lies in the node's buffer still.
                    self.failed = Some(start);
                    self.offered = Some(failed);
                }
            }
            Happened::State { at, node, state } if node == self.node => {
                self.controller.set_state(state, at);
                if !state.passes() {
                    (self.offered, self.flying) = (None, None);
                }
            }
            Happened::State { .. } => {}
        }
    }
}

/// Lets the bus and the controller run until `until`, and does `act` at each of these times, in order.
pub fn run(
    bus: &mut Bus,
    attached: &mut Attached,
    until: Nanos,
    times: &[Nanos],
    mut act: impl FnMut(&mut Bus, &mut Attached, usize),
    mut seen: impl FnMut(&Happened),
) {
    let mut next = 0;
    loop {
        let due = times.get(next).copied();
        let budget = attached.controller.deadline(bus.now());
        let all = [bus.next(), due, budget].into_iter().flatten();
        let Some(to) = all.min().filter(|&to| to <= until) else {
            return;
        };
        let to = to.max(bus.now());
        let mut happened = Vec::new();
        bus.run_until(to, |event| happened.extend(Happened::of(event)));
        for what in &happened {
            attached.react(what);
            seen(what);
        }
        while times.get(next).is_some_and(|&at| at <= to) {
            act(bus, attached, next);
            next += 1;
        }
        attached.offer(bus);
    }
}
