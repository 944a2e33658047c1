//! The loop over simulated interfaces, in a time of their own.

use super::*;
use crate::plan::TestPlan;
use crate::recorder::{BusTime, FateCounts, LatencyMeasure};
use crate::wire::ReceivedFrame;
use frame::CanId;
use proptest::prelude::*;
use std::collections::VecDeque;

const SECOND: Nanos = 1_000_000_000;
const TEST_TIMEOUTS: PlayTimeouts = PlayTimeouts {
    timeout: SECOND,
    pause: 50_000,
};

/// The simulated gateway's output times for the nth frame.
type Gateway = Box<dyn Fn(u32) -> Vec<Nanos>>;

/// Simulated interfaces, bus and gateway.
struct PaperBench {
    now: Nanos,
    /// The frames that will be seen, with their times, on each side.
    coming: [VecDeque<(Nanos, Frame)>; 3],
    gateway: Gateway,
    sent: u32,
    /// Time that each frame takes on the bus.
    duration: Nanos,
    free_at: Nanos,
    /// Maximum number of frames that wait for the bus.
    queue: u64,
    /// The sending interface goes down before this frame.
    down_at: Option<u32>,
    /// No more frames leave the sending interface.
    stuck: bool,
    reference: bool,
    stamped: bool,
    sleeps: u32,
}

impl PaperBench {
    fn new(gateway: impl Fn(u32) -> Vec<Nanos> + 'static) -> Self {
        Self {
            now: 5_000,
            coming: Default::default(),
            gateway: Box::new(gateway),
            sent: 0,
            duration: 100_000,
            free_at: 0,
            queue: 3,
            down_at: None,
            stuck: false,
            reference: true,
            stamped: true,
            sleeps: 0,
        }
    }

    fn see(&mut self, side: TesterSide, at: Nanos, frame: Frame) {
        let queue = &mut self.coming[side as usize];
        let place = queue.partition_point(|(other, _)| *other <= at);
        queue.insert(place, (at, frame));
    }
}

impl TesterWire for PaperBench {
    fn now(&self) -> Nanos {
        self.now
    }

    fn stamp_now(&self) -> Nanos {
        self.now + SECOND
    }

    fn name(&self, side: TesterSide) -> &str {
        ["s", "ref", "out"][side as usize]
    }

    fn has_reference(&self) -> bool {
        self.reference
    }

    fn send(&mut self, frame: &Frame) -> Result<(), UnsentReason> {
        self.now += 1_000;
        if self.down_at == Some(self.sent) {
            return Err(UnsentReason::Fault(RunFault::Down("s".into())));
        }
        let waiting = self
            .free_at
            .saturating_sub(self.now)
            .div_ceil(self.duration.max(1));
        if self.stuck || waiting > self.queue {
            return Err(UnsentReason::Full);
        }
        let end = self.free_at.max(self.now) + self.duration;
        self.free_at = end;
        if self.reference {
            self.see(TesterSide::Reference, end, *frame);
        }
        for delay in (self.gateway)(self.sent) {
            self.see(TesterSide::Receive, end + delay, *frame);
        }
        self.sent += 1;
        Ok(())
    }

    fn receive(
        &mut self,
        side: TesterSide,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<usize, RunFault> {
        self.now += 1_000;
        let mut n = 0;
        while n < BATCH {
            match self.coming[side as usize].front() {
                Some((at, _)) if *at <= self.now => {}
                _ => break,
            }
            let (at, frame) = self.coming[side as usize].pop_front().unwrap();
            take(ReceivedFrame {
                frame: frame.view(),
                stamp: self.stamped.then_some(at + SECOND),
            });
            n += 1;
        }
        Ok(n)
    }

    fn sleep_until(&mut self, at: Nanos) {
        self.sleeps += 1;
        self.now = self.now.max(at);
    }

    fn wait_received(&mut self, until: Nanos) -> Result<(), RunFault> {
        self.sleeps += 1;
        let next = self.coming[TesterSide::Receive as usize]
            .front()
            .map(|(at, _)| *at);
        self.now = self.now.max(next.unwrap_or(until).min(until));
        Ok(())
    }

    fn wait_room(&mut self, until: Nanos) -> Result<(), RunFault> {
        self.sleeps += 1;
        let room = self.free_at.saturating_sub(self.duration * self.queue);
        let at = if self.stuck { until } else { room };
        self.now = self.now.max(at).min(until.max(self.now));
        Ok(())
    }
}

fn run(
    paper: &mut PaperBench,
    pattern: TrafficPattern,
    frames: u32,
) -> (FateRecorder, PlayedCounts) {
    let traffic = PlanSource::from(pattern);
    let plan = TestPlan {
        traffic: traffic.clone(),
        frames,
        ..TestPlan::default()
    };
    let planned = plan.frames(None).unwrap();
    let mut recorder = FateRecorder::new(planned, SECOND, BusTime::None);
    let played = play(paper, &mut recorder, &traffic, TEST_TIMEOUTS);
    (recorder, played)
}

fn counts(recorder: &FateRecorder) -> FateCounts {
    recorder.finish(LatencyMeasure::Gateway).1
}

fn latencies(recorder: &FateRecorder) -> Vec<i64> {
    let (records, _) = recorder.finish(LatencyMeasure::Gateway);
    records
        .iter()
        .filter_map(probe::FrameRecord::latency)
        .collect()
}

#[test]
fn one_at_a_time_the_next_waits_for_the_one_before() {
    let mut paper = PaperBench::new(|i| vec![20_000 + Nanos::from(i)]);
    let (recorder, played) = run(&mut paper, TrafficPattern::OneAtATime, 50);
    assert!(played.failure.is_none());
    assert_eq!(latencies(&recorder), (20_000..20_050).collect::<Vec<i64>>());
    let (records, _) = recorder.finish(LatencyMeasure::Gateway);
    for pair in records.windows(2) {
        let came_back = pair[0].outgoing.unwrap().end;
        let next = pair[1].incoming.unwrap().end;
        assert!(next >= came_back + TEST_TIMEOUTS.pause + paper.duration);
    }
    // A sleep for the frame and one for the pause, and a few around.
    assert!(paper.sleeps < 2 * 50 + 10, "{}", paper.sleeps);
}

#[test]
fn a_lost_frame_costs_its_timeout_and_the_run_goes_on() {
    let lost = |i: u32| i.is_multiple_of(7) && i > 0;
    let mut paper = PaperBench::new(move |i| if lost(i) { vec![] } else { vec![20_000] });
    let (recorder, played) = run(&mut paper, TrafficPattern::OneAtATime, 30);
    assert!(played.failure.is_none());
    let counts = counts(&recorder);
    assert_eq!((counts.sent, counts.received, counts.lost), (30, 26, 4));
    assert!(played.elapsed >= 4 * SECOND && played.elapsed < 6 * SECOND);
}

#[test]
fn a_gateway_that_does_nothing_is_reported_soon() {
    let mut paper = PaperBench::new(|_| vec![]);
    let (recorder, played) = run(&mut paper, TrafficPattern::OneAtATime, 1_000);
    let why = played.failure.unwrap().to_string();
    assert!(why.contains("gateway running"), "{why}");
    assert_eq!(counts(&recorder).lost, 5);
    assert!(played.elapsed < 6 * SECOND);

    // This distinguishes a bus that does not work from a gateway that does nothing.
    let mut paper = PaperBench::new(|_| vec![]);
    paper.reference = true;
    paper.coming = Default::default();
    let mut mute = MuteBench(paper);
    let plan = TestPlan::default().frames(None).unwrap();
    let mut recorder = FateRecorder::new(plan, SECOND, BusTime::None);
    let played = play(
        &mut mute,
        &mut recorder,
        &TrafficPattern::OneAtATime.into(),
        TEST_TIMEOUTS,
    );
    let why = played.failure.unwrap().to_string();
    assert!(why.contains("ref") && why.contains("one bus"), "{why}");
    assert_eq!(counts(&recorder).never_in, 5);
}

/// Like [`PaperBench`], but the reference is on another bus.
struct MuteBench(PaperBench);

impl TesterWire for MuteBench {
    fn now(&self) -> Nanos {
        self.0.now()
    }
    fn stamp_now(&self) -> Nanos {
        self.0.stamp_now()
    }
    fn name(&self, side: TesterSide) -> &str {
        self.0.name(side)
    }
    fn has_reference(&self) -> bool {
        true
    }
    fn send(&mut self, frame: &Frame) -> Result<(), UnsentReason> {
        self.0.send(frame)
    }
    fn receive(
        &mut self,
        side: TesterSide,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<usize, RunFault> {
        if side == TesterSide::Reference {
            return Ok(0);
        }
        self.0.receive(side, take)
    }
    fn sleep_until(&mut self, at: Nanos) {
        self.0.sleep_until(at);
    }
    fn wait_received(&mut self, until: Nanos) -> Result<(), RunFault> {
        self.0.wait_received(until)
    }
    fn wait_room(&mut self, until: Nanos) -> Result<(), RunFault> {
        self.0.wait_room(until)
    }
}

#[test]
fn paced_frames_leave_at_their_times() {
    let mut paper = PaperBench::new(|_| vec![30_000]);
    let (recorder, played) = run(&mut paper, TrafficPattern::Period(500_000), 40);
    assert!(played.failure.is_none());
    let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
    assert_eq!(counts.received, 40);
    for pair in records.windows(2) {
        let gap = pair[1].incoming.unwrap().end - pair[0].incoming.unwrap().end;
        // Received frames are taken before sending, a few µs of simulated time.
        assert!(gap.abs_diff(500_000) <= 5_000, "{gap}");
    }
    assert!(played.behind < 10_000);
}

#[test]
fn a_flood_keeps_the_bus_busy_and_waits_for_room() {
    let mut paper = PaperBench::new(|_| vec![30_000]);
    let (recorder, played) = run(&mut paper, TrafficPattern::Flood, 300);
    assert!(played.failure.is_none());
    assert!(played.stalled > 0);
    let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
    assert_eq!((counts.received, counts.never_in), (300, 0));
    for pair in records.windows(2) {
        let gap = pair[1].incoming.unwrap().end - pair[0].incoming.unwrap().end;
        assert_eq!(gap, paper.duration, "back to back");
    }
}

#[test]
fn an_interface_that_goes_down_ends_the_run_and_keeps_what_was_seen() {
    for pattern in [
        TrafficPattern::OneAtATime,
        TrafficPattern::Period(500_000),
        TrafficPattern::Flood,
    ] {
        let mut paper = PaperBench::new(|_| vec![30_000]);
        paper.down_at = Some(10);
        let (recorder, played) = run(&mut paper, pattern, 100);
        assert!(
            matches!(played.failure, Some(RunFault::Down(_))),
            "{pattern}"
        );
        let counts = counts(&recorder);
        assert!(counts.received >= 4, "{pattern}: {counts:?}");
        assert_eq!(counts.not_tried, 90, "{pattern}: {counts:?}");
    }
}

#[test]
fn a_bus_that_takes_nothing_is_reported_after_a_second() {
    let mut paper = PaperBench::new(|_| vec![30_000]);
    paper.stuck = true;
    let (recorder, played) = run(&mut paper, TrafficPattern::Flood, 100);
    assert!(matches!(played.failure, Some(RunFault::Stuck(_))));
    assert!(played.elapsed >= SECOND && played.elapsed < 3 * SECOND);
    assert_eq!(counts(&recorder).not_tried, 100);
}

#[test]
fn frames_without_a_stamp_get_the_testers_and_are_counted() {
    let mut paper = PaperBench::new(|_| vec![30_000]);
    paper.stamped = false;
    let (recorder, played) = run(&mut paper, TrafficPattern::OneAtATime, 10);
    assert_eq!(played.unstamped, 20);
    assert_eq!(counts(&recorder).received, 10);
}

#[test]
fn error_frames_are_counted_where_they_were_seen() {
    let mut paper = PaperBench::new(|_| vec![30_000]);
    let error = Frame::classic(CanId::from_raw(CanId::ERR_FLAG | 4), &[0; 8]).unwrap();
    paper.see(TesterSide::Send, 0, error);
    paper.see(TesterSide::Receive, 0, error);
    paper.see(TesterSide::Receive, 0, error);
    let (recorder, played) = run(&mut paper, TrafficPattern::Flood, 40);
    assert_eq!(played.error_frames, [1, 0, 2]);
    assert_eq!(counts(&recorder).unexpected, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// With any gateway and any traffic, every frame sent is accounted for as the gateway treated
    /// it.
    #[test]
    fn every_frame_is_accounted_for(
        treated in prop::collection::vec(
            prop_oneof![
                5 => (0u64..400_000).prop_map(|d| vec![d]),
                1 => Just(vec![]),
                1 => (0u64..400_000, 0u64..400_000).prop_map(|(a, b)| vec![a, b]),
            ],
            20..80,
        ),
        kind in 0usize..3,
    ) {
        // Thus a run with one frame at a time is not mistaken for a dead gateway.
        let mut treated = treated;
        treated[0] = vec![10_000];
        let n = treated.len() as u32;
        let copy = treated.clone();
        let mut paper = PaperBench::new(move |i| copy[i as usize].clone());
        let pattern = [TrafficPattern::OneAtATime, TrafficPattern::Period(300_000), TrafficPattern::Flood][kind];
        let (recorder, played) = run(&mut paper, pattern, n);
        prop_assert!(played.failure.is_none());
        let (records, counts) = recorder.finish(LatencyMeasure::Gateway);
        let passed = treated.iter().filter(|t| !t.is_empty()).count() as u64;
        let twice = treated.iter().filter(|t| t.len() > 1).count() as u64;
        prop_assert_eq!(counts.received, passed);
        prop_assert_eq!(counts.lost, u64::from(n) - passed);
        prop_assert_eq!(counts.duplicated, twice);
        for (record, delays) in records.iter().zip(&treated) {
            let least = delays.iter().min().map(|&d| d as i64);
            prop_assert_eq!(record.latency(), least);
        }
    }
}
