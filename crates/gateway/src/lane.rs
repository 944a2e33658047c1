//! A port inside the engine: its two halves, each with what is counted about it.

use crate::counters::{Copies, Fates, PortCount, PortState, RxCount, TxCount};
use crate::engine::Settled;
use frame::Nanos;
use port::{Interest, PortError, Receive, RxCounters, Transmit, TxCounters, Wait};
use std::sync::Arc;

/// A port with the name that counters and messages use.
pub struct NamedPort {
    /// Unique among the ports of one gateway.
    pub name: String,
    /// Where frames come in.
    pub rx: Box<dyn Receive>,
    /// Where frames go out.
    pub tx: Box<dyn Transmit>,
}

impl NamedPort {
    /// Tells the receiving half which frames can be of use.
    ///
    /// # Errors
    /// [`PortError`] where the port cannot go on.
    pub fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        self.rx.set_interest(interest)
    }
}

/// The receiving half and its counters.
pub(crate) struct Receiver {
    pub(crate) half: Box<dyn Receive>,
    pub(crate) state: PortState,
    pub(crate) received: u64,
    pub(crate) reported: u64,
    pub(crate) fates: Fates,
    /// The descriptor it waits for has just been seen not to be ready: nothing to fetch.
    pub(crate) quiet: bool,
    base: RxCounters,
}

/// The transmitting half and its counters.
pub(crate) struct Sender {
    pub(crate) half: Box<dyn Transmit>,
    pub(crate) in_service: bool,
    /// Was given frames since its last flush.
    pub(crate) touched: bool,
    /// Frames that waited after its last flush.
    pub(crate) held: usize,
    pub(crate) copies: Copies,
    pub(crate) failure: Option<Arc<str>>,
    /// What a port of this name counted before a reload put this one in its place.
    pub(crate) past: PortCount,
    base: TxCounters,
}

/// Both halves.
pub(crate) struct Lane {
    rx: Receiver,
    tx: Sender,
}

impl Lane {
    pub(crate) fn new(port: NamedPort) -> Self {
        let NamedPort { rx, tx, .. } = port;
        Self {
            rx: Receiver {
                base: rx.counters(),
                half: rx,
                state: PortState::Up,
                received: 0,
                reported: 0,
                fates: Fates::default(),
                quiet: false,
            },
            tx: Sender {
                base: tx.counters(),
                half: tx,
                in_service: true,
                touched: false,
                held: 0,
                copies: Copies::default(),
                failure: None,
                past: PortCount::default(),
            },
        }
    }

    pub(crate) fn split(self) -> (Receiver, Sender) {
        (self.rx, self.tx)
    }

    pub(crate) fn join(rx: Receiver, tx: Sender) -> Self {
        Self { rx, tx }
    }

    pub(crate) fn count(&self) -> PortCount {
        count_port(&self.rx, &self.tx)
    }

    /// What the port itself says of its frames, without its predecessors.
    pub(crate) fn sent_so_far(&self) -> TxCount {
        self.tx.counters()
    }

    /// Takes over the numbers of the port that this one replaces.
    pub(crate) fn continue_from(&mut self, past: &PortCount) {
        self.tx.past.add(past);
    }

    /// Sends what is held; what waits still is returned. A port that fails at this holds
    /// nothing any more.
    pub(crate) fn flush(&mut self, now: Nanos) -> usize {
        if !self.tx.in_service {
            return 0;
        }
        match self.tx.half.flush(now) {
            Ok(report) => report.held,
            Err(error) => {
                tracing::warn!("{error}: frames that it held are lost");
                self.tx.in_service = false;
                0
            }
        }
    }

    pub(crate) fn wait(&self) -> Wait {
        self.tx.half.wait()
    }

    /// What became of held frames since `then`; those that wait still are lost now.
    pub(crate) fn settle(mut self, then: &TxCount) -> Settled {
        self.tx.in_service = false;
        let now = self.tx.counters();
        Settled {
            sent: now.sent.saturating_sub(then.sent),
            lost: now.lost.saturating_sub(then.lost),
        }
    }
}

impl Sender {
    fn counters(&self) -> TxCount {
        TxCount::since(&self.base, &self.half.counters(), !self.in_service)
    }
}

pub(crate) fn count_port(rx: &Receiver, tx: &Sender) -> PortCount {
    let mut count = PortCount {
        state: match rx.state {
            PortState::Up if !rx.half.is_up() => PortState::Down,
            state => state,
        },
        received: rx.received,
        reported: rx.reported,
        fates: rx.fates,
        rx: RxCount::since(&rx.base, &rx.half.counters()),
        copies: tx.copies,
        tx: tx.counters(),
    };
    count.add(&tx.past);
    count
}
