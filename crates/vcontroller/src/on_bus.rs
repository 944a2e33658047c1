//! The controller as a node of a simulated bus ([`bus::Bus`]).

use crate::{Candidate, Controller, State};
use bus::{Bus, ConfigError, Event, NodeConfig, NodeId};
use frame::{Frame, Nanos};

/// One controller as a node of a bus: what stands between the two.
pub struct Attached {
    /// The controller.
    pub controller: Controller,
    /// Its node.
    pub node: NodeId,
    /// What lies in the node's transmit buffer and is not on the wire.
    offered: Option<Candidate>,
    /// What is on the wire.
    flying: Option<Candidate>,
    /// The start of the attempt that has failed last.
    failed: Option<Nanos>,
}

/// Something that happened on the bus, before anybody has reacted to it.
#[derive(Clone, Copy, Debug)]
pub enum Happened {
    /// A frame was sent.
    Sent {
        /// End of frame, ns.
        at: Nanos,
        /// The frame.
        frame: Frame,
        /// By whom.
        node: NodeId,
        /// Start of frame, ns.
        start: Nanos,
        /// The controller's node has received it.
        heard: bool,
    },
    /// An attempt has failed.
    Error {
        /// When the error frame ended, ns.
        end: Nanos,
        /// Start of frame, ns.
        start: Nanos,
        /// Whose.
        node: NodeId,
    },
    /// A node's error state has changed.
    State {
        /// When, ns.
        at: Nanos,
        /// Whose.
        node: NodeId,
        /// To what.
        state: State,
    },
}

impl Happened {
    /// What of an event matters to a controller with this node.
    #[must_use]
    pub fn of(event: &Event<'_>, to: NodeId) -> Option<Self> {
        Some(match *event {
            Event::Frame {
                start,
                end,
                node,
                frame,
                receivers,
                ..
            } => Self::Sent {
                at: end,
                frame: *frame,
                node,
                start,
                heard: receivers.receives(to),
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
    /// A node with this configuration, but for its buffers, on a bus.
    ///
    /// # Errors
    /// What [`Bus::attach`] has against the node.
    pub fn new(
        bus: &mut Bus,
        controller: Controller,
        mut node: NodeConfig,
    ) -> Result<Self, ConfigError> {
        // One buffer for the frame on the wire, one for what is offered beside it.
        node.mailboxes = 2;
        node.queue = 0;
        let node = bus.attach(node)?;
        let mut this = Self {
            controller,
            node,
            offered: None,
            flying: None,
            failed: None,
        };
        this.controller.set_state(State::Active, bus.now());
        Ok(this)
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
            let cancelled = bus.cancel(self.node, old.order);
            debug_assert!(cancelled, "it is not on the wire");
        }
        if let Some(new) = best {
            let sent = bus.send(self.node, bus.now(), &new.frame, new.order);
            debug_assert!(sent.is_ok(), "the other buffer is free");
            self.offered = sent.is_ok().then_some(new);
        }
    }

    /// Reacts to what happened.
    pub fn react(&mut self, what: &Happened) {
        match *what {
            Happened::Sent {
                at,
                frame,
                node,
                heard,
                ..
            } => match self.flying.take_if(|_| node == self.node) {
                // As it was on the wire: an error-passive sender's ESI is recessive.
                Some(sent) => self.controller.sent(&Candidate { frame, ..sent }, at),
                None if heard => self.controller.heard(&frame, at),
                None => {}
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
