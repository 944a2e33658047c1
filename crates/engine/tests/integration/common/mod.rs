//! Ports in memory that are controlled by a test, and count correctly. They use only `core`,
//! `alloc` and the crates under test: the scenarios run without an operating system, too.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

extern crate alloc;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::{RefCell, RefMut};
use core::ops::Range;
use engine::{
    Accepted, Engine, FlushReport, FrameInterest, LinkState, NamedPort, OutgoingFrame, PortError,
    Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport, StampSource, Transmit,
    TransmitRefusal, TxCounters,
};
use frame::{CanId, Frame, Nanos};
use route::{PortId, Route, RouteMode, Routes, RoutingTable};

/// Each function is a test, and all of them together are a list.
macro_rules! scenarios {
    ($($(#[$doc:meta])* fn $name:ident() $body:block)*) => {
        $($(#[$doc])* #[cfg_attr(test, test)]
        fn $name() $body)*

        /// All scenarios, by name.
        #[allow(dead_code, reason = "the program uses it")]
        pub(crate) const ALL: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}

/// The state that a test and a port share.
#[derive(Default)]
pub struct Inside {
    pub incoming: VecDeque<(Frame, u8, u64)>,
    pub outgoing: VecDeque<(Frame, u64)>,
    pub sent: Vec<(Frame, u64)>,
    /// Maximum number of held frames.
    pub queue: usize,
    /// Maximum number of frames that one flush sends.
    pub room: usize,
    pub down: bool,
    pub link: LinkState,
    /// The next report indicates that `link` may have changed.
    pub news: bool,
    /// The next report indicates that held frames have left.
    pub ended: bool,
    pub classic_only: bool,
    /// A single held frame can be recalled.
    pub recalls: bool,
    pub rx_fails: bool,
    pub flush_fails: bool,
    pub retry_at: Option<Nanos>,
    pub alarms: Vec<String>,
    pub ends: bool,
    /// Has no deadline, even if frames have come in.
    pub no_deadline: bool,
    /// Its frames wait where they are until there is room. Must be set before the engine is
    /// created.
    pub can_wait: bool,
    /// Keep the sent frames for inspection.
    pub record: bool,
    pub interest: Option<FrameInterest>,
    pub rx: RxCounters,
    pub tx: TxCounters,
    pub flushes: u64,
    /// Number of times that the port's halves were dropped.
    pub closed: u32,
}

#[derive(Clone)]
pub struct Handle(Rc<RefCell<Inside>>);

impl Handle {
    pub fn inside(&self) -> RefMut<'_, Inside> {
        self.0.borrow_mut()
    }

    /// Puts frames with these tokens into the port's receive queue.
    pub fn feed(&self, tokens: Range<u64>) {
        let mut inside = self.inside();
        for token in tokens {
            inside.incoming.push_back((numbered(token), 0, token));
        }
    }

    pub fn sent_tokens(&self) -> Vec<u64> {
        self.inside().sent.iter().map(|&(_, token)| token).collect()
    }
}

/// A frame that carries a number.
pub fn numbered(n: u64) -> Frame {
    let id = CanId::sff((n % 0x7FF) as u32).unwrap();
    Frame::classic(id, &n.to_be_bytes()).unwrap()
}

pub struct MemoryRx(Handle);
pub struct MemoryTx(Handle);

fn broken(what: &str) -> PortError {
    PortError {
        port: "fake".into(),
        what: what.into(),
        source: None,
    }
}

impl Receive for MemoryRx {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let mut frames = 0;
        while frames < budget {
            let Some((frame, hops, token)) = self.0.inside().incoming.pop_front() else {
                break;
            };
            take(ReceivedFrame {
                frame: frame.view(),
                stamp: ReceiveStamp {
                    ns: now,
                    source: StampSource::Bus,
                },
                hops,
                token,
            });
            frames += 1;
        }
        let inside = self.0.inside();
        if inside.rx_fails {
            return Err(broken("the cable is cut"));
        }
        let empty = inside.incoming.is_empty();
        Ok(RxReport {
            frames,
            more: !empty,
            finished: empty && inside.ends,
            news: inside.news,
            ended: inside.ended,
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        let inside = self.0.inside();
        (!inside.incoming.is_empty() && !inside.no_deadline).then_some(0)
    }

    fn counters(&self) -> RxCounters {
        self.0.inside().rx
    }

    fn can_wait(&self) -> bool {
        self.0.inside().can_wait
    }

    fn is_up(&self) -> bool {
        !self.0.inside().down
    }

    fn link(&self) -> LinkState {
        self.0.inside().link
    }

    fn take_alarm(&mut self) -> Option<String> {
        self.0.inside().alarms.pop()
    }

    fn set_interest(&mut self, interest: &FrameInterest) -> Result<(), PortError> {
        self.0.inside().interest = Some(interest.clone());
        Ok(())
    }
}

impl Transmit for MemoryTx {
    fn transmit(
        &mut self,
        _now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        let mut inside = self.0.inside();
        let frame = Frame::from_view(outgoing.frame).ok_or(TransmitRefusal::Unsupported)?;
        if inside.classic_only && frame.kind() != frame::Kind::Classic {
            return Err(TransmitRefusal::Unsupported);
        }
        if inside.down {
            return Err(TransmitRefusal::Down);
        }
        if inside.outgoing.len() >= inside.queue {
            return Err(TransmitRefusal::Full);
        }
        inside.outgoing.push_back((frame, outgoing.token));
        inside.tx.taken += 1;
        inside.tx.held += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        let mut inside = self.0.inside();
        inside.flushes += 1;
        if inside.flush_fails {
            return Err(broken("the driver is gone"));
        }
        let n = inside.room.min(inside.outgoing.len());
        for _ in 0..n {
            let Some(sent) = inside.outgoing.pop_front() else {
                break;
            };
            if inside.record {
                inside.sent.push(sent);
            }
            inside.tx.sent += 1;
            inside.tx.held -= 1;
        }
        if !inside.outgoing.is_empty() {
            inside.tx.stalled += 1;
        }
        Ok(FlushReport {
            sent: n,
            held: inside.outgoing.len(),
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        (!self.0.inside().no_deadline).then_some(0)
    }

    fn retry_at(&self) -> Option<Nanos> {
        self.0.inside().retry_at
    }

    fn recall(&mut self) -> bool {
        let mut inside = self.0.inside();
        let can = inside.recalls && inside.outgoing.len() == 1;
        if can {
            inside.outgoing.clear();
            inside.tx.taken -= 1;
            inside.tx.held -= 1;
        }
        can
    }

    fn counters(&self) -> TxCounters {
        self.0.inside().tx
    }

    fn room(&self) -> usize {
        let inside = self.0.inside();
        match inside.down {
            true => usize::MAX,
            false => inside.queue.saturating_sub(inside.outgoing.len()),
        }
    }
}

impl Drop for MemoryRx {
    fn drop(&mut self) {
        self.0.inside().closed += 1;
    }
}

impl Drop for MemoryTx {
    fn drop(&mut self) {
        self.0.inside().closed += 1;
    }
}

/// The halves of a port with room for everything.
pub fn memory_halves() -> (MemoryRx, MemoryTx, Handle) {
    let handle = Handle(Rc::new(RefCell::new(Inside {
        queue: usize::MAX,
        room: usize::MAX,
        record: true,
        ..Inside::default()
    })));
    (MemoryRx(handle.clone()), MemoryTx(handle.clone()), handle)
}

/// A port with room for everything.
pub fn memory_port(name: &str) -> (NamedPort, Handle) {
    let (rx, tx, handle) = memory_halves();
    let port = NamedPort {
        name: name.into(),
        rx: Box::new(rx) as Box<dyn Receive>,
        tx: Box::new(tx) as Box<dyn Transmit>,
    };
    (port, handle)
}

/// Creates another pair of halves with the same inner state.
pub fn reopen(name: &str, handle: &Handle) -> NamedPort {
    NamedPort {
        name: name.into(),
        rx: Box::new(MemoryRx(handle.clone())),
        tx: Box::new(MemoryTx(handle.clone())),
    }
}

/// A route that takes all frames.
pub fn route(name: &str, from: &[u16], to: &[u16]) -> Route {
    let ports = |numbers: &[u16]| numbers.iter().copied().map(PortId).collect();
    Route::new(name, ports(from), ports(to))
}

pub fn all(routes: Vec<Route>) -> Routes {
    Routes {
        mode: RouteMode::All,
        max_hops: 1,
        routes,
    }
}

/// Creates an engine with this many ports in memory, named p0, p1 and so on.
pub fn engine(ports: usize, routes: &Routes) -> (Engine, Vec<Handle>) {
    let (named, handles): (Vec<_>, Vec<_>) =
        (0..ports).map(|i| memory_port(&format!("p{i}"))).unzip();
    let table = Arc::new(RoutingTable::compile(routes, ports).unwrap());
    (Engine::new(named, table, routes).unwrap(), handles)
}
