use super::busy::most_of_clock;
use super::phases::ClockPhase;
use super::*;
use crate::Arrival;
use crate::sent::SentMessage;
use crate::stream::RivalStream;
use alloc::vec;
use alloc::vec::Vec;
use frame::Nanos;
use proptest::prelude::*;

const COMMON: Nanos = 24;

fn stream(period: Nanos, jitter: Nanos, distance: Nanos, occupied: Nanos) -> RivalStream {
    RivalStream {
        arrival: Arrival::new(period, jitter, distance).unwrap(),
        occupied,
        train: None,
        lead: 0,
    }
}

/// Returns the number of frames that can be released from `from` to `from` + `span`, by enumerating
/// events.
fn count(offset: Nanos, stream: &RivalStream, from: Nanos, span: Nanos) -> u64 {
    let arrival = stream.arrival;
    // Starts far enough back.
    let from = from + 3 * COMMON;
    let events = (0..).map(|n| offset + n * arrival.period());
    let events = events.skip_while(|event| event + arrival.jitter() < from);
    let count = events.take_while(|event| *event <= from + span).count() as u64;
    match arrival.distance() {
        0 => count,
        distance => count.min(span / distance + 1),
    }
}

fn member() -> impl Strategy<Value = (Nanos, RivalStream)> {
    let period = prop::sample::select(vec![2, 3, 4, 6, 8, 12, 24]);
    (period, 0..100_u64, 0..40_u64, 0..10_u64, 1..9_u64).prop_map(
        |(period, offset, jitter, apart, occupied)| {
            let distance = if apart < 7 { 0 } else { apart % (period + 1) };
            (offset % period, stream(period, jitter, distance, occupied))
        },
    )
}

proptest! {
    /// The greatest value over all times on the clock, each evaluated individually.
    #[test]
    fn the_joint_sum_is_the_greatest_of_all_times(
        members in prop::collection::vec(member(), 2..6),
        most in prop::sample::select(vec![10, 100, 100_000]),
    ) {
        let all: Vec<(usize, Nanos, RivalStream)> =
            members.iter().enumerate().map(|(i, (offset, stream))| (i, *offset, *stream)).collect();
        let joint = JointMessages::limited(all, 80, most).unwrap();
        let apart = members.iter().any(|(_, s)| s.arrival.distance() > 0);
        let mut before = 0;
        for span in 0..150 {
            let sum = |from| {
                let each = members.iter();
                each.map(|(offset, s)| count(*offset, s, from, span) * s.occupied).sum::<u64>()
            };
            let exact = (0..COMMON).map(sum).max().unwrap();
            let single: u64 = members.iter().map(|(_, s)| s.within(span) * s.occupied).sum();
            let found = joint.within(span);
            prop_assert!(found >= exact && found <= single, "{span}: {found} {exact} {single}");
            if most == 100_000 && span <= 80 && !apart {
                prop_assert_eq!(found, exact, "{}", span);
            }
            prop_assert!(found >= before);
            before = found;
            let next = joint.next(span);
            prop_assert!(next > 0);
            // It grows, so nothing between differs.
            prop_assert_eq!(joint.within(span + next - 1), found);
        }
    }

    /// The same backward, for the frames that wait.
    #[test]
    fn frames_that_wait_are_the_most_of_all_times(
        members in prop::collection::vec((member(), 0..60_u64), 1..5),
    ) {
        let shown = |(offset, stream): &(Nanos, RivalStream), span: Nanos, to: Nanos| {
            count(*offset, stream, to + 10 * COMMON - span, span)
        };
        let exact = (0..COMMON).map(|to| members.iter().map(|(m, span)| shown(m, *span, to)).sum::<u64>());
        let exact = exact.max().unwrap();
        let streams = members.iter().map(|((offset, s), span)| (*offset, *s, *span));
        prop_assert_eq!(most_of_clock(&streams.collect::<Vec<_>>()), exact);
    }

    /// Phases that are left out are no worse.
    #[test]
    fn what_is_kept_has_the_worst(shifts in prop::collection::vec(prop::collection::vec(0..4_u64, 3), 1..20)) {
        let phase = |shifts: Vec<Nanos>| ClockPhase { shifts, at: 0 };
        let all: Vec<ClockPhase> = shifts.into_iter().map(phase).collect();
        let mut kept = all.clone();
        phases::keep_least(&mut kept);
        prop_assert!(!kept.is_empty());
        for phase in &all {
            let no_worse = |other: &ClockPhase| phase.shifts.iter().zip(&other.shifts).all(|(a, b)| b <= a);
            prop_assert!(kept.iter().any(no_worse));
        }
    }
}

/// With more phases than are considered, those of the greatest load are kept.
#[test]
fn messages_of_strange_periods_have_any_phase() {
    let sent = |period: Nanos, occupied: Nanos| SentMessage {
        node: 0,
        key: 0,
        bits: crate::FrameBits {
            nominal: 0,
            data: 0,
        },
        frame: occupied,
        occupied,
        shortest: occupied,
        arrival: Arrival::new(period, 0, 0).unwrap(),
        offset: Some(0),
        source: None,
    };
    let mut messages = [
        sent(10_000, 10),
        sent(9_999, 9),
        sent(20_000, 8),
        sent(40_000, 7),
    ];
    let found = limit(&mut messages, 2);
    let offsets: Vec<bool> = messages.iter().map(|m| m.offset.is_some()).collect();
    assert_eq!(offsets, [true, false, true, true]);
    // The odd one has the greatest load, but all others together have more.
    let mut messages = [
        sent(9_999, 11),
        sent(10_000, 10),
        sent(20_000, 8),
        sent(40_000, 7),
    ];
    limit(&mut messages, 1);
    let offsets: Vec<bool> = messages.iter().map(|m| m.offset.is_some()).collect();
    assert_eq!(offsets, [false, true, true, true]);
    let say = |of: &OffsetUse| (of.given, of.used);
    assert_eq!(found.iter().map(say).collect::<Vec<_>>(), [(4, 3), (0, 0)]);
}
