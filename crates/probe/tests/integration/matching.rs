//! The matcher, tested with channels whose true behaviour is known.

use cangate_probe::matching::{FrameMatcher, MatchOutcome, MatcherSettings, SentFrame};
use proptest::prelude::*;

/// The effect of a channel on one frame: the copies that come out, each with its delay.
#[derive(Clone, Debug)]
struct Fate {
    delays: Vec<u64>,
}

const GAP: u64 = 1_000;
const TIMEOUT: u64 = 1_000_000;

fn fate(max_delay: u64) -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => (0..max_delay).prop_map(|d| Fate { delays: vec![d] }),
        2 => Just(Fate { delays: vec![] }),
        1 => (0..max_delay, 0..max_delay).prop_map(|(a, b)| Fate { delays: vec![a, b] }),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: u64,
    /// Frames go in before others come out at the same time.
    out: bool,
    copy: usize,
    serial: u64,
}

fn events(fates: &[Fate]) -> Vec<Event> {
    let mut events = Vec::new();
    for (serial, fate) in (0u64..).zip(fates) {
        let at = serial * GAP;
        events.push(Event {
            at,
            out: false,
            copy: 0,
            serial,
        });
        for (copy, delay) in fate.delays.iter().enumerate() {
            events.push(Event {
                at: at + delay,
                out: true,
                copy,
                serial,
            });
        }
    }
    events.sort();
    events
}

/// Runs a matcher whose key is the serial number cut to 16 bits, starting at `first`.
fn run(
    fates: &[Fate],
    first: u16,
    streams: u32,
) -> (Vec<MatchOutcome>, cangate_probe::matching::OutcomeCounts) {
    let settings = MatcherSettings {
        timeout: TIMEOUT,
        ..MatcherSettings::default()
    };
    let mut matcher = FrameMatcher::new(settings);
    let mut outcomes = Vec::new();
    let mut sink = |o| outcomes.push(o);
    for event in events(fates) {
        let key = first.wrapping_add(event.serial as u16);
        if event.out {
            matcher.received(&key, event.serial, event.at, &mut sink);
        } else {
            let stream = (event.serial % u64::from(streams)) as u32;
            matcher.sent(
                key,
                SentFrame {
                    tag: event.serial,
                    at: event.at,
                    stream,
                },
                &mut sink,
            );
        }
    }
    matcher.finish(&mut sink);
    (outcomes, matcher.counts())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Loss, duplication and reordering by up to 40 places, compared with the behaviour of the
    /// channel.
    #[test]
    fn finds_what_the_channel_did(
        fates in prop::collection::vec(fate(40 * GAP), 1..400),
        first: u16,
        streams in 1u32..4,
    ) {
        let (outcomes, counts) = run(&fates, first, streams);
        let mut lost = Vec::new();
        let mut matched = Vec::new();
        let (mut duplicated, mut reordered) = (0, Vec::new());
        for outcome in &outcomes {
            match outcome {
                MatchOutcome::Matched(m) => {
                    prop_assert_eq!(m.sent.tag, m.tag);
                    prop_assert!(!m.ambiguous);
                    matched.push(m.tag);
                    if m.reordered { reordered.push(m.tag); }
                }
                MatchOutcome::Lost(sent) => lost.push(sent.tag),
                MatchOutcome::Duplicated { of, tag, .. } => {
                    prop_assert_eq!(of.tag, *tag);
                    duplicated += 1;
                }
                MatchOutcome::Unexpected { .. } => prop_assert!(false, "nothing came out of nothing"),
            }
        }
        // The true result, computed by brute force.
        let number = |copies: usize| fates.iter().filter(|f| f.delays.len() == copies).count();
        lost.sort_unstable();
        let truly_lost: Vec<u64> =
            (0u64..).zip(&fates).filter(|(_, f)| f.delays.is_empty()).map(|(s, _)| s).collect();
        prop_assert_eq!(&lost, &truly_lost);
        prop_assert_eq!(matched.len(), fates.len() - truly_lost.len());
        prop_assert_eq!(duplicated, number(2));
        let mut slow = Vec::new();
        for (place, &tag) in matched.iter().enumerate() {
            let stream = |t: u64| t % u64::from(streams);
            if matched[..place].iter().any(|&earlier| stream(earlier) == stream(tag) && earlier > tag) {
                slow.push(tag);
            }
        }
        prop_assert_eq!(&reordered, &slow);
        prop_assert_eq!(counts.sent, counts.matched + counts.lost);
        prop_assert_eq!(counts.received, counts.matched + counts.duplicated + counts.unexpected);
        prop_assert_eq!(counts.reordered as usize, slow.len());
        prop_assert_eq!(counts.waiting, 0);
    }

    /// For any input: every frame has one outcome, sums add up, memory is bounded.
    #[test]
    fn sums_add_up_for_anything(
        steps in prop::collection::vec((any::<bool>(), 0u8..6, 0u64..3_000), 0..300),
        capacity in 1usize..20,
    ) {
        let mut matcher = FrameMatcher::new(MatcherSettings { timeout: 2_000, capacity, ..MatcherSettings::default() });
        let (mut in_fates, mut out_fates) = (Vec::new(), Vec::new());
        let (mut sent, mut received) = (0u64, 0u64);
        let mut at = 0;
        for (out, key, wait) in steps {
            at += wait;
            let mut sink = |o| match o {
                MatchOutcome::Matched(m) => { in_fates.push(m.sent.tag); out_fates.push(m.tag); }
                MatchOutcome::Lost(s) => in_fates.push(s.tag),
                MatchOutcome::Duplicated { tag, .. } | MatchOutcome::Unexpected { tag, .. } => out_fates.push(tag),
            };
            if out {
                matcher.received(&key, received, at, &mut sink);
                received += 1;
            } else {
                matcher.sent(key, SentFrame { tag: sent, at, stream: 0 }, &mut sink);
                sent += 1;
            }
            prop_assert!(matcher.remembered() <= capacity);
            let c = matcher.counts();
            prop_assert_eq!(c.sent, c.matched + c.lost + c.waiting);
            prop_assert_eq!(c.received, c.matched + c.duplicated + c.unexpected);
        }
        matcher.finish(&mut |o| if let MatchOutcome::Lost(s) = o { in_fates.push(s.tag); });
        in_fates.sort_unstable();
        out_fates.sort_unstable();
        prop_assert_eq!(in_fates, (0..sent).collect::<Vec<_>>());
        prop_assert_eq!(out_fates, (0..received).collect::<Vec<_>>());
    }
}

/// 16 bits wrap three times; the matcher remembers only the frames of one timeout.
#[test]
fn numbers_may_wrap() {
    let fates: Vec<Fate> = (0..200_000u64)
        .map(|n| Fate {
            delays: if n % 1_000 == 7 {
                vec![]
            } else {
                vec![(n * 7_919) % (20 * GAP)]
            },
        })
        .collect();
    let (_, counts) = run(&fates, 65_000, 1);
    assert_eq!(counts.lost, 200);
    assert_eq!(counts.matched, 199_800);
    assert_eq!(
        (counts.ambiguous, counts.duplicated, counts.unexpected),
        (0, 0, 0)
    );
    assert!(counts.reordered > 0);
}

#[test]
fn the_time_out_is_the_last_moment_that_counts() {
    for (late, matched) in [(0, true), (1, false)] {
        let mut matcher = FrameMatcher::new(MatcherSettings {
            timeout: 100,
            capacity: 8,
            ..MatcherSettings::default()
        });
        let mut outcomes = Vec::new();
        let sent = SentFrame {
            tag: 5,
            at: 1_000,
            stream: 0,
        };
        matcher.sent("a", sent, &mut |o| outcomes.push(o));
        matcher.received(&"a", 9, 1_100 + late, &mut |o| outcomes.push(o));
        if matched {
            assert!(matches!(outcomes[..], [MatchOutcome::Matched(m)] if m.at == 1_100));
        } else {
            let at = 1_101;
            assert_eq!(
                outcomes,
                [
                    MatchOutcome::Lost(sent),
                    MatchOutcome::Unexpected { tag: 9, at }
                ]
            );
        }
    }
}

#[test]
fn equal_keys_go_first_in_first_out_and_are_marked() {
    let mut matcher = FrameMatcher::new(MatcherSettings::default());
    let mut outcomes = Vec::new();
    let mut sink = |o| outcomes.push(o);
    for tag in 0..2 {
        matcher.sent(
            0x123,
            SentFrame {
                tag,
                at: tag,
                stream: 0,
            },
            &mut sink,
        );
    }
    for tag in 0..3 {
        matcher.received(&0x123, tag, 10 + tag, &mut sink);
    }
    let seen: Vec<_> = outcomes
        .iter()
        .map(|o| match o {
            MatchOutcome::Matched(m) => (m.sent.tag, m.ambiguous),
            MatchOutcome::Duplicated { of, .. } => (of.tag + 100, false),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(seen, [(0, true), (1, false), (101, false)]);
}
