//! Two ports and a network in memory between them, which loses, doubles, delays and swaps by a
//! seed.

use super::ArrivalRules;
use super::receive::DatagramReceive;
use super::reports::{PeerReports, ReportRules, SharedTotals};
use super::socket::DatagramSocket;
use super::transmit::{DatagramTransmit, PackRules};
use crate::network::ids::IdRange;
use crate::{OutgoingFrame, Receive as _, RxCounters, Transmit as _};
use frame::{CanId, Frame, Nanos};
use net::ieee1722::{AcfReader, AcfWriter, DEFAULT_STREAM, MessageVersion, PeerReport};
use net::{DatagramReader as _, LateRule, PlayOutRules, StampClock};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

const MS: Nanos = 1_000_000;
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 17_220);

type Datagrams = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// The datagrams at one end of the network; `fails`: the next datagram cannot be sent.
#[derive(Clone, Default)]
struct MemorySocket {
    incoming: Datagrams,
    outgoing: Datagrams,
    fails: Arc<Mutex<Option<ErrorKind>>>,
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

impl DatagramSocket for MemorySocket {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let datagram = self.incoming.lock().unwrap().pop_front();
        let datagram = datagram.ok_or(ErrorKind::WouldBlock)?;
        buffer[..datagram.len()].copy_from_slice(&datagram);
        Ok((datagram.len(), PEER))
    }

    fn send(&self, datagram: &[u8], _to: SocketAddr) -> io::Result<()> {
        if let Some(error) = self.fails.lock().unwrap().take() {
            return Err(error.into());
        }
        self.outgoing.lock().unwrap().push_back(datagram.to_vec());
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
    DatagramReceive::new(socket, reader, rules, play_out, reports)
}

fn sender(
    socket: MemorySocket,
    rules: PackRules,
    totals: SharedTotals,
) -> DatagramTransmit<MemorySocket> {
    let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false);
    DatagramTransmit::new(socket, PEER, Box::new(writer), rules, totals, 0)
}

fn numbered(number: u64) -> Frame {
    let id = CanId::sff((number % 32) as u32).unwrap();
    Frame::classic(id, &number.to_be_bytes()).unwrap()
}

/// Reports each second.
fn reports(totals: SharedTotals) -> PeerReports {
    let rules = ReportRules {
        stream: DEFAULT_STREAM,
        every: 1000 * MS,
    };
    PeerReports::new(rules, PEER, totals, 0, 7)
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
    let totals = SharedTotals::default();
    let mut out = sender(near.clone(), PackRules::default(), totals.clone());
    let mut back = receiver(near.clone(), None, Some(reports(totals)));
    let far_reports = reports(SharedTotals::default());
    let mut into = receiver(far.clone(), play_out, Some(far_reports));
    let mut numbers = SeededNumbers(seed);
    let mut fates = NetworkFates::default();
    // Datagrams under way by the time of their arrival.
    let mut under_way: BTreeMap<(Nanos, u64), Vec<u8>> = BTreeMap::new();
    let mut came = vec![0_u8; FRAMES as usize];
    let mut newest = [None; 32];
    let (mut sent, mut now, mut datagrams, mut order) = (0, 0, 0, 0);
    let mut end = Nanos::MAX;
    while now < end {
        now += MS;
        if sent == FRAMES && end == Nanos::MAX {
            end = now + 20_000 * MS;
        }
        let before = sent;
        for _ in 0..(1 + numbers.below(3)).min(FRAMES - sent) {
            out.transmit(now, OutgoingFrame::new(numbered(sent).view(), 0))
                .unwrap();
            sent += 1;
        }
        out.flush(now).unwrap();
        back.receive(now, 16, &mut |_| ()).unwrap();
        while let Some(datagram) = near.take() {
            let delay = numbers.below(900) * MS;
            order += 1;
            let mut arrives = |delay| under_way.insert((now + delay, order), datagram.clone());
            if PeerReport::read(&datagram, DEFAULT_STREAM).is_some() {
                // A part of the reports is lost.
                if numbers.below(4) > 0 {
                    arrives(delay);
                }
                continue;
            }
            datagrams += 1;
            // Nothing shows the loss of the first one.
            match if before == 0 { 99 } else { numbers.below(100) } {
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
    // So has every frame.
    let came_once = came.iter().filter(|times| **times == 1).count() as u64;
    let left_out = rx.expired + rx.behind + rx.refused;
    assert_eq!(tx.sent, came_once + left_out + rx.lost);
    assert_eq!(
        (rx.lost, rx.waiting),
        (fates.lost_frames + fates.slow_frames, 0)
    );
    assert!(came.iter().all(|times| *times <= 1));
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
    let mut out = sender(near.clone(), PackRules::default(), SharedTotals::default());
    let delay = Some(20 * MS);
    let mut into = receiver(far.clone(), Some(PlayOutRules { delay, ..RULES }), None);
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
    let mut out = sender(near.clone(), rules, SharedTotals::default());
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
    let mut out = sender(near.clone(), PackRules::default(), SharedTotals::default());
    let mut into = receiver(far.clone(), None, None);
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

/// Reports show the round trip and the other clock, and the loss of the last datagram.
#[test]
fn reports_show_the_other_side() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let totals = SharedTotals::default();
    let mut out = sender(near.clone(), PackRules::default(), totals.clone());
    let mut back = receiver(near.clone(), None, Some(reports(totals)));
    let rules = ReportRules {
        stream: DEFAULT_STREAM,
        every: 300 * MS,
    };
    // The clock of the far side is five seconds ahead.
    let ahead = PeerReports::new(rules, PEER, SharedTotals::default(), 5000 * MS, 8);
    let mut into = receiver(far.clone(), None, Some(ahead));
    assert_eq!(into.remarks(), ["no report of the other side has come"]);
    let mut under_way: BTreeMap<(Nanos, u64), (bool, Vec<u8>)> = BTreeMap::new();
    let mut order = 0;
    for step in 0..40_000_u64 {
        let now = step * MS / 10;
        if step % 100 == 0 && step < 1000 {
            let frame = numbered(step);
            out.transmit(now, OutgoingFrame::new(frame.view(), 0))
                .unwrap();
            out.flush(now).unwrap();
            // The last two are lost.
            let datagram = near.take().unwrap();
            if step < 800 {
                far.put(datagram);
            }
        }
        back.receive(now, 16, &mut |_| ()).unwrap();
        into.receive(now, 16, &mut |_| ()).unwrap();
        for (is_near, socket) in [(true, &near), (false, &far)] {
            if let Some(datagram) = socket.take() {
                // Reports need 2 ms there and 4 ms back.
                let way = if is_near { 2 * MS } else { 4 * MS };
                order += 1;
                under_way.insert((now + way, order), (is_near, datagram));
            }
        }
        while let Some(entry) = under_way.first_entry()
            && entry.key().0 <= now
        {
            let (is_near, datagram) = entry.remove();
            if is_near { &far } else { &near }.put(datagram);
        }
    }
    let rx = into.counters();
    assert_eq!((rx.datagrams, rx.missing, rx.lost), (8, 2, 2));
    assert_eq!(rx.malformed, 0);
    let remarks = back.remarks();
    assert!(remarks[0].starts_with("the other side took 8 datagrams of this port and misses 2"));
    // The true offset is 5 s; the ways differ by 2 ms, and the error is half of that.
    assert!(
        remarks[1].contains("the other clock is 4999000 us ahead, within 3100 us"),
        "{remarks:?}"
    );
}
