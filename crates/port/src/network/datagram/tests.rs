//! Two ports and a network in memory between them, which loses, doubles, delays and swaps by a
//! seed.

use super::ArrivalRules;
use super::receive::DatagramReceive;
use super::socket::DatagramSocket;
use super::transmit::DatagramTransmit;
use crate::{OutgoingFrame, Receive as _, RxCounters, Transmit as _};
use frame::{CanId, Frame, Nanos};
use net::ieee1722::{AcfReader, AcfWriter, DEFAULT_STREAM, MessageVersion};
use net::{DatagramReader, DatagramWriter};
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

fn receiver(
    socket: MemorySocket,
    reader: Box<dyn DatagramReader>,
) -> DatagramReceive<MemorySocket> {
    let rules = ArrivalRules {
        allow: None,
        local_only: false,
        own: None,
    };
    DatagramReceive::new(socket, reader, rules)
}

fn sender(socket: MemorySocket, writer: Box<dyn DatagramWriter>) -> DatagramTransmit<MemorySocket> {
    DatagramTransmit::new(socket, PEER, writer, 0, 0)
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

/// Sends frames over a network that delays datagrams by up to `most` ms, loses some, doubles some
/// and holds some back for 3 s. Compares the counters of both sides, and returns what arrived.
fn compare(
    frames: u64,
    most: u64,
    seed: u64,
    (reader, writer): (Box<dyn DatagramReader>, Box<dyn DatagramWriter>),
) -> RxCounters {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let mut out = sender(near.clone(), writer);
    let mut into = receiver(far.clone(), reader);
    let mut numbers = SeededNumbers(seed);
    let mut fates = NetworkFates::default();
    // Datagrams under way by the time of their arrival.
    let mut under_way: BTreeMap<(Nanos, u64), Vec<u8>> = BTreeMap::new();
    let mut came = vec![0_u8; frames as usize];
    let (mut sent, mut now, mut datagrams) = (0, 0, 0);
    while sent < frames || !under_way.is_empty() {
        now += MS;
        let before = sent;
        for _ in 0..(1 + numbers.below(3)).min(frames - sent) {
            out.transmit(now, OutgoingFrame::new(numbered(sent).view(), 0))
                .unwrap();
            sent += 1;
        }
        out.flush(now).unwrap();
        if let Some(datagram) = near.take() {
            datagrams += 1;
            // Nothing shows the loss of the first and of the last one.
            let ends = before == 0 || sent == frames;
            let delay = numbers.below(most) * MS;
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
                let number = frame.frame.data().try_into().unwrap();
                came[u64::from_be_bytes(number) as usize] += 1;
            });
            more = report.unwrap().more;
        }
    }
    into.receive(now + 1000 * MS, 16, &mut |_| {}).unwrap();
    assert_eq!(into.deadline(), None);
    let (rx, tx) = (into.counters(), out.counters());
    assert_eq!(
        (tx.taken, tx.sent, tx.datagrams),
        (frames, frames, datagrams)
    );
    // Every datagram of the far side has one fate, by the counters of both sides alone.
    assert_eq!(tx.datagrams, rx.datagrams + rx.missing);
    assert_eq!(rx.missing - rx.belated, fates.lost_datagrams);
    assert_eq!(rx.belated, fates.slow_datagrams);
    assert_eq!(rx.repeated, fates.copies);
    // So has every frame, and none comes twice.
    assert!(came.iter().all(|times| *times <= 1));
    let came = came.iter().filter(|times| **times == 1).count() as u64;
    assert_eq!(tx.sent, came + fates.lost_frames + fates.slow_frames);
    let others = (rx.malformed, rx.denied, rx.reopened, rx.overrun);
    assert_eq!(others, (0, 0, 0, 0));
    rx
}

#[test]
fn every_datagram_has_one_fate_over_both_machines() {
    for seed in 0..2 {
        let reader = AcfReader::new(DEFAULT_STREAM, Some(0));
        let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false);
        let rx = compare(200_000, 900, seed, (Box::new(reader), Box::new(writer)));
        assert!(rx.overtaken > 10_000 && rx.belated > 900, "{rx:?}");
    }
}

/// A datagram that the system refuses is lost here, and the other side does not miss it as well.
#[test]
fn a_datagram_that_was_not_sent_is_not_missed() {
    let (near, far) = (MemorySocket::default(), MemorySocket::default());
    let writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, false);
    let mut out = sender(near.clone(), Box::new(writer));
    let reader = AcfReader::new(DEFAULT_STREAM, Some(0));
    let mut into = receiver(far.clone(), Box::new(reader));
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
