//! The controller as a node of a simulated bus ([`Bus`]).

use super::{ErrorState, NextFrame, VirtualController};
use crate::{Bus, ConfigError, NodeConfig, NodeEvent, NodeId};
use frame::{Frame, Nanos};

/// The connection between a controller and a node of a bus.
pub struct AttachedController {
    /// The controller.
    pub controller: VirtualController,
    /// Its node.
    pub node: NodeId,
    /// The frame in the node's transmit buffer that is not on the wire.
    offered: Option<NextFrame>,
    /// The frame on the wire.
    flying: Option<NextFrame>,
    /// The start of the last attempt that has failed.
    failed: Option<Nanos>,
}

/// An event on the bus, before any controller has reacted to it.
#[derive(Clone, Copy, Debug)]
pub enum ControllerEvent {
    /// A frame was sent.
    Sent {
        /// End of frame, ns.
        at: Nanos,
        /// The frame.
        frame: Frame,
        /// The sending node.
        node: NodeId,
        /// Start of frame, ns.
        start: Nanos,
        /// Whether the controller's node has received it.
        heard: bool,
    },
    /// An attempt has failed.
    Error {
        /// Time of the end of the error frame, ns.
        end: Nanos,
        /// Start of frame, ns.
        start: Nanos,
        /// The node of the attempt.
        node: NodeId,
    },
    /// A node's error state has changed.
    State {
        /// Time of the change, ns.
        at: Nanos,
        /// The node.
        node: NodeId,
        /// The new state.
        state: ErrorState,
    },
}

impl ControllerEvent {
    /// Returns the part of an event that matters to a controller with this node.
    #[must_use]
    pub fn from_event(event: &NodeEvent<'_>, to: NodeId) -> Option<Self> {
        Some(match *event {
            NodeEvent::Frame {
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
            NodeEvent::Error {
                start, end, node, ..
            } => Self::Error { end, start, node },
            NodeEvent::State { at, node, state } => Self::State { at, node, state },
            NodeEvent::Dropped { .. } => return None,
        })
    }
}

impl AttachedController {
    /// Attaches a node with this configuration, except for its buffers, to a bus.
    ///
    /// # Errors
    /// [`Bus::attach`]'s error for the node.
    pub fn new(
        bus: &mut Bus,
        controller: VirtualController,
        mut node: NodeConfig,
    ) -> Result<Self, ConfigError> {
        // One buffer for the frame on the wire, one for the next frame that is offered.
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
        this.controller
            .set_state(Some(ErrorState::Active), bus.now());
        Ok(this)
    }

    /// Lets the controller's best frame compete from now on. Must be called after each step of the
    /// bus.
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

    /// Reacts to an event.
    pub fn react(&mut self, what: &ControllerEvent) {
        match *what {
            ControllerEvent::Sent {
                at,
                frame,
                node,
                heard,
                ..
            } => match self.flying.take_if(|_| node == self.node) {
                // The frame as it was on the wire: an error-passive sender's ESI is recessive.
                Some(sent) => self.controller.sent(&NextFrame { frame, ..sent }, at),
                None if heard => self.controller.deliver(&frame, at),
                None => {}
            },
            ControllerEvent::Error { end, start, node } => {
                if let Some(failed) = self.flying.take_if(|_| node == self.node) {
                    self.controller.off_wire(&failed, end);
                    // It is still in the node's buffer.
                    self.failed = Some(start);
                    self.offered = Some(failed);
                }
            }
            ControllerEvent::State { at, node, state } if node == self.node => {
                self.controller.set_state(Some(state), at);
                if !state.is_on_bus() {
                    (self.offered, self.flying) = (None, None);
                }
            }
            ControllerEvent::State { .. } => {}
        }
    }
}
