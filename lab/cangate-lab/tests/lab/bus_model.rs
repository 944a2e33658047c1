//! A CAN bus, slowly and obviously: each frame bit by bit (ISO 11898-1), and each start of frame
//! with all that wait. The bus that machines in step compute is compared with it.

use std::collections::VecDeque;

/// A frame that a machine sent, from the table of a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) machine: String,
    pub(crate) asked: u64,
    pub(crate) at: u64,
    /// As candump writes it.
    pub(crate) frame: String,
}

/// Returns the rows of a bus's table, in which each frame was sent.
pub(crate) fn table(text: &str) -> Vec<Sent> {
    let mut all = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [machine, asked, at, fate, frame] = fields.as_slice() else {
            panic!("{line}");
        };
        assert_eq!(*fate, "sent", "{line}");
        all.push(Sent {
            machine: (*machine).to_owned(),
            asked: asked.parse().unwrap(),
            at: at.parse().unwrap(),
            frame: (*frame).to_owned(),
        });
    }
    all
}

/// A bus, by the times of its bits, ns.
#[derive(Clone, Copy)]
pub(crate) struct BusModel {
    pub(crate) bit: u64,
    /// Of the data phase.
    pub(crate) data_bit: Option<u64>,
}

impl BusModel {
    /// Computes the bus from the times at which the machines' cards sent: at each start of frame
    /// the lowest arbitration field of all that wait wins, and three bits are between frames.
    /// Returns the frames with their ends, and at how many starts several waited.
    pub(crate) fn run(self, log: &[Sent]) -> (Vec<Sent>, usize) {
        let mut queues: Vec<VecDeque<Sent>> = Vec::new();
        let mut asked = log.to_vec();
        asked.sort_by_key(|sent| sent.asked);
        for sent in asked {
            match queues
                .iter_mut()
                .find(|queue| queue[0].machine == sent.machine)
            {
                Some(queue) => queue.push_back(sent),
                None => queues.push(VecDeque::from([sent])),
            }
        }
        let (mut free, mut contended, mut all) = (0, 0, Vec::new());
        loop {
            let heads = || queues.iter().filter_map(|queue| queue.front());
            let Some(first) = heads().map(|sent| sent.asked).min() else {
                return (all, contended);
            };
            let start = first.max(free);
            contended += usize::from(heads().filter(|sent| sent.asked <= start).count() > 1);
            let winner = heads()
                .filter(|sent| sent.asked <= start)
                .min_by_key(|sent| Bits::arbitration(&WireFrame::parse(&sent.frame)));
            let machine = winner.unwrap().machine.clone();
            let queue = queues
                .iter_mut()
                .find(|queue| queue.front().is_some_and(|it| it.machine == machine));
            let mut sent = queue.unwrap().pop_front().unwrap();
            sent.at = start + self.duration(&sent.frame);
            free = sent.at + 3 * self.bit;
            all.push(sent);
            queues.retain(|queue| !queue.is_empty());
        }
    }

    /// Returns the time from start of frame to end of frame, ns.
    pub(crate) fn duration(self, frame: &str) -> u64 {
        let (nominal, data) = phases(frame);
        assert!(data == 0 || self.data_bit.is_some(), "{frame}");
        nominal * self.bit + data * self.data_bit.unwrap_or(0)
    }
}

/// A frame's parts.
struct WireFrame {
    id: u32,
    is_extended: bool,
    is_remote: bool,
    /// BRS and ESI of an FD frame.
    fd: Option<[bool; 2]>,
    bytes: Vec<u32>,
}

impl WireFrame {
    fn parse(text: &str) -> Self {
        let (id, rest) = text.split_once('#').unwrap();
        let is_remote = rest.starts_with('R');
        let (fd, data) = match rest.strip_prefix('#') {
            Some(rest) => {
                let flags = u32::from_str_radix(&rest[..1], 16).unwrap();
                (Some([flags & 1 != 0, flags & 2 != 0]), &rest[1..])
            }
            None => (None, if is_remote { "" } else { rest }),
        };
        let byte = |at: usize| u32::from_str_radix(&data[2 * at..2 * at + 2], 16).unwrap();
        Self {
            id: u32::from_str_radix(id, 16).unwrap(),
            is_extended: id.len() == 8,
            is_remote,
            fd,
            bytes: (0..data.len() / 2).map(byte).collect(),
        }
    }

    /// The code of the length.
    fn dlc(&self) -> u32 {
        match self.bytes.len() as u32 {
            length @ 0..=8 => length,
            length @ (12 | 16 | 20 | 24) => 9 + (length - 12) / 4,
            32 => 13,
            48 => 14,
            64 => 15,
            other => panic!("no frame has {other} bytes"),
        }
    }
}

/// Bits without stuff bits.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Bits(Vec<u32>);

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        self.0.extend((0..count).rev().map(|bit| value >> bit & 1));
    }

    /// Start of frame, identifier, RTR and IDE.
    fn arbitration(frame: &WireFrame) -> Self {
        let mut bits = Self(vec![0]);
        let remote = u32::from(frame.is_remote);
        if frame.is_extended {
            bits.put(frame.id >> 18, 11);
            bits.put(0b11, 2);
            bits.put(frame.id, 18);
            bits.put(remote, 1);
        } else {
            bits.put(frame.id, 11);
            bits.put(remote, 1);
            bits.put(0, 1);
        }
        bits
    }

    /// The number of all, with a stuff bit after five equal ones; those after `first` of these
    /// bits are counted apart.
    fn stuffed(&self, first: usize, is_last_stuffed: bool) -> [u64; 2] {
        let (mut last, mut equal, mut counts) = (2, 0, [0; 2]);
        for (place, bit) in self.0.iter().enumerate() {
            let count = &mut counts[usize::from(place >= first)];
            equal = if *bit == last { equal + 1 } else { 1 };
            last = *bit;
            *count += 1;
            if equal == 5 && (is_last_stuffed || place + 1 < self.0.len()) {
                *count += 1;
                last = 1 - bit;
                equal = 1;
            }
        }
        counts
    }
}

/// CRC delimiter, ACK, ACK delimiter, seven bits of end of frame.
const TRAILER: u64 = 10;

/// Returns the numbers of bits from start of frame to end of frame: at the bit rate, and at the
/// data bit rate.
fn phases(frame: &str) -> (u64, u64) {
    let frame = WireFrame::parse(frame);
    let mut bits = Bits::arbitration(&frame);
    let Some([brs, esi]) = frame.fd else {
        // r1 of the extended format, and r0.
        bits.put(0, 1 + u32::from(frame.is_extended));
        bits.put(frame.dlc(), 4);
        for byte in &frame.bytes {
            bits.put(*byte, 8);
        }
        let mut crc = 0;
        for bit in &bits.0 {
            let is_set = (crc >> 14 & 1) ^ bit == 1;
            crc = crc << 1 & 0x7fff;
            if is_set {
                crc ^= 0x4599;
            }
        }
        bits.put(crc, 15);
        let [all, _] = bits.stuffed(usize::MAX, true);
        return (all + TRAILER, 0);
    };
    // FDF, the reserved bit, BRS.
    bits.put(0b100 | u32::from(brs), 3);
    let first = if brs { bits.0.len() } else { usize::MAX };
    bits.put(u32::from(esi), 1);
    bits.put(frame.dlc(), 4);
    for byte in &frame.bytes {
        bits.put(*byte, 8);
    }
    // The CRC field has a fixed stuff bit first, in place of one after the data, and then after
    // each four bits of stuff count and CRC.
    let [nominal, data] = bits.stuffed(first, false);
    let field: u64 = 4 + if frame.bytes.len() <= 16 { 17 } else { 21 };
    let field = field + field.div_ceil(4);
    match brs {
        true => (nominal + TRAILER, data + field),
        false => (nominal + field + TRAILER, 0),
    }
}

mod tests {
    use super::*;
    use crate::rng::Rng;
    use frame::wire::{self, BitRate};
    use frame::{CanId, Frame, dlc, flags};

    fn any_frame(rng: &mut Rng) -> Frame {
        let id = match rng.below(4) {
            0 => 0,
            1 => CanId::EFF_MASK,
            _ => rng.word(),
        };
        let id = CanId::from_raw(match rng.one_in(2) {
            true => id & CanId::EFF_MASK | CanId::EFF_FLAG,
            false => id & CanId::SFF_MASK,
        });
        let is_fd = rng.one_in(2);
        let most = if is_fd { 16 } else { 9 };
        let length = usize::from(dlc::fd_len(rng.below(most) as u8));
        // Long runs of equal bits, and bytes of all kinds.
        let data: Vec<u8> = (0..length)
            .map(|_| match rng.below(4) {
                0 => 0,
                1 => 0xff,
                2 => 0x0f,
                _ => rng.byte(),
            })
            .collect();
        let flags = rng.byte() & (flags::BRS | flags::ESI);
        let frame = match is_fd {
            true => Frame::fd(id, flags, &data),
            false if rng.one_in(4) => Frame::remote(id, 0),
            false => Frame::classic(id, &data),
        };
        frame.unwrap()
    }

    /// The model's bits are those of the tables by which frames are timed elsewhere.
    #[test]
    fn a_frame_has_as_many_bits_as_by_the_tables() {
        let model = BusModel {
            bit: 2000,
            data_bit: Some(200),
        };
        let rate = BitRate::new(500_000, Some(5_000_000)).unwrap();
        let mut rng = Rng(1);
        for _ in 0..20_000 {
            let frame = any_frame(&mut rng);
            let length = wire::length(frame.view()).unwrap();
            let expected = length.duration(rate, false);
            assert_eq!(model.duration(&frame.to_string()), expected, "{frame}");
        }
    }
}
