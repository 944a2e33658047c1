//! Ports in memory that do what a test tells them, and count honestly.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

use gateway::NamedPort;
pub mod wire;

use frame::{CanId, Frame, Nanos};
use port::{
    Accepted, FlushReport, Interest, Outgoing, PortError, Receive, Received, Refused, RxCounters,
    RxReport, Stamp, StampSource, Transmit, TxCounters, Wait,
};
use route::{Mode, PortId, Route, Routes};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// What a test and a port share.
#[derive(Default)]
pub struct Inside {
    pub incoming: VecDeque<(Frame, u8, u64)>,
    pub outgoing: VecDeque<(Frame, u64)>,
    pub sent: Vec<(Frame, u64)>,
    /// Frames that may be held.
    pub queue: usize,
    /// Frames that one flush may send.
    pub room: usize,
    pub down: bool,
    pub classic_only: bool,
    pub rx_fails: bool,
    pub flush_fails: bool,
    pub ends: bool,
    /// Waits for this descriptor, and for nothing else.
    pub fd: Option<std::os::fd::RawFd>,
    /// Keep what was sent, for looking at it.
    pub record: bool,
    pub interest: Option<Interest>,
    pub rx: RxCounters,
    pub tx: TxCounters,
    pub flushes: u64,
    /// The port's halves were dropped.
    pub closed: u32,
}

#[derive(Clone)]
pub struct Handle(Arc<Mutex<Inside>>);

impl Handle {
    pub fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap()
    }

    /// Puts frames with these tokens into the port's receive queue.
    pub fn feed(&self, tokens: std::ops::Range<u64>) {
        let mut inside = self.lock();
        for token in tokens {
            inside.incoming.push_back((numbered(token), 0, token));
        }
    }

    pub fn sent_tokens(&self) -> Vec<u64> {
        self.lock().sent.iter().map(|&(_, token)| token).collect()
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
        take: &mut dyn FnMut(Received<'_>),
    ) -> Result<RxReport, PortError> {
        let mut frames = 0;
        while frames < budget {
            let Some((frame, hops, token)) = self.0.lock().incoming.pop_front() else {
                break;
            };
            take(Received {
                frame: frame.view(),
                stamp: Stamp {
                    ns: now,
                    source: StampSource::Bus,
                },
                hops,
                token,
            });
            frames += 1;
        }
        let inside = self.0.lock();
        if inside.rx_fails {
            return Err(broken("the cable is cut"));
        }
        let empty = inside.incoming.is_empty();
        Ok(RxReport {
            frames,
            more: !empty,
            finished: empty && inside.ends,
        })
    }

    fn wait(&self) -> Wait {
        let inside = self.0.lock();
        let empty = inside.incoming.is_empty();
        Wait {
            fd: inside.fd,
            readable: inside.fd.is_some(),
            deadline: (!empty && inside.fd.is_none()).then_some(0),
            ..Wait::default()
        }
    }

    fn counters(&self) -> RxCounters {
        self.0.lock().rx
    }

    fn is_up(&self) -> bool {
        !self.0.lock().down
    }

    fn set_interest(&mut self, interest: &Interest) -> Result<(), PortError> {
        self.0.lock().interest = Some(interest.clone());
        Ok(())
    }
}

impl Transmit for MemoryTx {
    fn transmit(&mut self, _now: Nanos, outgoing: Outgoing<'_>) -> Result<Accepted, Refused> {
        let mut inside = self.0.lock();
        let frame = Frame::from_view(outgoing.frame).ok_or(Refused::Unsupported)?;
        if inside.classic_only && frame.kind() != frame::Kind::Classic {
            return Err(Refused::Unsupported);
        }
        if inside.down {
            return Err(Refused::Down);
        }
        if inside.outgoing.len() >= inside.queue {
            return Err(Refused::Full);
        }
        inside.outgoing.push_back((frame, outgoing.token));
        inside.tx.taken += 1;
        inside.tx.held += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        let mut inside = self.0.lock();
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

    fn wait(&self) -> Wait {
        Wait {
            deadline: Some(0),
            ..Wait::default()
        }
    }

    fn counters(&self) -> TxCounters {
        self.0.lock().tx
    }
}

impl Drop for MemoryRx {
    fn drop(&mut self) {
        self.0.lock().closed += 1;
    }
}

impl Drop for MemoryTx {
    fn drop(&mut self) {
        self.0.lock().closed += 1;
    }
}

/// A port with room for everything.
pub fn memory_port(name: &str) -> (NamedPort, Handle) {
    let handle = Handle(Arc::new(Mutex::new(Inside {
        queue: usize::MAX,
        room: usize::MAX,
        record: true,
        ..Inside::default()
    })));
    (reopen(name, &handle), handle)
}

/// Another pair of halves on the same inside.
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
        mode: Mode::All,
        max_hops: 1,
        routes,
    }
}
