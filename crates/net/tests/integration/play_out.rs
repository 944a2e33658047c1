//! Play-out: gaps between frames are restored, the order of each ID is kept, and every frame has
//! one fate. Time is passed in.

use frame::{CanId, Frame, Nanos};
use net::{DatagramFrame, LateRule, PlayOut, PlayOutRules, PlayOutStep, StampClock};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: Nanos = 1_000_000;

/// The Unix time of the gateway's time 0.
const EPOCH: Nanos = 1_700_000_000_000_000_000;

const RULES: PlayOutRules = PlayOutRules {
    delay: Some(20 * MS),
    max_age: None,
    late: LateRule::Send,
    clock: StampClock::Own,
    frames: 10_000,
    orders_unstamped: false,
};

/// A frame of the far side: its number is its place in the order of the sender.
#[derive(Clone, Copy, Debug)]
struct SentFrame {
    id: u32,
    stamp: Nanos,
    /// Time of the arrival; `None`: it is lost.
    arrival: Option<Nanos>,
}

fn frame(id: u32, number: u64) -> Frame {
    Frame::classic(CanId::sff(id).unwrap(), &number.to_be_bytes()).unwrap()
}

fn number(data: &[u8]) -> usize {
    u64::from_be_bytes(data.try_into().unwrap()) as usize
}

/// Plays frames out, and returns the times at which they were handed on, by their numbers.
fn play(play_out: &mut PlayOut, sent: &[SentFrame]) -> BTreeMap<usize, Nanos> {
    let mut arrivals: Vec<(Nanos, usize)> = sent
        .iter()
        .enumerate()
        .filter_map(|(number, frame)| Some((frame.arrival?, number)))
        .collect();
    arrivals.sort_unstable();
    let mut arrivals = arrivals.into_iter().peekable();
    let mut passed = BTreeMap::new();
    let mut newest = BTreeMap::new();
    let mut came = 0;
    loop {
        let next = arrivals.peek().map(|(at, _)| *at);
        let Some(now) = next.into_iter().chain(play_out.deadline()).min() else {
            break;
        };
        let mut pass = |number: usize| {
            assert!(passed.insert(number, now).is_none(), "{number} came twice");
            let before = newest.insert(sent[number].id, number);
            assert!(
                before.is_none_or(|before| before < number),
                "{number} is behind"
            );
        };
        while let Some((_, number)) = arrivals.next_if(|(at, _)| *at == now) {
            let SentFrame { id, stamp, .. } = sent[number];
            let frame = frame(id, number as u64);
            let found = DatagramFrame {
                stamp: Some(stamp),
                ..frame.view().into()
            };
            came += 1;
            if play_out.take(&found, 7 * number as u64, number as u64, now) == PlayOutStep::Pass {
                pass(number);
            }
        }
        while let Some((frame, mark)) = play_out.next(now) {
            let number = number(frame.data());
            assert_eq!(mark, 7 * number as u64);
            pass(number);
        }
        let counters = play_out.counters();
        let fates = counters.passed + counters.expired + counters.behind + counters.refused;
        assert_eq!(
            (counters.taken, counters.passed),
            (came, passed.len() as u64)
        );
        assert_eq!(counters.taken, fates + play_out.waiting());
    }
    assert_eq!(play_out.waiting(), 0);
    passed
}

/// Frames of four IDs with random gaps, on a path of 7 ms. A third of them is as fast as possible;
/// the others have jitter, some are lost, some very late.
fn sent() -> impl Strategy<Value = Vec<SentFrame>> {
    let one = (0..4_u32, 1..8_000_000_u64, 0..12_u8, 1..20 * MS);
    prop::collection::vec(one, 1..2000).prop_map(|all| {
        let mut stamp = EPOCH + 50 * MS;
        let frames = all
            .into_iter()
            .enumerate()
            .map(|(n, (id, gap, fate, jitter))| {
                stamp += gap;
                let least = stamp - EPOCH + 7 * MS;
                let arrival = match if n == 0 { 0 } else { fate } {
                    0..4 => Some(least),
                    4 => None,
                    5 => Some(least + jitter + 20 * MS),
                    _ => Some(least + jitter),
                };
                SentFrame { id, stamp, arrival }
            });
        frames.collect()
    })
}

/// Checks that each frame that arrived in time was handed on exactly `delay` after its stamp and
/// the offset.
fn check_gaps(
    sent: &[SentFrame],
    passed: &BTreeMap<usize, Nanos>,
    offset: Nanos,
) -> Result<u64, TestCaseError> {
    let mut late = 0;
    for (number, frame) in sent.iter().enumerate() {
        let Some(arrival) = frame.arrival else {
            prop_assert!(!passed.contains_key(&number));
            continue;
        };
        let due = frame.stamp - EPOCH + offset;
        if arrival <= due {
            prop_assert_eq!(passed.get(&number), Some(&due), "frame {}", number);
        } else if let Some(at) = passed.get(&number) {
            late += 1;
            prop_assert_eq!(*at, arrival, "frame {} is late", number);
        }
    }
    Ok(late)
}

proptest! {
    /// Without a common clock: the fastest frames define the offset, and the gaps are those of the
    /// sender, to the nanosecond.
    #[test]
    fn gaps_are_restored_without_a_common_clock(sent in sent()) {
        let mut play_out = PlayOut::new(RULES);
        let passed = play(&mut play_out, &sent);
        let late = check_gaps(&sent, &passed, 27 * MS)?;
        let counters = play_out.counters();
        prop_assert_eq!((counters.late, counters.expired, counters.refused), (late, 0, 0));
    }

    #[test]
    fn gaps_are_restored_with_a_common_clock(sent in sent()) {
        let clock = StampClock::Common(EPOCH);
        let mut play_out = PlayOut::new(PlayOutRules { clock, ..RULES });
        let passed = play(&mut play_out, &sent);
        let late = check_gaps(&sent, &passed, 20 * MS)?;
        prop_assert_eq!(play_out.counters().late, late);
    }

    #[test]
    fn late_frames_expire_where_the_rules_say_so(sent in sent()) {
        let rules = PlayOutRules { late: LateRule::Expire, ..RULES };
        let mut play_out = PlayOut::new(rules);
        let passed = play(&mut play_out, &sent);
        prop_assert_eq!(check_gaps(&sent, &passed, 27 * MS)?, 0);
        let counters = play_out.counters();
        prop_assert_eq!((counters.late, counters.behind), (0, 0));
    }

    /// Any stamps and times, also of a hostile sender: no frame is lost without a count, nothing
    /// waits for ever, and the order of each ID is kept.
    #[test]
    fn any_stamps_have_one_fate(
        all in prop::collection::vec((0..3_u32, any::<u64>(), any::<bool>(), 0..40 * MS), 1..300),
        expires: bool, common: bool, frames in 1..20_usize, limited: bool,
    ) {
        let mut at = 0;
        let sent: Vec<_> = all
            .into_iter()
            .map(|(id, stamp, any, step)| {
                at += step;
                let stamp = if any { stamp } else { EPOCH + at };
                SentFrame { id, stamp, arrival: Some(at) }
            })
            .collect();
        let mut play_out = PlayOut::new(PlayOutRules {
            late: if expires { LateRule::Expire } else { LateRule::Send },
            clock: if common { StampClock::Common(EPOCH) } else { StampClock::Own },
            max_age: limited.then_some(5 * MS),
            frames,
            ..RULES
        });
        let passed = play(&mut play_out, &sent);
        for (number, passed) in passed {
            // Ahead of the clock by a second at most.
            prop_assert!(passed - sent[number].arrival.unwrap() <= 1020 * MS);
        }
    }
}

/// Two clocks that drift apart: gaps are restored within 200 ppm, and no frame is late.
#[test]
fn gaps_are_restored_over_clocks_that_drift() {
    for drift in [-1_i64, 1] {
        let sent: Vec<SentFrame> = (0..20_000_u64)
            .map(|n| {
                let at = n * 5 * MS;
                // 50 ppm, and a jitter of up to 10 ms that is 0 for each eighth frame.
                let stamp = EPOCH.saturating_add_signed(at as i64 + drift * (at / 20_000) as i64);
                SentFrame {
                    id: 1,
                    stamp,
                    arrival: Some(at + 7 * MS + n * 7 % 8 * 10 * MS / 7),
                }
            })
            .collect();
        let mut play_out = PlayOut::new(RULES);
        let passed: Vec<Nanos> = play(&mut play_out, &sent).into_values().collect();
        assert_eq!(passed.len(), sent.len());
        let counters = play_out.counters();
        assert_eq!((counters.late, counters.behind), (0, 0));
        for (n, pair) in passed.windows(2).enumerate() {
            let gap = sent[n + 1].stamp - sent[n].stamp;
            // What the offset follows at once, at most; on the average it is the drift.
            assert!((pair[1] - pair[0]).abs_diff(gap) <= 20_000, "{n} {pair:?}");
        }
        let all = passed[19_999] - passed[10_000];
        assert!(all.abs_diff(9999 * 5 * MS) <= 9999 * 5 * MS / 5000);
    }
}

/// A network that holds everything back for three seconds and then delivers it at once.
#[test]
fn a_backlog_after_an_outage_expires() {
    let max_age = Some(10 * MS);
    let mut play_out = PlayOut::new(PlayOutRules { max_age, ..RULES });
    let sent: Vec<SentFrame> = (0..6000_u64)
        .map(|n| {
            let at = n * MS;
            let arrival = match at {
                at if (2000 * MS..5000 * MS).contains(&at) => 5007 * MS,
                at => at + 7 * MS,
            };
            SentFrame {
                id: 1,
                stamp: EPOCH + at,
                arrival: Some(arrival),
            }
        })
        .collect();
    let passed = play(&mut play_out, &sent);
    // Up to 30 ms old, the last ones of the backlog are handed on.
    let counters = play_out.counters();
    assert_eq!((counters.passed, counters.expired), (6000 - 2970, 2970));
    assert_eq!(counters.late, 10);
    assert!(passed.iter().all(|(n, at)| *at - *n as u64 * MS <= 37 * MS));
}

/// A sender that begins anew, with the backlog of its former run: no burst, and no pause.
#[test]
fn a_restart_of_the_sender_brings_no_burst() {
    let max_age = Some(10 * MS);
    let mut play_out = PlayOut::new(PlayOutRules { max_age, ..RULES });
    let before: Vec<SentFrame> = (0..5000_u64)
        .map(|n| SentFrame {
            id: 1,
            stamp: EPOCH + n * MS,
            arrival: Some(n * MS + 7 * MS),
        })
        .collect();
    assert_eq!(play(&mut play_out, &before).len(), 5000);
    play_out.restart(9000 * MS);
    // Frames of three seconds arrive at once; then the others as they are sent.
    let numbers = 6000..12_000_u64;
    let mut newest = 0;
    for number in numbers.clone() {
        let now = (number * MS + 7 * MS).max(9000 * MS);
        let frame = frame(1, number);
        let found = DatagramFrame {
            stamp: Some(EPOCH + number * MS),
            ..frame.view().into()
        };
        play_out.take(&found, 0, 10_000 + number, now);
        while let Some((frame, _)) = play_out.next(now) {
            newest = self::number(frame.data()) as u64;
            assert!(now - newest * MS <= 37 * MS, "{newest} is old");
        }
    }
    let counters = play_out.counters();
    assert_eq!(counters.expired, 3000 - 37);
    assert!(newest >= numbers.end - 22 && counters.behind == 0);
}

/// The backlog of a network at the start of this side: the frames themselves show their age.
#[test]
fn a_backlog_at_the_beginning_expires() {
    let max_age = Some(10 * MS);
    let mut play_out = PlayOut::new(PlayOutRules { max_age, ..RULES });
    let sent: Vec<SentFrame> = (0..1000_u64)
        .map(|n| SentFrame {
            id: 1,
            stamp: EPOCH + n * MS,
            arrival: Some(900 * MS + (n * MS).saturating_sub(893 * MS)),
        })
        .collect();
    play(&mut play_out, &sent);
    let counters = play_out.counters();
    assert!(
        counters.expired > 850 && counters.passed > 100,
        "{counters:?}"
    );
}

#[test]
fn the_queue_has_a_limit() {
    let mut play_out = PlayOut::new(PlayOutRules { frames: 8, ..RULES });
    let sent: Vec<SentFrame> = (0..100_u64)
        .map(|n| SentFrame {
            id: 1,
            stamp: EPOCH + n * MS,
            arrival: Some(n * MS),
        })
        .collect();
    let passed = play(&mut play_out, &sent);
    let counters = play_out.counters();
    assert_eq!(counters.refused, 100 - passed.len() as u64);
    assert!(counters.refused > 50);
}

/// Frames without stamps are handed on as they come; without `delay`, only old ones are left out.
#[test]
fn frames_that_do_not_wait() {
    let frame = frame(1, 0);
    let found = |stamp| DatagramFrame {
        stamp,
        ..frame.view().into()
    };
    let mut play_out = PlayOut::new(RULES);
    assert_eq!(play_out.take(&found(None), 0, 0, 0), PlayOutStep::Pass);
    assert_eq!(play_out.counters().unstamped, 1);
    let rules = PlayOutRules {
        delay: None,
        max_age: Some(10 * MS),
        ..RULES
    };
    let mut play_out = PlayOut::new(rules);
    for (at, step) in [
        (0, PlayOutStep::Pass),
        (10 * MS, PlayOutStep::Pass),
        (10 * MS + 1, PlayOutStep::LeaveOut),
    ] {
        assert_eq!(play_out.take(&found(Some(EPOCH)), 0, 0, at + 100), step);
        assert_eq!(play_out.deadline(), None);
        // The first frame's second is over.
        play_out.take(&found(Some(EPOCH + at)), 0, 0, at + 100);
    }
    assert_eq!(play_out.counters().late, 0);
}

/// One stamp far ahead moves no clock, and its frame is handed on after the delay; a clock that was
/// set is followed after a second.
#[test]
fn a_stamp_far_ahead_disturbs_no_other_frame() {
    let mut play_out = PlayOut::new(RULES);
    let ahead = |n: u64| match n {
        5000 => 5000 * MS,
        10_000.. => 7000 * MS,
        _ => 0,
    };
    let sent: Vec<SentFrame> = (0..20_000_u64)
        .map(|n| SentFrame {
            id: n as u32 % 7,
            stamp: EPOCH + n * MS + ahead(n),
            arrival: Some(n * MS),
        })
        .collect();
    let passed = play(&mut play_out, &sent);
    let delay = RULES.delay.unwrap();
    let wrong = passed
        .iter()
        .filter(|(n, at)| **at != **n as u64 * MS + delay);
    let wrong: Vec<usize> = wrong.map(|(n, _)| *n).collect();
    // Those that waited when the clock was followed are handed on at once.
    assert!(
        wrong.iter().all(|n| (10_980..11_000).contains(n)),
        "{wrong:?}"
    );
    let counters = play_out.counters();
    assert_eq!((counters.passed, counters.late), (20_000, delay / MS));
}
