//! The frames that pass the gateway's ports, in order: received frames, and copies with the port's
//! answer.
//!
//! Only the demo puts taps between the engine and the ports. With them the demo knows each frame's
//! way without asking the engine, and can check the engine's counters.

use engine::wrap::{GivenUp, HalfTap, Witness};
use engine::{Accepted, OutgoingFrame, ReceivedFrame, TransmitRefusal};
use frame::{Frame, Nanos};
use std::sync::{Arc, Mutex, PoisonError};

/// An event at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PassedFrame {
    /// A port handed a frame to the engine.
    In {
        port: u16,
        end: Nanos,
        tag: u64,
        frame: Frame,
    },
    /// The engine offered a frame to a port, and the port's answer.
    Out {
        port: u16,
        tag: u64,
        frame: Frame,
        answer: Result<(), TransmitRefusal>,
    },
    /// A port's queue gave up a copy that it had taken.
    GivenUp {
        port: u16,
        tag: u64,
        frame: Frame,
        why: GivenUp,
    },
}

impl PassedFrame {
    /// Returns whether it is this copy.
    pub(crate) fn is_copy(&self, to: u16, with: u64, like: Option<&Frame>) -> bool {
        matches!(self, Self::Out { port, tag, frame, .. }
            if *port == to && *tag == with && Some(frame) == like)
    }
}

/// The list to which all taps of a demo write.
#[derive(Clone, Default)]
pub(crate) struct TapTape(Arc<Mutex<Vec<PassedFrame>>>);

impl TapTape {
    fn push(&self, passed: PassedFrame) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(passed);
    }

    /// Moves the events since the last call into `into`, which is empty.
    pub(crate) fn take(&self, into: &mut Vec<PassedFrame>) {
        std::mem::swap(
            &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner),
            into,
        );
    }
}

/// A tap that records the events of one port.
#[derive(Clone)]
pub(crate) struct PortTap {
    pub(crate) port: u16,
    pub(crate) tape: TapTape,
}

impl PortTap {
    /// Returns a witness that records the copies that the port's queue gives up.
    pub(crate) fn witness(&self) -> Witness {
        let Self { port, tape } = self.clone();
        Box::new(move |tag, frame, why| {
            if let Some(frame) = Frame::from_view(frame) {
                tape.push(PassedFrame::GivenUp {
                    port,
                    tag,
                    frame,
                    why,
                });
            }
        })
    }
}

impl HalfTap for PortTap {
    fn came(&mut self, _: Nanos, received: &ReceivedFrame<'_>) {
        if let Some(frame) = Frame::from_view(received.frame) {
            self.tape.push(PassedFrame::In {
                port: self.port,
                end: received.stamp.ns,
                tag: received.token,
                frame,
            });
        }
    }

    fn offered(
        &mut self,
        _: Nanos,
        outgoing: &OutgoingFrame<'_>,
        answer: Result<Accepted, TransmitRefusal>,
    ) {
        if let Some(frame) = Frame::from_view(outgoing.frame) {
            self.tape.push(PassedFrame::Out {
                port: self.port,
                tag: outgoing.token,
                frame,
                answer: answer.map(|_| ()),
            });
        }
    }
}
