//! Ports on socket pairs: real file descriptors, real time, no privileges. A datagram is a frame
//! with a number as its payload; nothing is lost in between, a full socket makes the sender wait.

use super::numbered;
use frame::{FrameRef, Nanos};
use gateway::run::{LoadError, PlanSource, Port, RouteLine, RunPlan};
use port::{
    Accepted, FlushReport, FrameInterest, OutgoingFrame, PollReceive, PollTransmit, PortError,
    PortWait, Receive, ReceiveStamp, ReceivedFrame, RxCounters, RxReport, Transmit,
    TransmitRefusal, TxCounters,
};
use route::Routes;
use std::collections::{HashMap, VecDeque};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};

pub struct WireRx(UnixDatagram);

pub struct WireTx {
    socket: UnixDatagram,
    queue: VecDeque<[u8; 8]>,
    counters: TxCounters,
}

/// The number that ends a receiving datagram stream.
pub const END: u64 = u64::MAX;

impl Receive for WireRx {
    fn receive(
        &mut self,
        now: Nanos,
        budget: usize,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<RxReport, PortError> {
        let mut report = RxReport::default();
        let mut bytes = [0; 8];
        while report.frames < budget {
            match self.0.recv(&mut bytes) {
                Ok(8) => {}
                Ok(_) | Err(_) => return Ok(report),
            }
            let number = u64::from_be_bytes(bytes);
            if number == END {
                report.finished = true;
                return Ok(report);
            }
            let frame = numbered(number);
            take(ReceivedFrame {
                frame: FrameRef::from(&frame),
                stamp: ReceiveStamp {
                    ns: now,
                    ..ReceiveStamp::default()
                },
                hops: 0,
                token: number,
            });
            report.frames += 1;
        }
        report.more = true;
        Ok(report)
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

impl PollReceive for WireRx {
    fn wait(&self) -> PortWait {
        PortWait {
            fd: Some(self.0.as_raw_fd()),
            readable: true,
            ..PortWait::default()
        }
    }
}

impl Transmit for WireTx {
    fn transmit(
        &mut self,
        _now: Nanos,
        outgoing: OutgoingFrame<'_>,
    ) -> Result<Accepted, TransmitRefusal> {
        if self.queue.len() >= 1024 {
            return Err(TransmitRefusal::Full);
        }
        let mut bytes = [0; 8];
        bytes.copy_from_slice(outgoing.frame.data());
        self.queue.push_back(bytes);
        self.counters.taken += 1;
        self.counters.held += 1;
        Ok(Accepted)
    }

    fn flush(&mut self, _now: Nanos) -> Result<FlushReport, PortError> {
        let mut sent = 0;
        while let Some(bytes) = self.queue.front() {
            match self.socket.send(bytes) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.counters.stalled += 1;
                    break;
                }
                Err(source) => {
                    return Err(PortError {
                        port: "wire".into(),
                        what: "the other end is gone".into(),
                        source: Some(source.into()),
                    });
                }
            }
            self.queue.pop_front();
            self.counters.sent += 1;
            self.counters.held -= 1;
            sent += 1;
        }
        Ok(FlushReport {
            sent,
            held: self.queue.len(),
        })
    }

    fn deadline(&self) -> Option<Nanos> {
        None
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}

impl PollTransmit for WireTx {
    fn wait(&self) -> PortWait {
        PortWait {
            fd: Some(self.socket.as_raw_fd()),
            writable: true,
            ..PortWait::default()
        }
    }
}

/// The buses outside of the gateway: one blocking socket for each port.
#[derive(Clone, Default)]
pub struct Outside {
    ends: Arc<Mutex<HashMap<String, Arc<UnixDatagram>>>>,
    inner: Arc<Mutex<HashMap<String, UnixDatagram>>>,
}

impl Outside {
    /// Returns the end at which a test sends into port `name` and receives from it. It stays the
    /// same when the port is opened again.
    pub fn end(&self, name: &str) -> Arc<UnixDatagram> {
        let mut ends = self.ends.lock().unwrap();
        if let Some(end) = ends.get(name) {
            return Arc::clone(end);
        }
        let (outer, inner) = UnixDatagram::pair().unwrap();
        inner.set_nonblocking(true).unwrap();
        self.inner.lock().unwrap().insert(name.to_owned(), inner);
        let outer = Arc::new(outer);
        ends.insert(name.to_owned(), Arc::clone(&outer));
        outer
    }

    pub fn open(&self, name: &str) -> Port {
        self.end(name);
        let inner = self.inner.lock().unwrap();
        Port {
            name: name.to_owned(),
            rx: Box::new(WireRx(inner[name].try_clone().unwrap())),
            tx: Box::new(WireTx {
                socket: inner[name].try_clone().unwrap(),
                queue: VecDeque::with_capacity(1024),
                counters: TxCounters::default(),
            }),
        }
    }
}

/// The next configuration for a reload, as set by a test.
pub type Next = Arc<Mutex<Result<RunPlan<u32>, String>>>;

/// A site whose ports are wires; the specification is just a number.
pub struct WireSite {
    pub outside: Outside,
    pub next: Next,
    /// The name of the port that cannot be opened.
    pub unopenable: Option<String>,
}

impl PlanSource for WireSite {
    type Spec = u32;

    fn load(&mut self) -> Result<RunPlan<u32>, LoadError> {
        self.next.lock().unwrap().clone().map_err(LoadError::Wrong)
    }

    fn open(&mut self, name: &str, _: &u32, _: &FrameInterest) -> Result<Port, PortError> {
        if self.unopenable.as_deref() == Some(name) {
            return Err(PortError {
                port: name.to_owned(),
                what: "there is no such interface".into(),
                source: None,
            });
        }
        Ok(self.outside.open(name))
    }
}

pub fn plan(ports: &[(&str, u32)], routes: Routes) -> RunPlan<u32> {
    let names: Vec<String> = ports.iter().map(|&(name, _)| name.to_owned()).collect();
    RunPlan {
        lines: RouteLine::all(&routes, &names),
        ports: ports.iter().map(|&(n, s)| (n.to_owned(), s)).collect(),
        routes,
        kernel: None,
        remarks: vec![],
    }
}
