//! The queue in front of a transmitting half, against a slow and obvious reference.

use crate::common::{Handle, MemoryTx, memory_halves};
use engine::wrap::{QueueOrder, QueueRules, QueuedTransmitter, WhenFull};
use engine::{OutgoingFrame, Transmit, TransmitRefusal, TxCounters};
use frame::{CanId, Frame, wire};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A queue in front of a half that takes one frame and keeps it until it has room.
fn queued(rules: QueueRules) -> (QueuedTransmitter<MemoryTx>, Handle) {
    let (_, tx, handle) = memory_halves();
    handle.inside().queue = 1;
    handle.inside().room = 0;
    (QueuedTransmitter::new(tx, rules), handle)
}

fn rules(
    order: QueueOrder,
    when_full: WhenFull,
    max_age: Option<u64>,
    frames: usize,
) -> QueueRules {
    QueueRules {
        order,
        max_age,
        when_full,
        frames,
        longest: 8,
    }
}

fn frame(id: u32) -> Frame {
    let id = match id {
        0..0x800 => CanId::sff(id),
        _ => CanId::eff(id),
    };
    Frame::classic(id.unwrap(), &[1, 2, 3]).unwrap()
}

/// Tokens of the frames that have left, in order.
fn sent(handle: &Handle) -> Vec<u64> {
    handle
        .inside()
        .sent
        .iter()
        .map(|(_, token)| *token)
        .collect()
}

/// The waiting frames, in order of arrival: time of arrival, frame, token.
#[derive(Default)]
struct Reference {
    waiting: Vec<(u64, Frame, u64)>,
    /// The frame that the half behind the queue holds.
    inside: Option<(u64, Frame, u64)>,
    /// Whether the half gives it back.
    recalls: bool,
    sent: Vec<u64>,
    answers: Vec<Result<(), TransmitRefusal>>,
    taken: u64,
    expired: u64,
    displaced: u64,
    lost: u64,
}

impl Reference {
    fn expire(&mut self, rules: &QueueRules, now: u64) {
        let before = self.waiting.len();
        if let Some(max_age) = rules.max_age {
            self.waiting.retain(|(since, ..)| now - since < max_age);
            let held = self.inside.filter(|_| self.recalls);
            if held.is_some_and(|(since, ..)| now - since >= max_age) {
                self.inside = None;
                self.expired += 1;
            }
        }
        self.expired += (before - self.waiting.len()) as u64;
    }

    /// `open`: the half's other side has room; `down`: it is down.
    fn pass_on(&mut self, rules: &QueueRules, open: bool, down: bool) {
        let key = |frame: &Frame| match rules.order {
            QueueOrder::Fifo => 0,
            QueueOrder::Priority => wire::arbitration_field(&frame.header()),
        };
        let better = |(_, held, _): &(u64, Frame, u64)| {
            self.waiting
                .iter()
                .any(|(_, frame, _)| key(frame) < key(held))
        };
        if self.recalls && self.inside.as_ref().is_some_and(better) {
            // Tokens are in order of arrival.
            self.waiting.extend(self.inside.take());
            self.waiting.sort_by_key(|(.., token)| *token);
        }
        loop {
            if open {
                self.sent
                    .extend(self.inside.take().map(|(.., token)| token));
            }
            if self.inside.is_some() || self.waiting.is_empty() {
                return;
            }
            if down {
                self.lost += self.waiting.len() as u64;
                self.waiting.clear();
                return;
            }
            // The first of several with the lowest priority.
            let all = self.waiting.iter().enumerate();
            let (best, _) = all
                .min_by_key(|(i, (_, frame, _))| (key(frame), *i))
                .unwrap();
            self.inside = Some(self.waiting.remove(best));
        }
    }

    fn offer(
        &mut self,
        rules: &QueueRules,
        now: u64,
        frame: Frame,
        token: u64,
        (open, down): (bool, bool),
    ) {
        self.expire(rules, now);
        if self.waiting.len() >= rules.frames {
            self.pass_on(rules, open, down);
        }
        if self.waiting.len() >= rules.frames {
            let key = |frame: &Frame| wire::arbitration_field(&frame.header());
            let victim = match (rules.when_full, rules.order) {
                (WhenFull::DropOldest, QueueOrder::Fifo) => Some(0),
                (WhenFull::DropOldest, QueueOrder::Priority) => {
                    let lowest = self.waiting.iter().map(|(_, f, _)| key(f)).max().unwrap();
                    let first = self.waiting.iter().position(|(_, f, _)| key(f) == lowest);
                    first.filter(|_| key(&frame) <= lowest)
                }
                _ => None,
            };
            let Some(victim) = victim else {
                self.answers.push(Err(TransmitRefusal::Full));
                return;
            };
            self.waiting.remove(victim);
            self.displaced += 1;
        }
        self.waiting.push((now, frame, token));
        self.taken += 1;
        self.answers.push(Ok(()));
    }

    fn counters(&self) -> TxCounters {
        TxCounters {
            taken: self.taken,
            sent: self.sent.len() as u64,
            lost: self.lost,
            expired: self.expired,
            displaced: self.displaced,
            held: (self.waiting.len() + usize::from(self.inside.is_some())) as u64,
            ..TxCounters::default()
        }
    }
}

#[derive(Clone, Debug)]
enum Act {
    Offer(u32),
    Flush,
    Open(bool),
    Down(bool),
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => prop_oneof![0x100_u32..0x104, 0x4_0000_u32..0x4_0002].prop_map(Act::Offer),
        3 => Just(Act::Flush),
        1 => any::<bool>().prop_map(Act::Open),
        1 => prop::bool::weighted(0.2).prop_map(Act::Down),
        2 => (0..4 * MS).prop_map(Act::Pass),
    ]
}

proptest! {
    /// For any arrivals, departures, ages and failures, in every combination of the rules: the same
    /// frames leave in the same order, the same are refused, and the counters are the same.
    #[test]
    fn it_does_what_a_slow_queue_does(
        order in prop_oneof![Just(QueueOrder::Fifo), Just(QueueOrder::Priority)],
        when_full in prop_oneof![
            Just(WhenFull::Refuse), Just(WhenFull::DropOldest), Just(WhenFull::Wait)
        ],
        max_age in prop::option::of(1..6 * MS),
        frames in 1_usize..7,
        recalls in any::<bool>(),
        acts in prop::collection::vec(act(), 1..120),
    ) {
        let rules = rules(order, when_full, max_age, frames);
        let (mut queue, handle) = queued(rules);
        handle.inside().recalls = recalls;
        let mut slow = Reference { recalls, ..Reference::default() };
        let (mut now, mut open, mut down) = (0, false, false);
        for (token, act) in (0..).zip(acts) {
            match act {
                Act::Offer(id) => {
                    let frame = frame(id);
                    let answer = queue.transmit(now, OutgoingFrame::new(frame.view(), token));
                    slow.offer(&rules, now, frame, token, (open, down));
                    prop_assert_eq!(answer.map(|_| ()), *slow.answers.last().unwrap());
                }
                Act::Flush => {
                    let report = queue.flush(now).unwrap();
                    slow.expire(&rules, now);
                    slow.pass_on(&rules, open, down);
                    prop_assert_eq!(report.held as u64, slow.counters().held);
                }
                Act::Open(now) => {
                    open = now;
                    handle.inside().room = if open { usize::MAX } else { 0 };
                }
                Act::Down(now) => {
                    down = now;
                    handle.inside().down = down;
                }
                Act::Pass(ns) => now += ns,
            }
            let counters = TxCounters { stalled: 0, ..queue.counters() };
            prop_assert_eq!(counters, slow.counters());
            prop_assert_eq!(counters.taken, counters.gone() + counters.held);
            prop_assert_eq!(&sent(&handle), &slow.sent);
            let room = if down { usize::MAX } else { frames.saturating_sub(slow.waiting.len()) };
            prop_assert_eq!(queue.room(), room);
        }
    }
}

#[test]
fn the_next_to_expire_states_when() {
    let (mut queue, handle) = queued(rules(
        QueueOrder::Priority,
        WhenFull::Refuse,
        Some(50 * MS),
        4,
    ));
    handle.inside().no_deadline = true;
    for (token, (now, id)) in (0..).zip([(0, 0x700), (3 * MS, 0x300), (7 * MS, 0x100)]) {
        queue
            .transmit(now, OutgoingFrame::new(frame(id).view(), token))
            .unwrap();
    }
    assert_eq!(queue.deadline(), Some(50 * MS));
    // The most urgent frame is in the half after the first flush, and cannot expire any more.
    assert_eq!(queue.flush(7 * MS).unwrap().held, 3);
    assert_eq!(queue.counters().expired, 0);
    queue.flush(49 * MS).unwrap();
    assert_eq!(queue.counters().expired, 0);
    queue.flush(50 * MS).unwrap();
    assert_eq!(queue.counters().expired, 1);
    assert_eq!(queue.deadline(), Some(53 * MS));
    handle.inside().room = usize::MAX;
    // The bus is back: of the remaining frames, none is older than 50 ms.
    queue.flush(54 * MS).unwrap();
    assert_eq!((sent(&handle), queue.counters().expired), (vec![2], 2));
}

#[test]
fn what_a_half_gives_back_is_overtaken_and_expires() {
    let (mut queue, handle) = queued(rules(
        QueueOrder::Priority,
        WhenFull::Refuse,
        Some(50 * MS),
        4,
    ));
    handle.inside().recalls = true;
    for (token, (now, id)) in (0..).zip([(0, 0x700), (1, 0x300)]) {
        queue
            .transmit(now, OutgoingFrame::new(frame(id).view(), token))
            .unwrap();
        // The half has already called the other side without success: only the half holds the
        // frame.
        queue.flush(now).unwrap();
    }
    let inside: Vec<u64> = handle.inside().outgoing.iter().map(|sent| sent.1).collect();
    assert_eq!(inside, [1], "the better one is in the place of the first");
    queue.flush(51 * MS).unwrap();
    let counters = queue.counters();
    assert_eq!((counters.taken, counters.expired, counters.held), (2, 2, 0));
    handle.inside().room = usize::MAX;
    queue.flush(52 * MS).unwrap();
    assert!(
        sent(&handle).is_empty(),
        "a bus that comes back gets nothing old"
    );
}

#[test]
fn frames_too_long_for_it_are_refused() {
    let mut rules = rules(QueueOrder::Fifo, WhenFull::Refuse, None, 2);
    rules.longest = 2;
    let (mut queue, _) = queued(rules);
    let answer = queue.transmit(0, OutgoingFrame::new(frame(1).view(), 0));
    assert_eq!(answer, Err(TransmitRefusal::Unsupported));
    assert_eq!(queue.counters(), TxCounters::default());
}
