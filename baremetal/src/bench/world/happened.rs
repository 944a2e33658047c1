//! The events of a step, which are kept until the step is complete.

use super::ControllerSeat;
use alloc::vec::Vec;
use bus::{DropReason, ErrorState, NodeEvent, NodeId};
use frame::{Frame, Nanos};

pub(super) enum WorldEvent {
    Frame {
        start: Nanos,
        end: Nanos,
        bus: u8,
        node: NodeId,
        tag: u64,
        frame: Frame,
        /// Controllers that received it, one bit each.
        received: u32,
    },
    Error {
        start: Nanos,
        end: Nanos,
        bus: u8,
        node: NodeId,
        frame: Frame,
    },
    State {
        at: Nanos,
        bus: u8,
        node: NodeId,
        state: ErrorState,
    },
    Dropped {
        at: Nanos,
        bus: u8,
        node: NodeId,
        tag: u64,
        why: DropReason,
    },
}

/// Keeps a bus's event until the step is complete.
pub(super) fn note(
    event: &NodeEvent<'_>,
    bus: u8,
    seats: &[ControllerSeat],
    happened: &mut Vec<WorldEvent>,
) {
    happened.push(match *event {
        NodeEvent::Frame {
            start,
            end,
            node,
            tag,
            frame,
            ref receivers,
            ..
        } => {
            let mut received = 0;
            for (number, seat) in seats.iter().enumerate() {
                let hears = |node| seat.bus == bus && receivers.receives(node);
                if seat.node.is_some_and(hears) {
                    received |= 1 << number;
                }
            }
            WorldEvent::Frame {
                start,
                end,
                bus,
                node,
                tag,
                frame: *frame,
                received,
            }
        }
        NodeEvent::Error {
            start,
            end,
            node,
            frame,
            ..
        } => WorldEvent::Error {
            start,
            end,
            bus,
            node,
            frame: *frame,
        },
        NodeEvent::State { at, node, state } => WorldEvent::State {
            at,
            bus,
            node,
            state,
        },
        NodeEvent::Dropped {
            at, node, tag, why, ..
        } => WorldEvent::Dropped {
            at,
            bus,
            node,
            tag,
            why,
        },
    });
}
