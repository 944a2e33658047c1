//! Ports from a text, and the sockets of their peers.

pub(crate) use crate::port_text::read as parse;
use frame::{Frame, Nanos};
use port::{Halves, OutgoingFrame, PortOpener, RxCounters, TxCounters};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

pub(crate) const MS: Nanos = 1_000_000;

/// Longest time for something to cross the loopback interface.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The key of a tunnel over TCP.
pub(crate) const TCP: &str = "transport = 'tcp'";

/// Returns a port of this kind that clients connect to.
pub(crate) fn server(kind: &str, listen: SocketAddr, more: &str) -> String {
    format!("[ports.can0]\nkind = '{kind}'\nlisten = '{listen}'\n{more}")
}

/// Returns the frame in cansend's grammar.
pub(crate) fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

/// Returns an address of the loopback interface that no socket has.
pub(crate) fn free_tcp() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

pub(crate) fn udp() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

pub(crate) fn free_udp() -> SocketAddr {
    udp().1
}

/// An open port.
pub(crate) struct TestPort {
    halves: Halves,
    pub(crate) received: Vec<Frame>,
}

impl TestPort {
    /// Opens ports of these tables, with one opener.
    pub(crate) fn open_all<const N: usize>(tables: [&str; N]) -> [Self; N] {
        let mut opener = PortOpener::new(0, 1_700_000_000_000_000_000);
        let ports = tables.map(|table| {
            let (spec, messages) = parse(table);
            assert_eq!(messages, [""; 0], "{table}");
            let halves = spec.unwrap().open(&mut opener).unwrap();
            Self {
                halves,
                received: Vec::new(),
            }
        });
        opener.start().unwrap();
        ports
    }

    /// Opens a port, and then its successor by the same opener, as a reload does.
    pub(crate) fn open_twice(first: &str, second: &str) -> [Self; 2] {
        let mut opener = PortOpener::new(0, 0);
        [first, second].map(|table| {
            let halves = parse(table).0.unwrap().open(&mut opener).unwrap();
            opener.start().unwrap();
            Self {
                halves,
                received: Vec::new(),
            }
        })
    }

    pub(crate) fn open(table: &str) -> Self {
        let [port] = Self::open_all([table]);
        port
    }

    /// Offers a frame; returns whether the port took it.
    pub(crate) fn send(&mut self, frame: &Frame, now: Nanos) -> bool {
        let outgoing = OutgoingFrame::new(frame.view(), 0);
        self.halves.1.transmit(now, outgoing).is_ok()
    }

    pub(crate) fn flush(&mut self, now: Nanos) {
        self.halves.1.flush(now).unwrap();
        self.check();
    }

    /// Lets the port receive and write whatever it can at once.
    pub(crate) fn step(&mut self, now: Nanos) {
        while self.receive_once(now) {}
        self.flush(now);
    }

    /// Lets the port receive once; returns whether it has more to do at once.
    pub(crate) fn receive_once(&mut self, now: Nanos) -> bool {
        let received = &mut self.received;
        let report = self.halves.0.receive(now, 64, &mut |frame| {
            received.push(Frame::from_view(frame.frame).unwrap());
        });
        let report = report.unwrap();
        assert!(report.frames <= 64);
        report.more
    }

    /// Steps until the condition holds.
    pub(crate) fn until(&mut self, now: Nanos, holds: impl Fn(&Self) -> bool) {
        until(|| {
            self.step(now);
            holds(self)
        });
    }

    pub(crate) fn rx(&self) -> RxCounters {
        self.halves.0.counters()
    }

    pub(crate) fn tx(&self) -> TxCounters {
        self.halves.1.counters()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.halves.0.is_up()
    }

    pub(crate) fn room(&self) -> usize {
        self.halves.1.room()
    }

    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.halves.0.deadline()
    }

    pub(crate) fn remarks(&self) -> String {
        self.halves.0.remarks().join("\n")
    }

    /// Returns the sentences of the sending half.
    pub(crate) fn tx_remarks(&self) -> String {
        self.halves.1.remarks().join("\n")
    }

    /// Every frame that was taken has one fate.
    fn check(&self) {
        let tx = self.tx();
        assert_eq!(
            tx.taken,
            tx.sent + tx.lost + tx.displaced + tx.expired + tx.held,
            "{tx:?}"
        );
    }
}

/// Waits until the condition holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < end, "it never happened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A peer over TCP, which never blocks.
pub(crate) struct TestPeer {
    pub(crate) stream: TcpStream,
    pub(crate) text: Vec<u8>,
    /// Number of elements of socketcand that have arrived.
    pub(crate) elements: u64,
    pub(crate) ended: bool,
}

impl TestPeer {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_nonblocking(true).unwrap();
        Self {
            stream,
            text: Vec::new(),
            elements: 0,
            ended: false,
        }
    }

    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads what has arrived.
    pub(crate) fn read(&mut self) {
        let mut buffer = [0; 16_384];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.ended = true,
                Ok(read) => {
                    let ends = buffer[..read].iter().filter(|byte| **byte == b'>');
                    self.elements += ends.count() as u64;
                    self.text.extend_from_slice(&buffer[..read]);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.ended = true,
            }
            return;
        }
    }

    /// Lets the port work until this peer has got these bytes and nothing else; forgets them.
    pub(crate) fn expect(&mut self, port: &mut TestPort, now: Nanos, bytes: &[u8]) {
        until(|| {
            port.step(now);
            self.read();
            self.text.len() >= bytes.len() || self.ended
        });
        assert_eq!(
            String::from_utf8_lossy(&self.text),
            String::from_utf8_lossy(bytes)
        );
        self.text.clear();
    }

    /// Lets the port work until the connection has ended.
    pub(crate) fn expect_end(&mut self, port: &mut TestPort, now: Nanos) {
        until(|| {
            port.step(now);
            self.read();
            self.ended
        });
    }
}

/// Pseudo-random numbers from a seed (SplitMix64, Steele et al. 2014).
pub(crate) struct SeededNumbers(pub(crate) u64);

impl SeededNumbers {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % end
    }
}
