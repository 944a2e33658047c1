//! Connections whose peer, or whose system, does not do its part.

use super::conversation::{Conversation, MAX_STAGED};
use super::dialer::Dialer;
use super::hub::{HubSettings, Listeners, RegisterAtStart};
use super::link::{StreamLink, StreamPeer};
use super::shared::{StreamRules, StreamShared, StreamState};
use crate::PortOpener;
use crate::opener::AtStart as _;
use frame::{CanId, Frame, FrameRef, Nanos};
use net::{StreamSession, StreamStep};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, MutexGuard};

/// A session that is always open, and whose frames are 100 bytes.
struct OpenSession;

impl StreamSession for OpenSession {
    fn begin(&mut self, _answer: &mut Vec<u8>) {}

    fn take(&mut self, _input: &[u8], _answer: &mut Vec<u8>) -> StreamStep {
        StreamStep::More
    }

    fn is_open(&self) -> bool {
        true
    }

    fn put(&mut self, _frame: &FrameRef<'_>, _unix: Nanos, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0; 100]);
    }
}

fn rules(clients: usize, queue: usize) -> StreamRules {
    StreamRules {
        carries: |_| true,
        settle: 0,
        clients,
        queue,
        urgent: Vec::new(),
        epoch: 0,
    }
}

/// Writes to a socket until it has no room.
fn fill(mut socket: &TcpStream) {
    let bytes = [0; 4096];
    loop {
        match socket.write(&bytes) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Reads everything that has arrived.
fn drain(mut socket: &TcpStream) {
    socket.set_nonblocking(true).unwrap();
    let mut bytes = [0; 4096];
    while socket.read(&mut bytes).is_ok() {}
}

fn send_queue(state: &mut MutexGuard<'_, StreamState>, frame: &Frame, queue: usize) {
    for _ in 0..queue {
        assert_eq!(state.send(&frame.view(), 0), Ok(()));
    }
}

/// All places for frames are in use: those on their way to the socket and those of the queue. The
/// next frame takes the place of the oldest one in the queue.
#[test]
fn a_full_queue_behind_a_full_socket_takes_the_newest_frame() {
    const QUEUE: usize = MAX_STAGED;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (socket, address) = listener.accept().unwrap();
    let own = socket.try_clone().unwrap();
    let session = Box::new(OpenSession);
    let (link, peer_of) = (StreamLink::Socket(socket), StreamPeer::Address(address));
    let member = Conversation::new(link, peer_of, session, true, None, 0).unwrap();
    let shared = StreamShared::new(rules(1, QUEUE), None).unwrap();
    let mut state = shared.lock();
    state.join(member).unwrap();
    let mut batch = Vec::new();
    state.work(0, 64, &mut batch);
    let frame = Frame::classic(CanId::from_raw(1), &[]).unwrap();
    // The system may find room for a part of the frames: then the peer reads, and all begins anew.
    loop {
        fill(&own);
        send_queue(&mut state, &frame, QUEUE);
        state.flush(0);
        if state.tx_counters().held == MAX_STAGED as u64 {
            break;
        }
        while state.tx_counters().held > 0 {
            drain(&peer);
            state.work(0, 64, &mut batch);
        }
    }
    send_queue(&mut state, &frame, QUEUE);
    assert_eq!(state.room(), 0);
    send_queue(&mut state, &frame, QUEUE);
    let counters = state.tx_counters();
    assert_eq!(counters.displaced, QUEUE as u64);
    assert_eq!(counters.held, (MAX_STAGED + QUEUE) as u64);
}

/// Length of a long answer. The sockets of both sides have room for far fewer than 60 of them.
const LONG_ANSWER: usize = 1 << 20;

/// A session that asks for the list of buses with each byte, and whose answers are long.
struct AskingSession;

impl StreamSession for AskingSession {
    fn begin(&mut self, _answer: &mut Vec<u8>) {}

    fn take(&mut self, input: &[u8], _answer: &mut Vec<u8>) -> StreamStep {
        match input {
            [] => StreamStep::More,
            _ => StreamStep::List(1),
        }
    }

    fn answer_list(&mut self, _names: &[String], answer: &mut Vec<u8>) {
        answer.resize(answer.len() + LONG_ANSWER, b'x');
    }

    fn is_open(&self) -> bool {
        false
    }

    fn put(&mut self, _frame: &FrameRef<'_>, _unix: Nanos, _out: &mut Vec<u8>) {}
}

/// A client that asks without end before it opens a bus, and never reads the answers, is cut off.
#[test]
fn answers_before_a_bus_is_open_have_a_limit() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut opener = PortOpener::new(0, 0);
    let session = Box::new(|| Box::new(AskingSession) as _);
    let hub = Listeners::at(&mut opener, "p", "test", address, session).unwrap();
    let shared = Arc::new(StreamShared::new(rules(1, 1), None).unwrap());
    let settings = HubSettings {
        clients: 1,
        ..HubSettings::default()
    };
    RegisterAtStart::new(&hub, "bus", &shared, settings)
        .start()
        .unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    // Fewer commands than a new client may have at a time.
    client.write_all(&[b'?'; 60]).unwrap();
    let refused = (0..5000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        let counts = hub.serve(0);
        (counts.denied > 0).then_some(counts)
    });
    let counts = refused.expect("the answers have no limit");
    assert_eq!(counts.denied, 1);
    let remarks = counts.remarks.join("\n");
    assert!(
        remarks.contains("it does not read its answers"),
        "{remarks}"
    );
}

/// A connection that cannot be waited for is tried again after a pause.
#[test]
fn a_connection_that_cannot_be_waited_for_is_dialled_again_after_a_pause() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peers = vec![StreamPeer::Address(listener.local_addr().unwrap())];
    let dialer = Dialer::new(peers, Box::new(|| Box::new(OpenSession)));
    let shared = StreamShared::new(rules(1, 1), Some(dialer)).unwrap();
    let mut state = shared.lock();
    state.lose_epoll();
    let mut now = 0;
    for _ in 0..3 {
        state.work(now, 64, &mut Vec::new());
        let next = state.deadline().unwrap();
        assert!(next > now, "{next} {now}");
        now = next;
    }
    let remarks = state.all_remarks().join("\n");
    assert!(remarks.contains("cannot be waited for"), "{remarks}");
}
