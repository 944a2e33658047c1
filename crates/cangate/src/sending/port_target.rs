//! A port that this process has open.

use super::target::{FrameTarget, OfferAnswer, TargetTotals};
use console::Failure;
use frame::{FrameRef, Nanos};
use linux::PollSet;
use port::{
    FrameInterest, Halves, InterestIds, OutgoingFrame, PortWait, TransmitRefusal, TxCounters,
};

/// The most frames that are taken in at once.
const BUDGET: usize = 64;

/// A port as a destination. What it receives is thrown away; but a port receives also what it needs
/// itself: the connections of a server, the time of an embedded bus.
pub(crate) struct PortTarget {
    halves: Halves,
    /// Its counters at the start.
    base: TxCounters,
    /// Its input has ended, as that of a log that is only written.
    is_finished: bool,
}

impl PortTarget {
    /// Takes the halves of a port, and asks for no frames.
    ///
    /// # Errors
    /// The port cannot go on.
    pub(crate) fn new(mut halves: Halves) -> Result<Self, Failure> {
        let nothing = FrameInterest {
            ids: InterestIds::Nothing,
            fd: false,
            xl: false,
            error_frames: false,
        };
        halves.0.set_interest(&nothing).map_err(Failure::run)?;
        Ok(Self {
            base: halves.1.counters(),
            halves,
            is_finished: false,
        })
    }
}

impl FrameTarget for PortTarget {
    fn offer(
        &mut self,
        now: Nanos,
        frames: &[FrameRef<'_>],
        answers: &mut Vec<OfferAnswer>,
    ) -> Result<(), Failure> {
        let transmit = &mut self.halves.1;
        for frame in frames {
            // As of any program: others on this machine see the frames.
            let outgoing = OutgoingFrame {
                echo: true,
                ..OutgoingFrame::new(*frame, 0)
            };
            let answer = match transmit.transmit(now, outgoing) {
                Ok(_) => OfferAnswer::Taken,
                Err(TransmitRefusal::Full) => OfferAnswer::Full,
                Err(TransmitRefusal::Down) => OfferAnswer::Down,
                Err(TransmitRefusal::Unsupported) => OfferAnswer::Unsupported,
            };
            transmit.flush(now).map_err(Failure::run)?;
            answers.push(answer);
            if answer.is_waiting() {
                break;
            }
        }
        Ok(())
    }

    fn serve(&mut self, now: Nanos) -> Result<Option<Nanos>, Failure> {
        let (receive, transmit) = &mut self.halves;
        let mut soon = None;
        if !self.is_finished {
            let report = receive.receive(now, BUDGET, &mut |_| ());
            let report = report.map_err(Failure::run)?;
            self.is_finished = report.finished;
            soon = (report.more || receive.is_busy()).then_some(now);
        }
        let flushed = transmit.flush(now).map_err(Failure::run)?;
        let held = flushed.held > 0 || transmit.counters().held > 0;
        let receive_at = receive.deadline().filter(|_| !self.is_finished);
        let transmit_at = transmit.deadline().filter(|_| held);
        Ok([soon, receive_at, transmit_at].into_iter().flatten().min())
    }

    fn wait(&self, poll: &mut PollSet) {
        let (receive, transmit) = &self.halves;
        let mut add = |wait: PortWait| {
            if let Some(fd) = wait.fd {
                poll.add_fd(fd, wait.readable, wait.writable);
            }
        };
        if !self.is_finished {
            add(receive.wait());
        }
        if transmit.counters().held > 0 {
            add(transmit.wait());
        }
    }

    fn totals(&self) -> TargetTotals {
        let now = self.halves.1.counters();
        let since = now.minus(&self.base);
        TargetTotals {
            sent: since.sent,
            lost: since.lost + since.expired + since.displaced,
            held: now.held,
        }
    }
}
