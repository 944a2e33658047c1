//! A port inside the engine: its two halves, each with its counters.

use crate::counters::{CopyCounters, PortCount, PortState};
use crate::error::PortError;
use crate::fate::Fates;
use crate::half::{Receive, Transmit};
use crate::link::LinkState;
use crate::report::{RxCounters, TxCounters};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use frame::Nanos;
use route::FrameInterest;

/// A port with the name that counters and messages use.
pub struct NamedPort<R = Box<dyn Receive>, T = Box<dyn Transmit>> {
    /// Unique among the ports of one gateway.
    pub name: String,
    /// The half from which frames come in.
    pub rx: R,
    /// The half to which frames go out.
    pub tx: T,
}

impl<R: Receive, T> NamedPort<R, T> {
    /// Sets which frames are of use to the receiving half.
    ///
    /// # Errors
    /// [`PortError`] if the port cannot go on.
    pub fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        self.rx.set_interest(interest)
    }
}

/// The receiving half and its counters.
pub(crate) struct CountedReceiver<R> {
    pub(crate) half: R,
    pub(crate) state: PortState,
    /// The state before the port failed.
    pub(crate) before: PortState,
    pub(crate) received: u64,
    pub(crate) reported: u64,
    pub(crate) fates: Fates,
    /// The caller knows that there is nothing to receive: the next step skips this half.
    pub(crate) skip: bool,
    /// [`Receive::can_wait`].
    pub(crate) can_wait: bool,
    /// A destination [makes this half wait](Transmit::makes_wait).
    pub(crate) held_back: bool,
    /// It waits for room at a destination: until there is some, the half is not asked.
    pub(crate) blocked: bool,
    /// The last reported state of its interface.
    pub(crate) link: LinkState,
    base: RxCounters,
}

/// The transmitting half and its counters.
pub(crate) struct CountedTransmitter<T> {
    pub(crate) half: T,
    pub(crate) in_service: bool,
    /// It was given frames since its last flush.
    pub(crate) touched: bool,
    /// Frames that waited after its last flush.
    pub(crate) held: usize,
    pub(crate) copies: CopyCounters,
    /// [`PortCount::injected`].
    pub(crate) injected: u64,
    pub(crate) failure: Option<Arc<str>>,
    /// The failure was reported as an event.
    pub(crate) announced: bool,
    /// The time at which a failed port is tried again: [`Transmit::retry_at`].
    pub(crate) retry_at: Option<Nanos>,
    /// It is in service again, and this was not reported as an event yet.
    pub(crate) recovered: bool,
    /// Counters of the ports of this name that were replaced in reloads.
    pub(crate) past: PortCount,
    base: TxCounters,
}

/// The counts of a removed port after its removal: the outcomes of the frames that it held.
pub type SettledFrames = TxCounters;

/// Both halves.
pub(crate) struct PortHalves<R, T> {
    rx: CountedReceiver<R>,
    tx: CountedTransmitter<T>,
}

impl<R: Receive, T: Transmit> PortHalves<R, T> {
    pub(crate) fn new(port: NamedPort<R, T>) -> Self {
        let NamedPort { rx, tx, .. } = port;
        Self {
            rx: CountedReceiver {
                base: rx.counters(),
                can_wait: rx.can_wait(),
                held_back: false,
                half: rx,
                state: PortState::Up,
                before: PortState::Up,
                received: 0,
                reported: 0,
                fates: Fates::default(),
                skip: false,
                blocked: false,
                link: LinkState::Up,
            },
            tx: CountedTransmitter {
                base: tx.counters(),
                half: tx,
                in_service: true,
                touched: false,
                held: 0,
                copies: CopyCounters::default(),
                injected: 0,
                failure: None,
                announced: false,
                retry_at: None,
                recovered: false,
                past: PortCount::default(),
            },
        }
    }

    pub(crate) fn split(self) -> (CountedReceiver<R>, CountedTransmitter<T>) {
        (self.rx, self.tx)
    }

    pub(crate) fn join(rx: CountedReceiver<R>, tx: CountedTransmitter<T>) -> Self {
        Self { rx, tx }
    }

    pub(crate) fn count(&self) -> PortCount {
        count_port(&self.rx, &self.tx)
    }

    /// Returns the port's own counters, without those of its predecessors.
    pub(crate) fn sent_so_far(&self) -> TxCounters {
        self.tx.counters()
    }

    /// Takes over the counters of the port that this one replaces.
    pub(crate) fn continue_from(&mut self, past: &PortCount) {
        self.tx.past.add(past);
    }

    /// Sends the held frames; returns the number of those that still wait. A port that fails at
    /// this holds nothing any more.
    pub(crate) fn flush(&mut self, now: Nanos) -> Result<usize, PortError> {
        if !self.tx.in_service {
            return Ok(0);
        }
        match self.tx.half.flush(now) {
            Ok(report) => Ok(report.held),
            Err(error) => {
                self.tx.in_service = false;
                Err(error)
            }
        }
    }

    pub(crate) const fn transmitter(&self) -> &T {
        &self.tx.half
    }

    /// Returns the outcomes of held frames since `then`; those that still wait are lost now.
    pub(crate) fn settle(mut self, then: &TxCounters) -> SettledFrames {
        self.tx.in_service = false;
        self.tx.counters().minus(then)
    }
}

impl<R> CountedReceiver<R> {
    /// Returns whether it can bring frames now. It cannot if its input has ended, or if it waits
    /// for room.
    pub(crate) fn is_asked(&self) -> bool {
        self.state == PortState::Up && !self.blocked
    }
}

impl<R: Receive> CountedReceiver<R> {
    /// Returns whether its interface is in another state than the reported one.
    pub(crate) fn has_news(&self) -> bool {
        self.link != self.half.link()
    }
}

impl<T: Transmit> CountedTransmitter<T> {
    fn counters(&self) -> TxCounters {
        self.half.counters().since(&self.base, !self.in_service)
    }
}

pub(crate) fn count_port<R: Receive, T: Transmit>(
    rx: &CountedReceiver<R>,
    tx: &CountedTransmitter<T>,
) -> PortCount {
    let mut count = PortCount {
        state: match rx.state {
            PortState::Up if !rx.half.is_up() => PortState::Down,
            state => state,
        },
        received: rx.received,
        reported: rx.reported,
        fates: rx.fates,
        rx: rx.half.counters().minus(&rx.base),
        copies: tx.copies,
        injected: tx.injected,
        tx: tx.counters(),
    };
    count.add(&tx.past);
    count
}
