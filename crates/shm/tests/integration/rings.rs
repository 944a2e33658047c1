//! Two sides in one memory, in any order of steps, and a side that writes anything anywhere.

use frame::{CanId, Frame};
use proptest::prelude::*;
use shm::layout::{LEAST, at, slots};
use shm::{ArmResult, BEAT, NotSent, PeerLink, SILENT, SharedWords, ShmRings, ShmSide};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

#[derive(Clone)]
struct Memory(Arc<Vec<AtomicU64>>);

impl Memory {
    fn new() -> Self {
        Self(Arc::new(
            (0..LEAST / 8).map(|_| AtomicU64::new(0)).collect(),
        ))
    }
}

impl SharedWords for Memory {
    fn len(&self) -> usize {
        self.0.len() * 8
    }

    fn get(&self, at: usize) -> u64 {
        self.0
            .get(at / 8)
            .map_or(0, |word| word.load(Ordering::Acquire))
    }

    fn set(&self, at: usize, word: u64) {
        if let Some(to) = self.0.get(at / 8) {
            to.store(word, Ordering::Release);
        }
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

fn numbered(n: u32) -> Frame {
    Frame::classic(CanId::eff(n & 0x1FFF_FFFF).unwrap(), &n.to_le_bytes()).unwrap()
}

fn number(frame: &Frame) -> u32 {
    frame.id().number()
}

fn two(memory: &Memory) -> (ShmRings<Memory>, ShmRings<Memory>) {
    let mut one = ShmRings::new(memory.clone(), ShmSide::First, 1, 0).unwrap();
    let mut two = ShmRings::new(memory.clone(), ShmSide::Second, 2, 0).unwrap();
    one.watch_peer(0);
    two.watch_peer(0);
    (one, two)
}

fn all(rings: &mut ShmRings<Memory>) -> Vec<u32> {
    let mut got = Vec::new();
    while rings.receive(7, &mut |frame| got.push(number(&frame))) {}
    rings.release();
    got
}

/// Sends this many more frames with rising numbers, and makes them visible.
fn send(rings: &mut ShmRings<Memory>, numbers: std::ops::Range<u32>) {
    for n in numbers {
        rings.send(&numbered(n).view()).unwrap();
    }
    rings.publish();
}

#[test]
fn frames_pass_both_ways_in_order() {
    let memory = Memory::new();
    let (mut one, mut two) = two(&memory);
    assert_eq!((one.link(), two.link()), (PeerLink::Up, PeerLink::Up));
    for round in 0..5 {
        let numbers = round * 200..(round + 1) * 200;
        for _ in 0..2 {
            for n in numbers.clone() {
                one.send(&numbered(n).view()).unwrap();
            }
            assert_eq!(all(&mut two), [0; 0], "not shown yet");
            assert_eq!(one.publish(), (200, false), "no side waits");
            assert_eq!(all(&mut two), Vec::from_iter(numbers.clone()));
            assert_eq!(one.held(), 200, "not looked yet");
            one.progress();
            assert_eq!(one.held(), 0);
            std::mem::swap(&mut one, &mut two);
        }
    }
}

#[test]
fn a_full_ring_refuses() {
    let memory = Memory::new();
    let (mut one, mut two) = two(&memory);
    let room = slots(LEAST);
    send(&mut one, 0..room);
    assert_eq!(one.send(&numbered(0).view()), Err(NotSent::Full));
    assert!(!one.arm(true).room);
    two.receive(1, &mut |_| {});
    assert!(two.release(), "the other one wants to be rung");
    assert!(one.arm(true).room);
    one.watch_peer(0);
    assert_eq!(one.room(), 1);
    send(&mut one, room..room + 1);
    assert_eq!(all(&mut two), Vec::from_iter(1..=room));
    let c = one.counters();
    assert_eq!((c.taken, c.lost, c.malformed), (u64::from(room) + 1, 0, 0));
}

#[test]
fn who_waits_is_rung() {
    let memory = Memory::new();
    let (mut one, mut two) = two(&memory);
    assert_eq!(two.arm(false), ArmResult::default());
    one.send(&numbered(1).view()).unwrap();
    assert_eq!(one.publish(), (1, true));
    assert!(two.arm(false).frames, "it came before");
    two.watch_peer(0);
    assert_eq!(all(&mut two), [1]);
    one.send(&numbered(2).view()).unwrap();
    assert_eq!(one.publish(), (1, false), "it is awake");
    assert!(two.arm(false).frames);
}

#[test]
fn what_was_in_the_ring_of_a_side_that_died_is_lost_and_counted() {
    let memory = Memory::new();
    let (mut one, mut two) = two(&memory);
    send(&mut one, 0..10);
    two.receive(4, &mut |_| {});
    two.release();
    send(&mut two, 0..3);
    // Killed without notice. Another process takes its place.
    drop(two);
    let mut two = ShmRings::new(memory, ShmSide::Second, 3, 0).unwrap();
    send_nothing(&mut one);
    assert!(two.watch_peer(0));
    assert_eq!(all(&mut two), [0; 0], "of the time before");
    one.watch_peer(0);
    let c = one.counters();
    assert_eq!((c.taken, c.sent, c.lost, one.held()), (10, 4, 6, 0));
    assert_eq!(all(&mut one), [0; 0], "of the one before");
    send(&mut one, 20..23);
    assert_eq!(all(&mut two), [20, 21, 22]);
    assert_eq!(one.counters().sessions, 2);
}

fn send_nothing(rings: &mut ShmRings<Memory>) {
    assert_eq!(rings.publish().0, 0);
}

#[test]
fn a_side_that_sleeps_goes_on_where_it_was() {
    let memory = Memory::new();
    let (mut one, mut two) = two(&memory);
    send(&mut one, 0..5);
    let mut now = 0;
    while now < SILENT {
        now += BEAT;
        one.watch_peer(now);
    }
    assert_eq!(one.link(), PeerLink::Silent);
    assert_eq!(one.send(&numbered(9).view()), Err(NotSent::Down));
    // It wakes up: by its own clock no time has passed in between, or a long time.
    two.watch_peer(now);
    assert_eq!(two.link(), PeerLink::Up, "it slept itself");
    assert!(one.watch_peer(now + 1));
    assert_eq!(one.link(), PeerLink::Up);
    assert_eq!(all(&mut two), [0, 1, 2, 3, 4]);
    one.watch_peer(now + 2);
    assert_eq!((one.counters().sent, one.counters().lost), (5, 0));
}

#[test]
fn a_side_that_goes_reports_that() {
    let memory = Memory::new();
    let (mut one, mut two) = two(&memory);
    send(&mut one, 0..5);
    assert!(two.leave());
    assert!(one.watch_peer(1));
    assert_eq!(one.link(), PeerLink::Absent);
    assert_eq!((one.counters().lost, one.held()), (5, 0));
}

#[test]
fn another_version_is_distinguished() {
    let memory = Memory::new();
    let (mut one, _two) = two(&memory);
    memory.set(ShmSide::Second.block() + at::VERSION, 7);
    assert!(one.watch_peer(1));
    assert_eq!(one.link(), PeerLink::Foreign);
    assert!(!one.arm(true).frames, "it does not turn round and round");
    assert!(ShmRings::new(Memory(Arc::new(Vec::new())), ShmSide::First, 1, 0).is_err());
}

#[derive(Clone, Debug)]
enum Step {
    Send(bool, u32),
    Publish(bool),
    Receive(bool, usize),
    Release(bool),
    Look(bool),
    Die(bool),
    Leave(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let side = any::<bool>();
    let step = prop_oneof![
        4 => (side, 0..100_u32).prop_map(|(s, n)| Step::Send(s, n)),
        4 => side.prop_map(Step::Publish),
        4 => (side, 0..200_usize).prop_map(|(s, n)| Step::Receive(s, n)),
        4 => side.prop_map(Step::Release),
        6 => side.prop_map(Step::Look),
        1 => side.prop_map(Step::Die),
        1 => side.prop_map(Step::Leave),
    ];
    proptest::collection::vec(step, 1..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// For any deaths at any time: each frame is received at most once, in order, by the side to
    /// which it was sent in its session; no more frames are counted as received than as sent;
    /// everything adds up.
    #[test]
    fn every_frame_has_one_fate(steps in steps()) {
        let memory = Memory::new();
        let mut lives = 2;
        let (one, two) = two(&memory);
        let mut sides = [one, two];
        let mut numbers = [0, 0];
        let mut last: [Option<u32>; 2] = [None, None];
        let mut received = [0_u64, 0];
        for step in steps {
            match step {
                Step::Send(s, n) => for _ in 0..n {
                    let s = usize::from(s);
                    if sides[s].send(&numbered(numbers[s]).view()).is_ok() {
                        numbers[s] += 1;
                    }
                },
                Step::Publish(s) => { sides[usize::from(s)].publish(); }
                Step::Receive(s, n) => {
                    let s = usize::from(s);
                    let mut got = Vec::new();
                    sides[s].receive(n, &mut |frame| got.push(number(&frame)));
                    received[s] += got.len() as u64;
                    for n in got {
                        prop_assert!(last[s].is_none_or(|last| last < n), "twice, or out of order");
                        last[s] = Some(n);
                    }
                }
                Step::Release(s) => { sides[usize::from(s)].release(); }
                Step::Look(s) => { sides[usize::from(s)].watch_peer(0); }
                Step::Die(s) => {
                    lives += 1;
                    let side = if s { ShmSide::Second } else { ShmSide::First };
                    let s = usize::from(s);
                    // The frames of a new process would have their own numbers; here the numbers
                    // continue.
                    sides[s] = ShmRings::new(memory.clone(), side, lives, 0).unwrap();
                    received[s] = 0;
                }
                Step::Leave(s) => {
                    let side = usize::from(s);
                    sides[side].leave();
                    lives += 1;
                    let which = if s { ShmSide::Second } else { ShmSide::First };
                    sides[side] = ShmRings::new(memory.clone(), which, lives, 0).unwrap();
                    received[side] = 0;
                }
            }
            for side in &sides {
                let c = side.counters();
                prop_assert_eq!(c.taken, c.sent + c.lost + u64::from(side.held()));
                prop_assert_eq!((c.malformed, c.broken), (0, 0));
            }
            for s in 0..2 {
                prop_assert_eq!(sides[s].counters().received, received[s]);
            }
        }
        // At the end both sides look, and the frames that were sent arrive.
        for _ in 0..3 {
            for side in &mut sides {
                side.watch_peer(0);
                side.publish();
            }
            for (side, received) in sides.iter_mut().zip(&mut received) {
                while side.receive(64, &mut |_| *received += 1) {}
                side.release();
            }
        }
        for side in &mut sides {
            side.watch_peer(0);
            prop_assert_eq!(side.held(), 0);
        }
    }

    /// With a side that writes anything anywhere, the other side hands over only valid frames, ends
    /// each step, counts everything, and continues with an honest side afterwards.
    #[test]
    fn a_hostile_side_harms_no_other(
        writes in proptest::collection::vec((0..LEAST / 8, any::<u64>(), 0..8_u8, 0..300_usize), 1..200),
    ) {
        let memory = Memory::new();
        let (mut one, two) = two(&memory);
        drop(two);
        let words = [at::VERSION, at::LIFE, at::BEAT, at::HEAD, at::TAIL, at::WANTS];
        for (place, word, what, n) in writes {
            let session = memory.get(ShmSide::First.block() + at::HEAD) >> 32 << 32;
            let at = ShmSide::Second.block() + words[place % words.len()];
            match what {
                0 => memory.set(place * 8, word),
                1 => memory.set(at, word),
                // A count that is nearly correct.
                2 => memory.set(at, session | word & 0x1FF),
                3 => memory.set(ShmSide::Second.block() + at::HEAD, session | u64::from(word as u32)),
                4 => { one.watch_peer(word & 0xFFFF_FFFF); }
                5 => {
                    let mut frames = 0;
                    one.receive(n, &mut |frame| {
                        assert!(shm::layout::encode(&frame.view()).is_some());
                        frames += 1;
                    });
                    prop_assert!(frames <= n && frames <= slots(LEAST) as usize);
                    one.release();
                }
                6 => {
                    for n in 0..n as u32 {
                        let _ = one.send(&numbered(n).view());
                    }
                    one.publish();
                }
                _ => { one.arm(word & 1 != 0); }
            }
            let c = one.counters();
            prop_assert_eq!(c.taken, c.sent + c.lost + u64::from(one.held()));
            prop_assert!(one.held() <= slots(LEAST));
        }
        let mut two = ShmRings::new(memory, ShmSide::Second, 99, 0).unwrap();
        let now = 1 << 40;
        one.watch_peer(now);
        two.watch_peer(now);
        // The hostile side may have written into this side's own block, too: the next beat repairs
        // it.
        one.watch_peer(now);
        two.watch_peer(now);
        prop_assert_eq!(one.link(), PeerLink::Up);
    }
}
