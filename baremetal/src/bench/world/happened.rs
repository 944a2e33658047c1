//! The events of a step, which are kept until the step is complete.

use super::Seat;
use alloc::vec::Vec;
use bus::{DropReason, ErrorState, Event, NodeId};
use frame::{Frame, Nanos};

pub(super) enum Happened {
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
pub(super) fn note(event: &Event<'_>, bus: u8, seats: &[Seat], happened: &mut Vec<Happened>) {
    happened.push(match *event {
        Event::Frame {
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
            Happened::Frame {
                start,
                end,
                bus,
                node,
                tag,
                frame: *frame,
                received,
            }
        }
        Event::Error {
            start,
            end,
            node,
            frame,
            ..
        } => Happened::Error {
            start,
            end,
            bus,
            node,
            frame: *frame,
        },
        Event::State { at, node, state } => Happened::State {
            at,
            bus,
            node,
            state,
        },
        Event::Dropped {
            at, node, tag, why, ..
        } => Happened::Dropped {
            at,
            bus,
            node,
            tag,
            why,
        },
    });
}
