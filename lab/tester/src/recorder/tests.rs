//! The recorder compared with a slow and obvious one.

use super::*;
use crate::plan::TestPlan;
use frame::CanId;
use probe::traffic::TrafficPattern;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SECOND: Nanos = 1_000_000_000;
/// Time from one frame to the next.
const PERIOD: Nanos = 250_000;

fn planned(frames: u32) -> Vec<PlannedFrame> {
    let plan = TestPlan {
        frames,
        traffic: TrafficPattern::Flood.into(),
        ..TestPlan::default()
    };
    plan.frames(None).unwrap()
}

fn recorder(frames: u32) -> FateRecorder {
    FateRecorder::new(planned(frames), SECOND, BusTime::None)
}

/// Returns the time at which frame `i` is sent, and seen on the incoming bus.
fn sent_at(i: u32) -> Nanos {
    1_000 + Nanos::from(i) * PERIOD
}

fn in_at(i: u32) -> Nanos {
    sent_at(i) + 100_000
}

/// Records that frame `i` is sent and seen on the incoming bus.
fn goes_in(recorder: &mut FateRecorder, i: u32) -> Frame {
    let frame = recorder.planned()[i as usize].frame;
    recorder.sent(i, sent_at(i));
    assert_eq!(recorder.incoming(&frame, in_at(i)), Some(i));
    frame
}

fn latencies(recorder: &FateRecorder) -> Vec<Option<i64>> {
    let (records, _) = recorder.finish(LatencyMeasure::Gateway);
    records.iter().map(FrameRecord::latency).collect()
}

#[test]
fn a_frame_is_known_by_its_number_whatever_else_was_changed() {
    let mut recorder = recorder(3);
    for i in 0..3 {
        goes_in(&mut recorder, i);
    }
    let frame = |id: u32, data: &[u8]| Frame::classic(CanId::from_raw(id), data).unwrap();
    let planned: Vec<Frame> = recorder.planned().iter().map(|p| p.frame).collect();
    let mut data = [0; 4];
    data.copy_from_slice(planned[1].data());
    data[3] ^= 0xFF;
    recorder.outgoing(&frame(0x321, planned[0].data()), 2_000_000, None);
    recorder.outgoing(&frame(0x123, &data), 2_000_001, None);
    recorder.outgoing(&frame(0x123, &[0, 2]), 2_000_002, None);
    let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
    assert_eq!(records.len(), 3);
    let payloads = recorder.payloads(&records);
    for (place, planned) in planned.iter().enumerate() {
        assert_eq!(payloads.incoming(place), Some(planned.data()));
    }
    let went_out = [planned[0].data(), &data, &[0, 2]];
    for (place, out) in went_out.into_iter().enumerate() {
        assert_eq!(payloads.outgoing(place), Some(out));
    }
    assert!(records.iter().all(|r| r.status == Status::Delivered));
    assert_eq!(
        (counts.other_id, counts.other_data, counts.other_length),
        (1, 1, 1)
    );
    assert_eq!(records[0].outgoing.unwrap().id.raw(), 0x321);
}

#[test]
fn once_more_late_foreign_and_never() {
    let mut recorder = recorder(5);
    let frames: Vec<Frame> = (0..4).map(|i| goes_in(&mut recorder, i)).collect();
    // Sent, and never seen on the bus.
    recorder.sent(4, sent_at(4));
    recorder.outgoing(&frames[0], in_at(0) + 50_000, None);
    recorder.outgoing(&frames[0], in_at(0) + 60_000, None);
    recorder.outgoing(&frames[2], in_at(2) + SECOND + 1, None);
    recorder.outgoing(&frames[3], in_at(3) + SECOND, None);
    let number = Frame::classic(CanId::from_raw(1), &[7, 7]).unwrap();
    recorder.outgoing(&number, in_at(3), None);
    let short = Frame::classic(CanId::from_raw(1), &[7]).unwrap();
    recorder.outgoing(&short, in_at(3), None);
    recorder.incoming(&number, 5);
    recorder.incoming(&frames[1], in_at(1) + 7);
    // The tester's number, but not the tester's frame.
    let other = Frame::classic(CanId::from_raw(1), frames[1].data()).unwrap();
    assert_eq!(recorder.incoming(&other, 6), None);
    let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
    let expected = FateCounts {
        planned: 5,
        sent: 4,
        received: 2,
        lost: 2,
        late: 1,
        never_in: 1,
        duplicated: 1,
        unexpected: 2,
        foreign: 2,
        twice: 1,
        ..FateCounts::default()
    };
    assert_eq!(counts, expected);
    let statuses: Vec<Status> = records.iter().map(|r| r.status).collect();
    use Status::{Delivered, Duplicated, Lost, NeverIn, Unexpected};
    let expected = [
        Delivered, Lost, Lost, Delivered, NeverIn, Duplicated, Unexpected, Unexpected,
    ];
    assert_eq!(statuses, expected);
    assert_eq!(records[0].latency(), Some(50_000));
    assert_eq!(records[3].latency(), Some(SECOND as i64));
    assert_eq!(
        records[1].incoming.unwrap().end,
        in_at(1),
        "the first stamp"
    );
    let payloads = recorder.payloads(&records);
    assert_eq!(payloads.incoming(1), Some(frames[1].data()), "lost");
    assert_eq!(payloads.outgoing(1), None);
    let extras = [frames[0].data(), &[7, 7], &[7]];
    for (place, data) in (5..).zip(extras) {
        assert_eq!(payloads.outgoing(place), Some(data));
        assert_eq!(payloads.incoming(place), None, "nothing came in for it");
    }
}

#[test]
fn what_was_not_sent_after_all_belongs_to_no_program() {
    let mut recorder = recorder(2);
    let frame = recorder.planned()[0].frame;
    recorder.sent(0, 5);
    recorder.unsent(0);
    assert_eq!(recorder.under_way(), 0);
    assert_eq!(recorder.incoming(&frame, 6), None);
    assert_eq!(recorder.outgoing(&frame, 7, None), None);
    let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
    assert_eq!((counts.not_tried, counts.unexpected), (2, 1));
    assert_eq!(records.len(), 1);
}

#[test]
fn numbers_wrap_and_the_later_frame_has_them() {
    let n = (1 << 16) + 10;
    let mut recorder = recorder(n);
    for i in 0..n {
        let frame = goes_in(&mut recorder, i);
        // Every 1000th is lost, the first of the plan among them.
        if !i.is_multiple_of(1_000) {
            recorder.outgoing(&frame, in_at(i) + 10_000 + Nanos::from(i), None);
        }
    }
    let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
    assert_eq!(counts.lost, u64::from(n.div_ceil(1_000)));
    for (i, record) in records.iter().enumerate() {
        let expected = (i % 1_000 != 0).then_some(10_000 + i as i64);
        assert_eq!(record.latency(), expected, "{i}");
    }
}

#[test]
fn measures_of_the_self_check() {
    let rate = BitRate::new(500_000, None).unwrap();
    let mut recorder = FateRecorder::new(planned(1), SECOND, BusTime::Rate(rate));
    let frame = goes_in(&mut recorder, 0);
    let duration = wire::length(frame.view()).unwrap().duration(rate, false) as i64;
    recorder.outgoing(&frame, in_at(0) + 300, None);
    let latency = |measure| recorder.finish(measure).0[0].latency().unwrap();
    assert_eq!(latency(LatencyMeasure::Difference), 300);
    assert_eq!(latency(LatencyMeasure::Sending), 100_300 - duration);
    assert_eq!(latency(LatencyMeasure::Gateway), 300 - duration);
}

#[test]
fn the_outgoing_frames_own_duration_is_subtracted() {
    let rate = BitRate::new(1_000_000, None).unwrap();
    let mut recorder = FateRecorder::new(planned(1), SECOND, BusTime::Rate(rate));
    goes_in(&mut recorder, 0);
    // Eight bytes instead of four; values of a frame that was measured: 113 bits with intermission.
    let longer = Frame::classic(
        CanId::from_raw(0x123),
        &[0, 0, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77],
    )
    .unwrap();
    recorder.outgoing(&longer, in_at(0) + 500_000, None);
    let length = wire::length(longer.view()).unwrap();
    let duration = i64::from(length.bits() - 3) * 1_000;
    assert_eq!(latencies(&recorder), [Some(500_000 - duration)]);
}

/// The fate of one frame of the plan.
#[derive(Clone, Copy, Debug)]
struct TestFate {
    seen_in: bool,
    /// The delays after which it comes out, one for each time.
    out: [Option<u32>; 3],
}

fn fate() -> impl Strategy<Value = TestFate> {
    let delay = 0u32..3_000_000;
    let out = prop_oneof![
        6 => delay.clone().prop_map(|d| [Some(d), None, None]),
        2 => Just([None; 3]),
        1 => (delay.clone(), delay).prop_map(|(a, b)| [Some(a), Some(b), None]),
        // Beyond the timeout.
        1 => Just([Some(1_200_000_000), None, None]),
    ];
    (prop::bool::weighted(0.9), out).prop_map(|(seen_in, out)| TestFate { seen_in, out })
}

enum TestEvent {
    Sent(u32),
    In(u32),
    Out(u32),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Loss, reordering, duplicates and late frames are compared with a simple count: every frame
    /// that comes out carries its index, and the recorder must find the same one.
    #[test]
    fn as_the_slow_one_states(fates in prop::collection::vec(fate(), 1..120)) {
        let n = fates.len() as u32;
        let mut recorder = recorder(n);
        let mut events: Vec<(Nanos, usize, TestEvent)> = Vec::new();
        for (i, fate) in fates.iter().enumerate() {
            let i = i as u32;
            events.push((sent_at(i), 0, TestEvent::Sent(i)));
            if fate.seen_in {
                events.push((in_at(i), 1, TestEvent::In(i)));
            }
            for delay in fate.out.iter().flatten() {
                events.push((in_at(i) + Nanos::from(*delay), 2, TestEvent::Out(i)));
            }
        }
        events.sort_by_key(|(at, kind, _)| (*at, *kind));
        let mut first_out: BTreeMap<u32, (Nanos, usize)> = BTreeMap::new();
        let mut doubles = 0;
        for (order, (at, _, event)) in events.iter().enumerate() {
            match event {
                TestEvent::Sent(i) => recorder.sent(*i, *at),
                TestEvent::In(i) => {
                    let frame = recorder.planned()[*i as usize].frame;
                    recorder.incoming(&frame, *at);
                }
                TestEvent::Out(i) => {
                    let frame = recorder.planned()[*i as usize].frame;
                    recorder.outgoing(&frame, *at, None);
                    if first_out.contains_key(i) {
                        doubles += 1;
                    } else {
                        first_out.insert(*i, (*at, order));
                    }
                }
            }
        }
        let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
        prop_assert_eq!(counts.planned, counts.sent + counts.never_in + counts.not_tried);
        prop_assert_eq!(counts.sent, counts.received + counts.lost);
        prop_assert_eq!(counts.duplicated, doubles);
        prop_assert_eq!(counts.unexpected, 0);
        let (mut received, mut late, mut reordered) = (0, 0, 0);
        let in_time = |i: u32| {
            let from = if fates[i as usize].seen_in { in_at(i) } else { sent_at(i) };
            first_out.get(&i).filter(|(at, _)| *at <= from + SECOND)
        };
        for i in 0..n {
            let record = records.iter().find(|r| r.tag == u64::from(i)).unwrap();
            let fate = fates[i as usize];
            match in_time(i) {
                Some((at, order)) => {
                    received += 1;
                    prop_assert_eq!(record.status, Status::Delivered);
                    let expected = fate.seen_in.then(|| (at - in_at(i)) as i64);
                    prop_assert_eq!(record.latency(), expected);
                    let overtaken = (i + 1..n)
                        .any(|j| in_time(j).is_some_and(|(_, other)| other < order));
                    reordered += u64::from(overtaken);
                }
                None if first_out.contains_key(&i) => {
                    late += 1;
                    prop_assert_eq!(record.status, Status::Lost);
                }
                None if fate.seen_in => prop_assert_eq!(record.status, Status::Lost),
                None => prop_assert_eq!(record.status, Status::NeverIn),
            }
        }
        prop_assert_eq!((counts.received, counts.late), (received, late));
        prop_assert_eq!(counts.reordered, reordered);
        prop_assert_eq!(recorder.under_way(), n - first_out.len() as u32);
    }

    /// For any input to the recorder, the sums add up.
    #[test]
    fn nothing_makes_the_sums_wrong(
        steps in prop::collection::vec((0u8..4, 0u32..12, any::<u32>(), any::<u8>()), 0..200),
    ) {
        let mut recorder = recorder(10);
        for (what, index, at, byte) in steps {
            let planned = recorder.planned().get(index as usize).map(|p| p.frame);
            let odd = Frame::classic(CanId::from_raw(0x123), &[0, byte, 1]).unwrap();
            let frame = planned.unwrap_or(odd);
            let at = Nanos::from(at);
            match what {
                0 => recorder.sent(index, at),
                1 => recorder.unsent(index),
                2 => { recorder.incoming(&frame, at); }
                _ => { recorder.outgoing(&frame, at, None); }
            }
        }
        for measure in [LatencyMeasure::Gateway, LatencyMeasure::Difference, LatencyMeasure::Sending] {
            let (records, c) = recorder.finish(measure);
            prop_assert_eq!(c.planned, c.sent + c.never_in + c.not_tried);
            prop_assert_eq!(c.sent, c.received + c.lost);
            prop_assert_eq!(
                records.len() as u64,
                c.sent + c.never_in + c.duplicated + c.unexpected
            );
        }
    }
}
