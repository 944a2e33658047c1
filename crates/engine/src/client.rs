//! The access of a gateway's clients to ports, between two batches: they send frames by a port, and
//! they watch the frames of a port. Neither is part of the way of a routed frame.

use crate::engine::Engine;
use crate::half::{Receive, Transmit};
use crate::passing::OutgoingFrame;
use crate::report::{Accepted, TransmitRefusal};
use frame::{FrameRef, Nanos};

impl<R: Receive, T: Transmit> Engine<R, T> {
    /// Offers frames to the port of this name and flushes it. No route takes them, and they are no
    /// copies: those that the port takes have a counter of their own
    /// ([`PortCount::injected`](crate::PortCount::injected)). `answered` gets the answer of the
    /// port to each frame, in order; a port that is out of service is
    /// [down](TransmitRefusal::Down). Programs on this machine see the frames, as those of any
    /// other program ([`OutgoingFrame::echo`]).
    ///
    /// Returns false, without an answer, if there is no such port.
    pub fn inject<'f>(
        &mut self,
        port: &str,
        now: Nanos,
        frames: impl IntoIterator<Item = FrameRef<'f>>,
        mut answered: impl FnMut(Result<Accepted, TransmitRefusal>),
    ) -> bool {
        let Some(at) = self.port_index(port) else {
            return false;
        };
        let Some(tx) = self.setup.tx.get_mut(at) else {
            return false;
        };
        for frame in frames {
            let outgoing = OutgoingFrame {
                echo: true,
                ..OutgoingFrame::new(frame, 0)
            };
            let answer = if tx.in_service {
                tx.half.transmit(now, outgoing)
            } else {
                Err(TransmitRefusal::Down)
            };
            tx.injected += u64::from(answer.is_ok());
            answered(answer);
        }
        self.flush_now(at, now);
        true
    }

    /// Lets the caller change the halves of the port of this name: it can put another half around
    /// each ([`wrap`](crate::wrap)), or take one away. A half must stay the same port: its counters
    /// and its deadlines continue. Returns false if there is no such port.
    pub fn change_halves(&mut self, port: &str, change: impl FnOnce(&mut R, &mut T)) -> bool {
        let at = self.port_index(port);
        let halves = at.and_then(|at| {
            let rx = self.setup.rx.get_mut(at)?;
            Some((rx, self.setup.tx.get_mut(at)?))
        });
        let Some((rx, tx)) = halves else {
            return false;
        };
        change(&mut rx.half, &mut tx.half);
        true
    }

    fn port_index(&self, name: &str) -> Option<usize> {
        let mut names = self.setup.layout.ports.iter();
        names.position(|port| port == name)
    }
}
