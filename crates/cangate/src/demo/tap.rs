//! What passes the gateway's ports, in order: received frames, and copies with the port's answer.
//!
//! The taps stand between the engine and the ports of the demo only. With them the demo knows
//! each frame's way without asking the engine, whose counters it then checks against.

use engine::{
    Accepted, FlushReport, Interest, Outgoing, PortError, Receive, Received, Refused, RxCounters,
    RxReport, Transmit, TxCounters,
};
use frame::{Frame, Nanos};
use std::sync::{Arc, Mutex, PoisonError};

/// Something that passed a port.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passed {
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
        answer: Result<(), Refused>,
    },
}

impl Passed {
    /// Is it this copy?
    pub(crate) fn is_copy(&self, to: u16, with: u64, like: Option<&Frame>) -> bool {
        matches!(self, Self::Out { port, tag, frame, .. }
            if *port == to && *tag == with && Some(frame) == like)
    }
}

/// The list that all taps of a demo write.
#[derive(Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Vec<Passed>>>);

impl Tape {
    fn push(&self, passed: Passed) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(passed);
    }

    /// Moves what passed since the last call into `into`, which is empty.
    pub(crate) fn take(&self, into: &mut Vec<Passed>) {
        std::mem::swap(
            &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner),
            into,
        );
    }
}

/// Writes down what a receiving half hands over.
pub(crate) struct TapReceive<R> {
    pub(crate) port: u16,
    pub(crate) tape: Tape,
    pub(crate) inner: R,
}

impl<R: Receive> Receive for TapReceive<R> {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError> {
        let (port, tape) = (self.port, &self.tape);
        self.inner.receive(now, budget, &mut |received| {
            if let Some(frame) = Frame::from_view(received.frame) {
                let (end, tag) = (received.stamp.ns, received.token);
                tape.push(Passed::In {
                    port,
                    end,
                    tag,
                    frame,
                });
            }
            take(received);
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        self.inner.deadline()
    }

    fn counters(&self) -> RxCounters {
        self.inner.counters()
    }

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        self.inner.set_interest(interest)
    }

    fn is_up(&self) -> bool {
        self.inner.is_up()
    }

    fn remarks(&self) -> Vec<String> {
        self.inner.remarks()
    }
}

/// Writes down what a transmitting half was offered and what it answered.
pub(crate) struct TapTransmit<T> {
    pub(crate) port: u16,
    pub(crate) tape: Tape,
    pub(crate) inner: T,
}

impl<T: Transmit> Transmit for TapTransmit<T> {
    fn transmit(&mut self, now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
        let answer = self.inner.transmit(now, outgoing);
        if let Some(frame) = Frame::from_view(outgoing.frame) {
            let tag = outgoing.token;
            let answer = answer.map(|_| ());
            self.tape.push(Passed::Out {
                port: self.port,
                tag,
                frame,
                answer,
            });
        }
        answer
    }

    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        self.inner.flush(now)
    }

    fn deadline(&self) -> Option<Nanos> {
        self.inner.deadline()
    }

    fn counters(&self) -> TxCounters {
        self.inner.counters()
    }

    fn remarks(&self) -> Vec<String> {
        self.inner.remarks()
    }
}
