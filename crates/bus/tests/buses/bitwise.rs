//! The bus against a slow reference: every node drives one bit at a time, the bus is their
//! wired-AND, and nodes know only the bits that they read from it. Classic frames, no faults.

use crate::common;

use bus::{Bus, BusConfig, NodeConfig, NodeEvent};
use cangate_bus as bus;
use common::classic_frames;
use frame::{Frame, Kind};
use proptest::prelude::*;

/// A bit at 500 kbit/s, ns.
const BIT: u64 = 2_000;

/// Returns SOF to the last data bit of a classic frame, without stuff bits; `1` is recessive.
fn classic_head(frame: &Frame) -> String {
    assert_eq!(frame.kind(), Kind::Classic);
    let id = frame.id();
    let rtr = if id.is_rtr() { "1" } else { "0" };
    let mut bits = if id.is_eff() {
        let all = format!("{:029b}", id.number());
        format!("0{}11{}{rtr}00", &all[..11], &all[11..])
    } else {
        format!("0{:011b}{rtr}00", id.number())
    };
    bits += &format!("{:04b}", frame.len());
    for byte in frame.data() {
        bits += &format!("{byte:08b}");
    }
    bits
}

/// Returns the whole classic frame on the wire, SOF to end of frame; the acknowledge slot is
/// recessive.
fn classic_bits(frame: &Frame) -> Vec<bool> {
    let mut head = classic_head(frame);
    // Long division of the message by x^15 + x^14 + x^10 + x^8 + x^7 + x^4 + x^3 + 1.
    let mut rest: Vec<bool> = head.chars().map(|c| c == '1').collect();
    rest.extend([false; 15]);
    for i in 0..head.len() {
        if rest[i] {
            for (k, p) in "1100010110011001".chars().enumerate() {
                rest[i + k] ^= p == '1';
            }
        }
    }
    for bit in &rest[head.len()..] {
        head.push(if *bit { '1' } else { '0' });
    }
    let mut wire = String::new();
    for bit in head.chars() {
        wire.push(bit);
        if wire.ends_with("00000") {
            wire.push('1');
        } else if wire.ends_with("11111") {
            wire.push('0');
        }
    }
    wire += "1111111111";
    wire.chars().map(|c| c == '1').collect()
}

/// A frame to send, with the time at which it is ready, in bits.
#[derive(Clone, Debug)]
struct Job {
    node: usize,
    ready: u64,
    frame: Frame,
}

/// A frame that was sent: first bit, bit after the last, node, job.
type Sent = (u64, u64, usize, usize);

/// The activity of a node.
enum Doing {
    /// Waiting; the number of recessive bits so far.
    Watching(u32),
    /// Sending: the job, its bits, and the position in them.
    Sending(usize, Vec<bool>, usize),
    /// Receiving: the bits that it has read since the start of frame.
    Reading(Vec<bool>),
}

/// The position in a frame after these bits.
#[derive(PartialEq)]
enum Position {
    Inside,
    BeforeAck,
    Over,
}

/// Removes stuff bits and reads the header, from the start, every time.
fn position(bits: &[bool]) -> Position {
    let (mut plain, mut run, mut last, mut used) = (Vec::new(), 0, None, 0);
    let mut stuff_next = false;
    let mut needed = usize::MAX;
    for &bit in bits {
        if plain.len() >= needed && !stuff_next {
            break;
        }
        used += 1;
        run = if last == Some(bit) { run + 1 } else { 1 };
        last = Some(bit);
        if stuff_next {
            stuff_next = false;
        } else {
            plain.push(bit);
        }
        if run == 5 {
            stuff_next = true;
        }
        let number = |at: usize| {
            plain[at..at + 4]
                .iter()
                .fold(0, |n, &b| n * 2 + usize::from(b))
        };
        let header = match plain.get(13) {
            Some(true) => 39,
            Some(false) => 19,
            None => continue,
        };
        if plain.len() == header {
            let remote = plain[if header == 39 { 32 } else { 12 }];
            let bytes = if remote { 0 } else { number(header - 4).min(8) };
            needed = header + 8 * bytes + 15;
        }
    }
    if plain.len() < needed || stuff_next {
        return Position::Inside;
    }
    // Delimiter, acknowledge, delimiter, end of frame.
    match bits.len() - used {
        1 => Position::BeforeAck,
        10 => Position::Over,
        _ => Position::Inside,
    }
}

fn reference(jobs: &[Job], nodes: usize, mailboxes: usize) -> Vec<Sent> {
    let mut done = vec![false; jobs.len()];
    let mut doing: Vec<Doing> = (0..nodes).map(|_| Doing::Watching(11)).collect();
    let mut sent = Vec::new();
    let mut starts = vec![0; nodes];
    let mut now = 0;
    while done.iter().any(|d| !d) {
        // Idle nodes with something to send start, all in the same bit.
        for (n, state) in doing.iter_mut().enumerate() {
            if let Doing::Watching(quiet) = *state
                && quiet >= 11
            {
                let mut waiting: Vec<usize> = (0..jobs.len())
                    .filter(|&j| jobs[j].node == n && !done[j] && jobs[j].ready <= now)
                    .collect();
                waiting.sort_by_key(|&j| (jobs[j].ready, j));
                waiting.truncate(mailboxes);
                let best = waiting
                    .into_iter()
                    .min_by_key(|&j| (common::arbitration_field(&jobs[j].frame), jobs[j].ready, j));
                if let Some(j) = best {
                    *state = Doing::Sending(j, classic_bits(&jobs[j].frame), 0);
                    starts[n] = now;
                }
            }
        }
        let drives = |state: &Doing| match state {
            Doing::Watching(_) => true,
            Doing::Sending(_, bits, at) => bits[*at],
            Doing::Reading(bits) => position(bits) != Position::BeforeAck,
        };
        let level = doing.iter().all(drives);
        now += 1;
        for (n, state) in doing.iter_mut().enumerate() {
            let next = match state {
                Doing::Watching(_) if !level => Doing::Reading(vec![false]),
                Doing::Watching(quiet) => Doing::Watching(*quiet + 1),
                Doing::Sending(_, bits, at) if bits[*at] && !level && *at + 9 < bits.len() => {
                    // Arbitration lost: the bits sent so far are the bits read.
                    let mut read = bits[..*at].to_vec();
                    read.push(false);
                    Doing::Reading(read)
                }
                Doing::Sending(j, bits, at) if *at + 1 == bits.len() => {
                    done[*j] = true;
                    sent.push((starts[n], now, n, *j));
                    // Acknowledge delimiter and end of frame were eight recessive bits.
                    Doing::Watching(8)
                }
                Doing::Sending(j, bits, at) => Doing::Sending(*j, std::mem::take(bits), *at + 1),
                Doing::Reading(bits) => {
                    bits.push(level);
                    if position(bits) == Position::Over {
                        Doing::Watching(8)
                    } else {
                        Doing::Reading(std::mem::take(bits))
                    }
                }
            };
            *state = next;
        }
    }
    sent
}

fn modelled(jobs: &[Job], nodes: usize, mailboxes: usize) -> Vec<Sent> {
    let mut bus = Bus::new(BusConfig::classic(500_000)).unwrap();
    let ids: Vec<_> = (0..nodes)
        .map(|_| {
            let node = NodeConfig {
                mailboxes: mailboxes as u8,
                queue: jobs.len(),
                ..NodeConfig::default()
            };
            bus.attach(node).unwrap()
        })
        .collect();
    for (tag, job) in jobs.iter().enumerate() {
        bus.send(ids[job.node], job.ready * BIT, &job.frame, tag as u64)
            .unwrap();
    }
    let mut sent = Vec::new();
    while let Some(t) = bus.next() {
        bus.run_until(t, |event| match *event {
            NodeEvent::Frame {
                start,
                end,
                node,
                tag,
                ..
            } => sent.push((start / BIT, end / BIT, usize::from(node.0), tag as usize)),
            ref other => panic!("{other:?}"),
        });
    }
    sent
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn bit_by_bit(
        nodes in 2..5_usize,
        mailboxes in 1..4_usize,
        jobs in prop::collection::vec((0..8_usize, 0..600_u64, classic_frames()), 1..12),
    ) {
        // One arbitration field belongs to one node: two nodes that share one are an error of
        // their own, which has its own tests. There is always a receiver: the last node only
        // listens.
        let mut owner = std::collections::BTreeMap::new();
        let jobs: Vec<Job> = jobs
            .into_iter()
            .map(|(node, ready, frame)| {
                let field = common::arbitration_field(&frame);
                let node = *owner.entry(field).or_insert(node % (nodes - 1));
                Job { node, ready, frame }
            })
            .collect();
        prop_assert_eq!(
            modelled(&jobs, nodes, mailboxes),
            reference(&jobs, nodes, mailboxes)
        );
    }
}
