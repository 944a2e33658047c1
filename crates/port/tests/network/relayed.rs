//! Two ports of each kind with a seeded relay between them: every frame has one fate, and the sums
//! of both sides show it.
//!
//! Each kind has a short run, and one of a million frames for `cargo xtask test --all --long`.

use crate::common::{
    MS, SeededNumbers, TCP, TIMEOUT, TestPort, free_tcp, free_udp, server, udp, until,
};
use frame::{CanId, Frame, Nanos};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};

/// Frames of a short run.
const SHORT: u64 = 6000;

/// Frames of a long run.
const MILLION: u64 = 1_000_000;

/// The group of the kind `multicast` (docs/gateway-toml.md).
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 74, 163, 2);

/// Returns a frame that has this number as its payload.
fn numbered(number: u64) -> Frame {
    Frame::classic(CanId::sff(0x123).unwrap(), &number.to_be_bytes()).unwrap()
}

fn number(frame: &Frame) -> usize {
    let number = u64::from_be_bytes(frame.data().try_into().unwrap());
    usize::try_from(number).unwrap()
}

/// The two ports, and the relay's side of the network.
struct DatagramPath {
    near: TestPort,
    far: TestPort,
    relay: UdpSocket,
    there: SocketAddr,
}

impl DatagramPath {
    /// A tunnel between two addresses.
    fn tunnel(kind: &str) -> Self {
        let (relay, between) = udp();
        let there = free_udp();
        let table = |listen: SocketAddr| {
            format!("[ports.p]\nkind = '{kind}'\nlisten = '{listen}'\nconnect = '{between}'")
        };
        Self {
            near: TestPort::open(&table(free_udp())),
            far: TestPort::open(&table(there)),
            relay,
            there,
        }
    }

    /// Two UDP ports of a multicast group. The relay passes datagrams of one on to the other.
    fn multicast() -> Self {
        let ports = [free_udp().port(), free_udp().port()];
        let [near, far] = ports.map(|port| {
            let table = format!("[ports.p]\nkind = 'multicast'\ninterface = 'lo'\nport = {port}");
            TestPort::open(&table)
        });
        Self {
            near,
            far,
            relay: member(ports[0]),
            there: SocketAddr::from((GROUP, ports[1])),
        }
    }
}

/// Returns a socket that receives what the group gets at a port, on this machine only.
fn member(port: u16) -> UdpSocket {
    use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, socket, sockopt};
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
    sockopt::set_socket_reuseaddr(&socket, true).unwrap();
    bind(&socket, &SocketAddrV4::new(GROUP, port)).unwrap();
    sockopt::set_ip_multicast_if(&socket, &Ipv4Addr::LOCALHOST).unwrap();
    let socket = UdpSocket::from(socket);
    socket
        .join_multicast_v4(&GROUP, &Ipv4Addr::LOCALHOST)
        .unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket
}

/// Sends this many frames in datagrams of one to three through a relay that loses, doubles, delays
/// and swaps them. `is_numbered`: the protocol numbers datagrams, so that the far side knows what
/// the relay did.
fn datagrams(path: DatagramPath, frames: u64, is_numbered: bool) {
    let DatagramPath {
        mut near,
        mut far,
        relay,
        there,
    } = path;
    let mut numbers = SeededNumbers(frames);
    // By number: the copies that the relay has passed on, and those that have come out.
    let mut passed = vec![0_u8; frames as usize];
    let mut came = vec![0_u8; frames as usize];
    let (mut lost, mut lost_frames, mut doubled) = (0, 0, 0);
    // Datagrams under way, with the step at which they go on.
    let mut under_way: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut sent, mut datagrams, mut step) = (0, 0, 0);
    while sent < frames || !under_way.is_empty() {
        step += 1;
        let now: Nanos = step * MS;
        if sent < frames {
            let first = sent;
            sent = frames.min(sent + 1 + numbers.below(3));
            for number in first..sent {
                assert!(near.send(&numbered(number), now));
            }
            near.flush(now);
            let mut at = first;
            while datagrams < near.tx().datagrams {
                let mut buffer = [0; 2048];
                let len = relay.recv(&mut buffer).unwrap();
                let bytes = buffer[..len].to_vec();
                datagrams += 1;
                // A datagram of python-can's protocol has one frame.
                let end = if is_numbered { sent } else { at + 1 };
                // Nothing shows the loss of the first and of the last one.
                let is_end = at == 0 || end == frames;
                let copies: u8 = match numbers.below(20) {
                    _ if is_end => 1,
                    0 => 0,
                    1 => 2,
                    _ => 1,
                };
                for _ in 0..copies {
                    let delay = if is_end { 1 } else { numbers.below(20) };
                    under_way.push((step + delay, bytes.clone()));
                }
                passed[at as usize..end as usize].fill(copies);
                lost += u64::from(copies == 0);
                lost_frames += u64::from(copies == 0) * (end - at);
                doubled += u64::from(copies == 2);
                at = end;
            }
            assert_eq!(at, sent, "each frame is in a datagram");
        }
        for at in (0..under_way.len()).rev() {
            if under_way[at].0 <= step {
                relay.send_to(&under_way.swap_remove(at).1, there).unwrap();
            }
        }
        far.step(now);
        for frame in far.received.drain(..) {
            came[number(&frame)] += 1;
        }
    }
    // A datagram on the loopback interface is there when it was sent.
    for pause in 1..=3 {
        far.step((step + pause * 2000) * MS);
        for frame in far.received.drain(..) {
            came[number(&frame)] += 1;
        }
    }
    let (tx, rx) = (near.tx(), far.rx());
    assert_eq!(
        (tx.taken, tx.sent, tx.lost, tx.held),
        (frames, frames, 0, 0)
    );
    assert_eq!(tx.datagrams, datagrams);
    let others = (rx.malformed, rx.denied, rx.reopened, rx.overrun, rx.belated);
    assert_eq!(others, (0, 0, 0, 0, 0));
    let all: u64 = came.iter().map(|copies| u64::from(*copies)).sum();
    if is_numbered {
        let once: Vec<u8> = passed.iter().map(|copies| (*copies).min(1)).collect();
        assert!(came == once, "each frame that the relay passed comes once");
        assert_eq!((rx.missing, rx.repeated), (lost, doubled));
        assert_eq!(tx.datagrams, rx.datagrams + rx.missing);
        assert!(rx.overtaken > 0);
        assert_eq!(all + lost_frames, tx.sent);
    } else {
        assert!(came == passed, "each copy that the relay passed comes");
    }
    println!("{frames} frames, {datagrams} datagrams: {lost} lost, {doubled} doubled");
}

/// A relay of connections, which passes bytes on in pieces of any size, after any pause.
struct StreamRelay {
    listener: TcpListener,
    there: SocketAddr,
    pairs: Vec<[StreamEnd; 2]>,
}

/// One end of a relayed connection: what it was read from it and waits for the other end.
struct StreamEnd {
    stream: TcpStream,
    waiting: Vec<u8>,
}

impl StreamRelay {
    fn new(there: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self {
            listener,
            there,
            pairs: Vec::new(),
        }
    }

    fn step(&mut self, numbers: &mut SeededNumbers) {
        if let Ok((stream, _)) = self.listener.accept() {
            let pair = [stream, TcpStream::connect(self.there).unwrap()].map(|stream| {
                stream.set_nonblocking(true).unwrap();
                stream.set_nodelay(true).unwrap();
                StreamEnd {
                    stream,
                    waiting: Vec::new(),
                }
            });
            self.pairs.push(pair);
        }
        for [one, other] in &mut self.pairs {
            one.read();
            other.read();
            one.pass(other, numbers);
            other.pass(one, numbers);
        }
    }
}

impl StreamEnd {
    fn read(&mut self) {
        let mut buffer = [0; 16_384];
        match self.stream.read(&mut buffer) {
            Ok(len) => self.waiting.extend_from_slice(&buffer[..len]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
    }

    /// Passes none, a part, or all of what waits to the other end.
    fn pass(&mut self, other: &mut Self, numbers: &mut SeededNumbers) {
        let all = self.waiting.len() as u64;
        let len = match numbers.below(4) {
            _ if all == 0 => return,
            0 => return,
            1 => 1 + numbers.below(all),
            _ => all,
        };
        match other.stream.write(&self.waiting[..len as usize]) {
            Ok(len) => drop(self.waiting.drain(..len)),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
    }
}

/// Sends this many frames from a client to a server: all come out, once and in order.
fn stream(kind: &str, more: &str, frames: u64) {
    let there = free_tcp();
    let mut far = TestPort::open(&server(kind, there, more));
    let mut relay = StreamRelay::new(there);
    let between = relay.listener.local_addr().unwrap();
    let table = format!("[ports.can0]\nkind = '{kind}'\nconnect = '{between}'\n{more}");
    let mut near = TestPort::open(&table);
    let mut numbers = SeededNumbers(frames);
    let mut now = 0;
    until(|| {
        now += 1000 * MS;
        near.step(now);
        relay.step(&mut numbers);
        far.step(now);
        near.is_up() && far.is_up()
    });
    // A client of socketcand sends frames when the server has answered.
    for _ in 0..20 {
        now += 100 * MS;
        near.step(now);
        relay.step(&mut numbers);
        far.step(now);
    }
    let (mut sent, mut came) = (0, 0);
    until(|| {
        for _ in 0..256 {
            now += MS;
            for _ in 0..(1 + numbers.below(64)).min(near.room() as u64) {
                if sent < frames && near.send(&numbered(sent), now) {
                    sent += 1;
                }
            }
            near.step(now);
            relay.step(&mut numbers);
            far.step(now);
            for frame in far.received.drain(..) {
                assert_eq!(number(&frame) as u64, came, "{kind}");
                came += 1;
            }
        }
        came == frames
    });
    let (tx, rx) = (near.tx(), far.rx());
    let sums = (tx.taken, tx.sent, tx.lost, tx.held, tx.displaced);
    assert_eq!(sums, (frames, frames, 0, 0, 0), "{kind}");
    assert_eq!((rx.malformed, rx.reopened), (0, 0), "{kind}");
    println!("{kind}: {frames} frames");
}

/// Runs all protocols.
fn all(frames: u64) {
    datagrams(DatagramPath::tunnel("cannelloni"), frames, true);
    datagrams(DatagramPath::tunnel("ieee1722"), frames, true);
    datagrams(DatagramPath::multicast(), frames, false);
    for (kind, more) in [("cannelloni", TCP), ("socketcand", ""), ("slcan", "")] {
        stream(kind, more, frames);
    }
}

#[test]
fn each_frame_has_one_fate() {
    all(SHORT);
}

mod long {
    use super::*;

    #[test]
    #[ignore = "heavy"]
    fn each_of_a_million_frames_has_one_fate() {
        all(MILLION);
    }
}
