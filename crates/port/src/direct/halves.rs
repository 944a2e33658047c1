//! The two halves of the port: those of the controller, and the descriptor that a worker waits for.

use crate::{
    Accepted, FlushReport, Interest, LinkState, Outgoing, PollReceive, PollTransmit, PortError,
    Receive, Received, Refused, RxCounters, RxReport, Transmit, TxCounters, Wait,
};
use controller::driven::{Receiver, Shared, Transmitter};
use frame::Nanos;
use std::os::fd::RawFd;
use std::sync::{Arc, OnceLock};

/// The descriptor to poll for the controller's interrupt, set at the start.
pub(super) type Interrupt = Arc<OnceLock<RawFd>>;

pub(super) struct DirectReceive {
    half: Receiver,
    interrupt: Interrupt,
    interrupts: bool,
}

impl DirectReceive {
    pub(super) fn new(shared: Arc<Shared>, interrupt: Interrupt, interrupts: bool) -> Self {
        Self {
            half: Receiver::new(shared),
            interrupt,
            interrupts,
        }
    }
}

fn wait(interrupt: &Interrupt) -> Wait {
    let fd = interrupt.get().copied();
    Wait {
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
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError> {
        self.half.receive(now, budget, take)
    }

    fn deadline(&self) -> Option<Nanos> {
        self.half.deadline()
    }

    fn counters(&self) -> RxCounters {
        self.half.counters()
    }

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
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
    fn wait(&self) -> Wait {
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
    half: Transmitter,
    interrupt: Interrupt,
}

impl DirectTransmit {
    pub(super) fn new(shared: Arc<Shared>, interrupt: Interrupt) -> Self {
        Self {
            half: Transmitter::new(shared),
            interrupt,
        }
    }
}

impl Transmit for DirectTransmit {
    #[inline]
    fn transmit(&mut self, now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
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
    fn wait(&self) -> Wait {
        wait(&self.interrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use controller::driven::Rules;

    #[test]
    fn only_a_port_without_interrupts_is_busy() {
        for interrupts in [false, true] {
            let rules = Rules {
                queue: 1,
                listen_only: false,
                fd: false,
                restart: None,
                interrupts,
            };
            let shared = Arc::new(Shared::new("p", rules));
            let half = DirectReceive::new(shared, Interrupt::default(), interrupts);
            assert_eq!(half.is_busy(), !interrupts);
            assert_eq!(PollReceive::wait(&half).fd, None, "before the start");
        }
    }
}
