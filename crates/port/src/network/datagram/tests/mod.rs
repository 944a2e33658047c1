//! Two ports and a network in memory between them, which loses, doubles, delays and swaps by a
//! seed.

mod buses;
mod fates;
mod loops;
mod presentation;
mod priorities;
mod timed;
mod times;

use super::ArrivalRules;
use super::guard::{LoopGuard, LoopRules};
use super::receive::DatagramReceive;
use super::reports::{PeerReports, ReportRules};
use super::socket::{DatagramSocket, SendMark, SendSocket};
use super::stream_run::StreamRun;
use super::transmit::{DatagramTransmit, PackRules};
use crate::network::ids::IdRange;
use crate::{OutgoingFrame, PortOpener, Receive as _, RxCounters, Transmit as _};
use frame::{CanId, Frame, Nanos};
use net::ieee1722::{AcfReader, AcfWriter, DEFAULT_STREAM, MessageVersion, PeerReport};
use net::{DatagramReader as _, LateRule, PlayOutRules, StampClock};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const MS: Nanos = 1_000_000;
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 17_220);

type Datagrams = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// The first byte of a datagram from another sender than [`PEER`]; the second one is its number.
/// Such a byte would be the number of a datagram after 16 million ones.
const OTHER_SENDER: u8 = 0xFF;

/// The datagrams at one end of the network; `fails`: the next datagram cannot be sent.
#[derive(Clone)]
struct MemorySocket {
    incoming: Datagrams,
    outgoing: Datagrams,
    fails: Arc<Mutex<Option<ErrorKind>>>,
    /// Number of datagrams that it has room for.
    room: Arc<AtomicUsize>,
    /// The marks of all datagrams.
    marks: Arc<Mutex<Vec<u8>>>,
}

impl Default for MemorySocket {
    fn default() -> Self {
        Self {
            incoming: Arc::default(),
            outgoing: Arc::default(),
            fails: Arc::default(),
            room: Arc::new(AtomicUsize::new(usize::MAX)),
            marks: Arc::default(),
        }
    }
}

impl MemorySocket {
    /// Lets a datagram arrive.
    fn put(&self, datagram: Vec<u8>) {
        self.incoming.lock().unwrap().push_back(datagram);
    }

    /// Takes a datagram that was sent.
    fn take(&self) -> Option<Vec<u8>> {
        self.outgoing.lock().unwrap().pop_front()
    }
}

impl SendSocket for MemorySocket {
    fn send(&self, datagram: &[u8], _to: SocketAddr, mark: SendMark) -> io::Result<()> {
        if self.room.load(Relaxed) <= self.outgoing.lock().unwrap().len() {
            return Err(ErrorKind::WouldBlock.into());
        }
        if let Some(error) = self.fails.lock().unwrap().take() {
            return Err(error.into());
        }
        self.marks.lock().unwrap().push(mark.dscp);
        self.outgoing.lock().unwrap().push_back(datagram.to_vec());
        Ok(())
    }
}

impl DatagramSocket for MemorySocket {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let datagram = self.incoming.lock().unwrap().pop_front();
        let datagram = datagram.ok_or(ErrorKind::WouldBlock)?;
        buffer[..datagram.len()].copy_from_slice(&datagram);
        let mut from = PEER;
        if datagram[0] == OTHER_SENDER {
            from.set_port(datagram[1].into());
            buffer[..2].fill(0);
        }
        Ok((datagram.len(), from))
    }

    fn dropped(&self) -> u64 {
        0
    }
}

/// Pseudo-random numbers from a seed (SplitMix64, Steele et al. 2014).
struct SeededNumbers(u64);

impl SeededNumbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % end
    }
}

/// The guard of a port of a gateway of its own.
fn guard(rules: LoopRules) -> LoopGuard {
    LoopGuard::new(&mut PortOpener::new(0, 0), "tunnel", rules)
}

fn receiver(
    socket: MemorySocket,
    play_out: Option<PlayOutRules>,
    reports: Option<PeerReports>,
) -> DatagramReceive<MemorySocket> {
    let reader = Box::new(AcfReader::new(DEFAULT_STREAM, Some(0)));
    let rules = ArrivalRules {
        allow: None,
        local_only: false,
        own: None,
    };
    DatagramReceive::new(
        socket,
        reader,
        rules,
        play_out,
        reports,
        guard(LoopRules::default()),
    )
}

fn sender(
    socket: MemorySocket,
    rules: PackRules,
    totals: StreamRun,
) -> DatagramTransmit<MemorySocket> {
    let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false);
    let guard = guard(LoopRules::default());
    DatagramTransmit::new(socket, PEER, Box::new(writer), rules, totals, guard, 0)
}

fn numbered(number: u64) -> Frame {
    let id = CanId::sff((number % 32) as u32).unwrap();
    Frame::classic(id, &number.to_be_bytes()).unwrap()
}

/// Reports each second about a run.
fn reports(run: StreamRun) -> PeerReports {
    let rules = ReportRules {
        stream: DEFAULT_STREAM,
        every: 1000 * MS,
    };
    PeerReports::new(rules, PEER, run, 0)
}

const RULES: PlayOutRules = PlayOutRules {
    delay: Some(200 * MS),
    max_age: None,
    late: LateRule::Send,
    clock: StampClock::Own,
    frames: 4096,
    orders_unstamped: false,
};
