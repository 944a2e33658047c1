//! Two ports and a network in memory between them, which loses, doubles, delays and swaps by a
//! seed.

use super::ArrivalRules;
use super::receive::DatagramReceive;
use super::socket::DatagramSocket;
use super::transmit::{DatagramTransmit, PackRules};
use crate::network::ids::IdRange;
use crate::{OutgoingFrame, Receive as _, RxCounters, Transmit as _};
use frame::{CanId, Frame, Nanos};
use net::ieee1722::{AcfReader, AcfWriter, DEFAULT_STREAM, MessageVersion};
use net::{DatagramReader as _, LateRule, PlayOutRules, StampClock};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

const MS: Nanos = 1_000_000;
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 17_220);

/// The datagrams at one end of the network; `fails`: the next datagram cannot be sent.
#[derive(Clone, Default)]
struct MemorySocket {
    datagrams: Arc<Mutex<VecDeque<Vec<u8>>>>,
    fails: Arc<Mutex<Option<ErrorKind>>>,
}

impl MemorySocket {
    fn put(&self, datagram: Vec<u8>) {
        self.datagrams.lock().unwrap().push_back(datagram);
    }

    fn take(&self) -> Option<Vec<u8>> {
        self.datagrams.lock().unwrap().pop_front()
    }
}

impl DatagramSocket for MemorySocket {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let datagram = self.take().ok_or(ErrorKind::WouldBlock)?;
        buffer[..datagram.len()].copy_from_slice(&datagram);
        Ok((datagram.len(), PEER))
    }

    fn send(&self, datagram: &[u8], _to: SocketAddr) -> io::Result<()> {
        if let Some(error) = self.fails.lock().unwrap().take() {
            return Err(error.into());
        }
        self.put(datagram.to_vec());
        Ok(())
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

fn receiver(socket: MemorySocket, play_out: Option<PlayOutRules>) -> DatagramReceive<MemorySocket> {
    let reader = Box::new(AcfReader::new(DEFAULT_STREAM, Some(0)));
    let rules = ArrivalRules {
        allow: None,
        local_only: false,
        own: None,
    };
    DatagramReceive::new(socket, reader, rules, play_out)
}

fn sender(socket: MemorySocket, rules: PackRules) -> DatagramTransmit<MemorySocket> {
    let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false);
    DatagramTransmit::new(socket, PEER, Box::new(writer), rules, 0)
}

fn numbered(number: u64) -> Frame {
    let id = CanId::sff((number % 32) as u32).unwrap();
    Frame::classic(id, &number.to_be_bytes()).unwrap()
}

/// The frames and datagrams by what the network did with them.
#[derive(Default)]
struct NetworkFates {
    /// Copies that arrived beside the first one.
    copies: u64,
    lost_datagrams: u64,
    lost_frames: u64,
    slow_datagrams: u64,
    slow_frames: u64,
}

/// Sends 200 000 frames over a network that delays datagrams by up to 900 ms, loses some, doubles
/// some and holds some back for 3 s. Compares the counters of both sides, and returns those of the
/// far side.
fn compare(seed: u64, play_out: Option<PlayOutRules>) -> RxCounters {
    const FRAMES: u64 = 200_000;
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let mut out = sender(near.clone(), PackRules::default());
    let mut into = receiver(far.clone(), play_out);
    let mut numbers = SeededNumbers(seed);
    let mut fates = NetworkFates::default();
    // Datagrams under way by the time of their arrival.
    let mut under_way: BTreeMap<(Nanos, u64), Vec<u8>> = BTreeMap::new();
    let mut came = vec![0_u8; FRAMES as usize];
    let mut newest = [None; 32];
    let (mut sent, mut now, mut datagrams) = (0, 0, 0);
    while sent < FRAMES || !under_way.is_empty() || into.counters().waiting > 0 {
        now += MS;
        let before = sent;
        for _ in 0..(1 + numbers.below(3)).min(FRAMES - sent) {
            out.transmit(now, OutgoingFrame::new(numbered(sent).view(), 0))
                .unwrap();
            sent += 1;
        }
        out.flush(now).unwrap();
        if let Some(datagram) = near.take() {
            datagrams += 1;
            // Nothing shows the loss of the first and of the last one.
            let ends = before == 0 || sent == FRAMES;
            let delay = numbers.below(900) * MS;
            let mut arrives = |delay| under_way.insert((now + delay, datagrams), datagram.clone());
            match if ends { 99 } else { numbers.below(100) } {
                0..3 => {
                    fates.lost_datagrams += 1;
                    fates.lost_frames += sent - before;
                }
                3 => {
                    arrives(0);
                    fates.copies += u64::from(delay > 0);
                    arrives(delay);
                }
                4..20 => {
                    arrives(delay);
                }
                20 => {
                    fates.slow_datagrams += 1;
                    fates.slow_frames += sent - before;
                    arrives(3000 * MS);
                }
                _ => {
                    arrives(0);
                }
            }
        }
        while let Some(entry) = under_way.first_entry()
            && entry.key().0 <= now
        {
            far.put(entry.remove());
        }
        let mut more = true;
        while more {
            let report = into.receive(now, 16, &mut |frame| {
                let number = u64::from_be_bytes(frame.frame.data().try_into().unwrap());
                came[number as usize] += 1;
                let newest: &mut Option<u64> = &mut newest[number as usize % 32];
                let is_newer = newest.is_none_or(|newest| newest < number);
                assert!(is_newer || play_out.is_none(), "{number} is behind");
                *newest = Some(number);
            });
            more = report.unwrap().more;
        }
    }
    into.receive(now + 1000 * MS, 16, &mut |_| {}).unwrap();
    assert_eq!(into.deadline(), None);
    let (rx, tx) = (into.counters(), out.counters());
    assert_eq!(
        (tx.taken, tx.sent, tx.datagrams),
        (FRAMES, FRAMES, datagrams)
    );
    // Every datagram of the far side has one fate, by the counters of both sides alone.
    assert_eq!(tx.datagrams, rx.datagrams + rx.missing);
    assert_eq!(rx.missing - rx.belated, fates.lost_datagrams);
    assert_eq!(rx.belated, fates.slow_datagrams);
    assert_eq!(rx.repeated, fates.copies);
    // So has every frame, and none comes twice.
    assert!(came.iter().all(|times| *times <= 1));
    let came = came.iter().filter(|times| **times == 1).count() as u64;
    let left_out = rx.expired + rx.behind + rx.refused;
    let in_missing = fates.lost_frames + fates.slow_frames;
    assert_eq!(tx.sent, came + left_out + in_missing);
    let others = (
        rx.malformed,
        rx.denied,
        rx.reopened,
        rx.overrun,
        rx.unstamped,
    );
    assert_eq!(others, (0, 0, 0, 0, 0));
    rx
}

#[test]
fn every_frame_has_one_fate_over_both_machines() {
    for seed in 0..2 {
        let rx = compare(seed, None);
        assert!(rx.overtaken > 10_000 && rx.belated > 900, "{rx:?}");
    }
}

const RULES: PlayOutRules = PlayOutRules {
    delay: Some(200 * MS),
    max_age: None,
    late: LateRule::Send,
    clock: StampClock::Own,
    frames: 4096,
};

/// With play-out, frames that are late, behind, too old or without room are counted as well.
#[test]
fn every_frame_has_one_fate_with_play_out() {
    let rx = compare(0, Some(RULES));
    assert!(rx.behind > 10_000 && rx.late > 100, "{rx:?}");
    assert_eq!((rx.expired, rx.refused), (0, 0));
    let max_age = Some(50 * MS);
    let rx = compare(1, Some(PlayOutRules { max_age, ..RULES }));
    assert!(rx.expired > 10_000 && rx.behind > 1000, "{rx:?}");
    let rules = PlayOutRules {
        late: LateRule::Expire,
        clock: StampClock::Common(0),
        frames: 300,
        ..RULES
    };
    let rx = compare(2, Some(rules));
    assert!(rx.expired > 10_000 && rx.refused > 1000, "{rx:?}");
    assert_eq!((rx.behind, rx.late), (0, 0));
}

/// Frames of a bus, the network's jitter, and the receiver called at its deadlines: the gaps are
/// those of the sender, to the nanosecond.
#[test]
fn gaps_are_restored_from_port_to_port() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let mut out = sender(near.clone(), PackRules::default());
    let delay = Some(20 * MS);
    let mut into = receiver(far.clone(), Some(PlayOutRules { delay, ..RULES }));
    let mut numbers = SeededNumbers(3);
    let mut under_way: BTreeMap<(Nanos, u64), Vec<u8>> = BTreeMap::new();
    let (mut sent, mut came) = (Vec::new(), Vec::new());
    let mut step = |now, into: &mut DatagramReceive<MemorySocket>| {
        let report = into.receive(now, 64, &mut |frame| {
            let number = u64::from_be_bytes(frame.frame.data().try_into().unwrap());
            came.push((number, now));
        });
        assert!(!report.unwrap().more);
    };
    let mut now = 0;
    for number in 0..5000 {
        let next = now + 100_000 + numbers.below(3 * MS);
        while let Some(at) = under_way
            .first_key_value()
            .map(|((at, _), _)| *at)
            .into_iter()
            .chain(into.deadline())
            .min()
            && at < next
        {
            if let Some(entry) = under_way.first_entry()
                && entry.key().0 == at
            {
                far.put(entry.remove());
            }
            step(at, &mut into);
        }
        now = next;
        sent.push(now);
        out.transmit(now, OutgoingFrame::new(numbered(number).view(), 0))
            .unwrap();
        out.flush(now).unwrap();
        let jitter = numbers.below(4) * numbers.below(5 * MS);
        let jitter = if number == 0 { 0 } else { jitter };
        let at = now + 2 * MS + jitter;
        under_way.insert((at, number), near.take().unwrap());
    }
    assert!(came.len() > 4900);
    for (n, (number, at)) in came.into_iter().enumerate() {
        assert_eq!((n as u64, sent[n] + 22 * MS), (number, at));
    }
    let rx = into.counters();
    assert_eq!((rx.late, rx.behind), (0, 0));
    assert!(rx.overtaken > 500, "{rx:?}");
}

/// An urgent frame leaves at once, before those that wait for others.
#[test]
fn urgent_frames_do_not_wait() {
    let near = MemorySocket::default();
    let rules = PackRules {
        pack: 10 * MS,
        urgent: vec![IdRange::parse("010-01F").unwrap()],
    };
    let mut out = sender(near.clone(), rules);
    let mut offer = |number, now| {
        out.transmit(now, OutgoingFrame::new(numbered(number).view(), 0))
            .unwrap();
        out.flush(now).unwrap();
        let tx = out.counters();
        (tx.sent, tx.held)
    };
    // The IDs are 0 to 31.
    assert_eq!(offer(1, 0), (0, 1));
    assert_eq!(offer(2, 0), (0, 2));
    assert_eq!(offer(0x11, 0), (1, 2));
    assert_eq!(offer(0x12, MS), (2, 2));
    assert_eq!(offer(3, 10 * MS), (5, 0));
    let mut reader = AcfReader::new(DEFAULT_STREAM, Some(0));
    let mut datagrams = Vec::new();
    while let Some(datagram) = near.take() {
        let number = reader.check(&datagram).unwrap().unwrap();
        let (mut at, mut ids) = (0, Vec::new());
        while let Some(found) = reader.next(&datagram, &mut at) {
            ids.push(found.frame.id().number());
        }
        datagrams.push((number.short, ids));
    }
    assert_eq!(
        datagrams,
        [(0, vec![0x11]), (1, vec![0x12]), (2, vec![1, 2, 3])]
    );
}

/// A datagram that the system refuses is lost here, and the other side does not miss it as well.
#[test]
fn a_datagram_that_was_not_sent_is_not_missed() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let mut out = sender(near.clone(), PackRules::default());
    let mut into = receiver(far.clone(), None);
    let mut came = 0;
    for number in 0..10 {
        let now = number * MS;
        if number % 3 == 1 {
            *near.fails.lock().unwrap() = Some(ErrorKind::NetworkUnreachable);
        }
        out.transmit(now, OutgoingFrame::new(numbered(number).view(), 0))
            .unwrap();
        out.flush(now).unwrap();
        near.take()
            .into_iter()
            .for_each(|datagram| far.put(datagram));
        into.receive(now, 16, &mut |_| came += 1).unwrap();
    }
    into.receive(2000 * MS, 16, &mut |_| ()).unwrap();
    let (rx, tx) = (into.counters(), out.counters());
    assert_eq!((tx.sent, tx.lost, tx.datagrams, came), (7, 3, 7, 7));
    assert_eq!((rx.datagrams, rx.missing), (7, 0));
}
