//! The two halves of the port: those of the controller, and the descriptor that a worker waits for.

use crate::{
    Accepted, FlushReport, FrameInterest, LinkState, OutgoingFrame, PollReceive, PollTransmit,
    PortError, PortWait, Receive, ReceivedFrame, RxCounters, RxReport, Transmit, TransmitRefusal,
    TxCounters,
};
use controller::driven::{DrivenPort, DrivenReceiver, DrivenTransmitter};
use frame::Nanos;
use std::os::fd::RawFd;
use std::sync::{Arc, OnceLock};

/// The descriptor to poll for the controller's interrupt, set at the start.
pub(super) type Interrupt = Arc<OnceLock<RawFd>>;

pub(super) struct DirectReceive {
    half: DrivenReceiver,
    interrupt: Interrupt,
    interrupts: bool,
}

impl DirectReceive {
    pub(super) fn new(shared: Arc<DrivenPort>, interrupt: Interrupt, interrupts: bool) -> Self {
        Self {
            half: DrivenReceiver::new(shared),
            interrupt,
            interrupts,
        }
    }
}

fn wait(interrupt: &Interrupt) -> PortWait {
    let fd = interrupt.get().copied();
    PortWait {
        fd,
        readable: fd.is_some(),
        writable: false,
    }
}

impl Receive for DirectReceive {
    #[inline]
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        self.half.receive(now, budget, take)
    }

    fn deadline(&self) -> Option<Nanos> {
        self.half.deadline()
    }

    fn counters(&self) -> RxCounters {
        self.half.counters()
    }

    fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        self.half.set_interest(interest)
    }

    fn is_up(&self) -> bool {
        self.half.is_up()
    }

    fn link(&self) -> LinkState {
        self.half.link()
    }
}

impl PollReceive for DirectReceive {
    fn wait(&self) -> PortWait {
        wait(&self.interrupt)
    }

    /// Without interrupts, the controller must be polled.
    fn is_busy(&self) -> bool {
        !self.interrupts
    }

    #[inline]
    fn is_quiet(&self) -> bool {
        self.half.is_quiet()
    }
}

pub(super) struct DirectTransmit {
    half: DrivenTransmitter,
    interrupt: Interrupt,
}

impl DirectTransmit {
    pub(super) fn new(shared: Arc<DrivenPort>, interrupt: Interrupt) -> Self {
        Self {
            half: DrivenTransmitter::new(shared),
            interrupt,
        }
    }
}

impl Transmit for DirectTransmit {
    #[inline]
    fn transmit(
        &mut self,
        now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        self.half.transmit(now, outgoing)
    }

    #[inline]
    fn flush(&mut self, now: Nanos) -> Result<FlushReport, PortError> {
        self.half.flush(now)
    }

    #[inline]
    fn deadline(&self) -> Option<Nanos> {
        self.half.deadline()
    }

    fn counters(&self) -> TxCounters {
        self.half.counters()
    }

    #[inline]
    fn room(&self) -> usize {
        self.half.room()
    }
}

impl PollTransmit for DirectTransmit {
    fn wait(&self) -> PortWait {
        wait(&self.interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use controller::driven::DrivenRules;

    #[test]
    fn only_a_port_without_interrupts_is_busy() {
        for interrupts in [false, true] {
            let rules = DrivenRules {
                queue: 1,
                listen_only: false,
                fd: false,
                restart: None,
                interrupts,
            };
            let shared = Arc::new(DrivenPort::new("p", rules));
            let half = DirectReceive::new(shared, Interrupt::default(), interrupts);
            assert_eq!(half.is_busy(), !interrupts);
            assert_eq!(PollReceive::wait(&half).fd, None, "before the start");
        }
    }
}
