//! The step that offers each frame at its time.

use super::{FrameSource, FrameTarget, NextFrame, OfferAnswer};
use console::Failure;
use frame::{FrameBuf, FrameRef, Nanos};
use std::collections::VecDeque;

/// The most frames that are offered in one step: between two steps, the destination is served, and
/// a signal is noticed.
const BATCH: usize = 64;

/// The fates of the frames of a sender, until they were taken: their sum is the number of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SendCounts {
    /// Frames that were due.
    pub(crate) frames: u64,
    /// Frames that the destination took.
    pub(crate) taken: u64,
    /// Frames that the destination cannot carry.
    pub(crate) unsupported: u64,
    /// Frames that found no room in time.
    pub(crate) full: u64,
    /// Frames for which the destination was down until their time was over.
    pub(crate) down: u64,
    /// Times between when a frame was due and when it was taken.
    pub(crate) late: LateTimes,
}

/// How late frames were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LateTimes {
    sum: u128,
    /// The longest time, ns.
    pub(crate) max: Nanos,
}

impl LateTimes {
    fn add(&mut self, late: Nanos) {
        self.sum += u128::from(late);
        self.max = self.max.max(late);
    }

    /// Returns the mean of this many frames, ns.
    pub(crate) fn mean(&self, frames: u64) -> Nanos {
        let mean = self.sum.checked_div(frames.into()).unwrap_or(0);
        Nanos::try_from(mean).unwrap_or(Nanos::MAX)
    }
}

/// The time of the next step of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextStep {
    /// At this time, or earlier if the destination has news.
    At(Nanos),
    /// When the source has input.
    Input,
    /// Never: all frames have their fate.
    Done,
}

/// Offers the frames of a source to a target, each at its time, in their order. A frame without
/// room is offered again until its timeout is over; those behind it wait.
pub(crate) struct FrameSender {
    timeout: Nanos,
    /// The frames that have no fate yet: those that the target can take at once.
    begun: VecDeque<BegunFrame>,
    /// Buffers for further ones.
    #[expect(
        clippy::vec_box,
        reason = "buffers of 2 KiB move between the two lists"
    )]
    spare: Vec<Box<FrameBuf>>,
    /// The answer to the first of them, if it was offered.
    refusal: Option<OfferAnswer>,
    counts: SendCounts,
    /// No further frames are begun.
    is_ended: bool,
}

/// A frame without a fate.
struct BegunFrame {
    /// Its time; `None` until those before it have their fates, where it has no time of its own.
    due: Option<Nanos>,
    frame: Box<FrameBuf>,
}

impl BegunFrame {
    /// Returns whether its time has come.
    fn is_due(&self, now: Nanos) -> bool {
        self.due.is_none_or(|due| due <= now)
    }
}

impl FrameSender {
    /// Creates a sender that gives a frame up this time after it was due, ns.
    pub(crate) const fn new(timeout: Nanos) -> Self {
        Self {
            timeout,
            begun: VecDeque::new(),
            spare: Vec::new(),
            refusal: None,
            counts: SendCounts {
                frames: 0,
                taken: 0,
                unsupported: 0,
                full: 0,
                down: 0,
                late: LateTimes { sum: 0, max: 0 },
            },
            is_ended: false,
        }
    }

    /// Returns the fates so far.
    pub(crate) const fn counts(&self) -> SendCounts {
        self.counts
    }

    /// Begins no further frame. The one that was offered and found no room has its fate now: it was
    /// not sent in time. One that was not offered is not a frame of the run.
    pub(crate) fn end(&mut self) {
        self.is_ended = true;
        self.begun.clear();
        let Some(refusal) = self.refusal.take() else {
            return;
        };
        self.counts.frames += 1;
        match refusal {
            OfferAnswer::Down => self.counts.down += 1,
            _ => self.counts.full += 1,
        }
    }

    /// Offers the frames whose time has come, up to [`BATCH`].
    ///
    /// # Errors
    /// The target cannot go on.
    pub(crate) fn step(
        &mut self,
        clock: &mut dyn FnMut() -> Nanos,
        source: &mut dyn FrameSource,
        target: &mut dyn FrameTarget,
    ) -> Result<NextStep, Failure> {
        let mut offered = 0;
        let mut answers = Vec::new();
        while !self.is_ended {
            let now = clock();
            let next = self.begin(now, source, target.most());
            let due = self.begun.iter().take_while(|begun| begun.is_due(now));
            let due: Vec<FrameRef<'_>> = due.map(|begun| begun.frame.view()).collect();
            if due.is_empty() {
                return Ok(match (self.begun.front(), next) {
                    (Some(begun), _) => NextStep::At(begun.due.unwrap_or(now)),
                    (None, NextFrame::Later) => NextStep::Input,
                    (None, _) => NextStep::Done,
                });
            }
            if offered >= BATCH {
                return Ok(NextStep::At(now));
            }
            offered += due.len();
            answers.clear();
            target.offer(now, &due, &mut answers)?;
            for answer in &answers {
                if let Some(end) = self.book(now, *answer) {
                    let again = now.saturating_add(target.again());
                    return Ok(NextStep::At(end.min(again)));
                }
            }
        }
        Ok(NextStep::Done)
    }

    /// Takes frames from the source as long as their time has come, `most` at once; one that comes
    /// later is the last. Returns the last answer of the source.
    fn begin(&mut self, now: Nanos, source: &mut dyn FrameSource, most: usize) -> NextFrame {
        let mut next = NextFrame::Due(now);
        while self.begun.len() < most && self.begun.back().is_none_or(|last| last.is_due(now)) {
            let mut frame = self.spare.pop().unwrap_or_default();
            next = source.next(now, &mut frame);
            let due = match next {
                NextFrame::Due(due) => Some(due),
                NextFrame::Now => None,
                NextFrame::Later | NextFrame::End => {
                    self.spare.push(frame);
                    break;
                }
            };
            self.begun.push_back(BegunFrame { due, frame });
        }
        self.time_first(now);
        next
    }

    /// Sets the time of the first frame, if it has none: it does not begin while others wait.
    fn time_first(&mut self, now: Nanos) {
        if let Some(first) = self.begun.front_mut() {
            first.due.get_or_insert(now);
        }
    }

    /// Counts the answer to the first frame. Returns the end of its time if it waits.
    fn book(&mut self, now: Nanos, answer: OfferAnswer) -> Option<Nanos> {
        let BegunFrame { due, frame } = self.begun.pop_front()?;
        let due = due.unwrap_or(now);
        let counts = &mut self.counts;
        let end = due.saturating_add(self.timeout);
        match answer {
            OfferAnswer::Taken => {
                counts.taken += 1;
                counts.late.add(now.saturating_sub(due));
            }
            OfferAnswer::Unsupported => counts.unsupported += 1,
            OfferAnswer::Full if now >= end => counts.full += 1,
            OfferAnswer::Down if now >= end => counts.down += 1,
            OfferAnswer::Full | OfferAnswer::Down => {
                let due = Some(due);
                self.begun.push_front(BegunFrame { due, frame });
                self.refusal = Some(answer);
                return Some(end);
            }
        }
        counts.frames += 1;
        self.refusal = None;
        self.spare.push(frame);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FrameMaker, FrameRounds, TargetTotals};
    use super::*;
    use frame::Frame;
    use linux::PollSet;
    use proptest::prelude::*;

    /// A target that answers as it is told, and notes when each frame was taken.
    #[derive(Default)]
    struct ToldTarget {
        answers: Vec<OfferAnswer>,
        taken: Vec<(Nanos, String)>,
        /// The most frames at once; 0 is 1.
        most: usize,
    }

    impl FrameTarget for ToldTarget {
        fn offer(
            &mut self,
            now: Nanos,
            frames: &[FrameRef<'_>],
            answers: &mut Vec<OfferAnswer>,
        ) -> Result<(), Failure> {
            assert!((1..=self.most()).contains(&frames.len()));
            for frame in frames {
                let answer = self.answers.pop().unwrap_or(OfferAnswer::Taken);
                if answer == OfferAnswer::Taken {
                    self.taken.push((now, frame.to_string()));
                }
                answers.push(answer);
                if answer.is_waiting() {
                    break;
                }
            }
            Ok(())
        }

        fn most(&self) -> usize {
            self.most.max(1)
        }

        fn serve(&mut self, _: Nanos) -> Result<Option<Nanos>, Failure> {
            Ok(None)
        }

        fn wait(&self, _: &mut PollSet) {}

        fn totals(&self) -> TargetTotals {
            TargetTotals::default()
        }
    }

    fn rounds(frames: &[&str], period: Nanos, rounds: u64) -> FrameRounds {
        let fixed = |text: &&str| {
            let frame: Frame = text.parse().unwrap();
            let mut buffer = FrameBuf::new();
            buffer.set(frame.view());
            FrameMaker::Fixed(Box::new(buffer))
        };
        FrameRounds::new(frames.iter().map(fixed).collect(), period, Some(rounds))
    }

    /// Runs to the end; each wait takes `oversleep` longer than asked.
    fn run(
        sender: &mut FrameSender,
        source: &mut FrameRounds,
        target: &mut ToldTarget,
        oversleep: Nanos,
    ) {
        let mut now = 1_000;
        loop {
            match sender.step(&mut || now, source, target).unwrap() {
                NextStep::At(at) => now = at.max(now) + oversleep,
                NextStep::Input => panic!("rounds need no input"),
                NextStep::Done => return,
            }
        }
    }

    #[test]
    fn a_period_does_not_drift() {
        let mut sender = FrameSender::new(1_000_000);
        let mut source = rounds(&["123#11", "124#22"], 10_000, 100);
        let mut target = ToldTarget::default();
        run(&mut sender, &mut source, &mut target, 70);
        let times: Vec<Nanos> = target.taken.iter().map(|(at, _)| *at).collect();
        let expected = (0..200).map(|n| 1_000 + n / 2 * 10_000 + if n < 2 { 0 } else { 70 });
        assert_eq!(times, expected.collect::<Vec<_>>());
        let counts = sender.counts();
        assert_eq!((counts.frames, counts.taken), (200, 200));
        assert_eq!((counts.late.max, counts.late.mean(200)), (70, 69));
    }

    #[test]
    fn a_frame_without_room_is_offered_again_and_then_given_up() {
        let again = ToldTarget::default().again();
        let mut sender = FrameSender::new(3 * again);
        let mut source = rounds(&["001#", "002#", "003#", "004#", "005#"], 0, 1);
        // The last answer is the first one: a frame waits once, one until its time is over, which
        // is then over for the next one, too; one is refused.
        let mut target = ToldTarget {
            answers: vec![
                OfferAnswer::Unsupported,
                OfferAnswer::Down,
                OfferAnswer::Full,
                OfferAnswer::Full,
                OfferAnswer::Full,
                OfferAnswer::Taken,
                OfferAnswer::Full,
            ],
            ..ToldTarget::default()
        };
        run(&mut sender, &mut source, &mut target, 0);
        let counts = sender.counts();
        let fates = (counts.taken, counts.full, counts.down, counts.unsupported);
        assert_eq!((counts.frames, fates), (5, (2, 1, 1, 1)));
        assert_eq!(target.taken[0], (1_000 + again, "001#".to_owned()));
        assert_eq!(target.taken[1], (1_000 + 3 * again, "005#".to_owned()));
    }

    #[test]
    fn frames_that_are_due_at_once_are_offered_at_once() {
        let mut sender = FrameSender::new(1_000_000);
        let mut source = rounds(&["001#", "002#", "003#"], 10_000, 2);
        // The second of the first round waits, and the third behind it.
        let mut target = ToldTarget {
            answers: vec![OfferAnswer::Full, OfferAnswer::Taken],
            most: 64,
            ..ToldTarget::default()
        };
        let again = target.again();
        let step = sender.step(&mut || 0, &mut source, &mut target).unwrap();
        assert_eq!((step, target.taken.len()), (NextStep::At(again), 1));
        let step = sender
            .step(&mut || again, &mut source, &mut target)
            .unwrap();
        assert_eq!(step, NextStep::Done);
        let ids: Vec<&str> = target.taken.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(ids, ["001#", "002#", "003#", "001#", "002#", "003#"]);
        assert_eq!(sender.counts().late.max, again);
    }

    /// Frames without times, all of which are there at once.
    struct UntimedFrames(u32);

    impl FrameSource for UntimedFrames {
        fn next(&mut self, _: Nanos, frame: &mut FrameBuf) -> NextFrame {
            match self.0 {
                0 => NextFrame::End,
                _ => {
                    self.0 -= 1;
                    frame.set("123#".parse::<Frame>().unwrap().view());
                    NextFrame::Now
                }
            }
        }
    }

    /// The time of a frame without one begins when those before it have their fates, also if the
    /// target can take many at once.
    #[test]
    fn frames_without_times_do_not_share_the_wait_of_the_first() {
        let mut sender = FrameSender::new(1_000);
        let mut target = ToldTarget {
            answers: vec![OfferAnswer::Full, OfferAnswer::Full, OfferAnswer::Full],
            most: 64,
            ..ToldTarget::default()
        };
        let mut source = UntimedFrames(3);
        let mut step = |now| sender.step(&mut || now, &mut source, &mut target).unwrap();
        assert_eq!(step(0), NextStep::At(1_000));
        // The first one is given up; the second one, which waited behind it, is not.
        assert_eq!(step(1_000), NextStep::At(2_000));
        assert_eq!(step(1_500), NextStep::Done);
        let counts = sender.counts();
        assert_eq!((counts.frames, counts.full, counts.taken), (3, 1, 2));
        assert_eq!(counts.late.max, 500);
    }

    /// Between two steps, a signal is noticed, and the target is served.
    #[test]
    fn a_target_that_always_takes_is_left_after_a_batch() {
        let mut sender = FrameSender::new(1_000);
        let mut source = rounds(&["123#"], 0, 1_000);
        let mut target = ToldTarget::default();
        let step = sender
            .step(&mut || 5_000, &mut source, &mut target)
            .unwrap();
        assert_eq!((step, target.taken.len()), (NextStep::At(5_000), BATCH));
        sender.end();
        let step = sender
            .step(&mut || 5_000, &mut source, &mut target)
            .unwrap();
        assert_eq!(
            (step, sender.counts().frames),
            (NextStep::Done, BATCH as u64)
        );
    }

    #[test]
    fn an_end_on_request_gives_each_frame_a_fate() {
        let mut sender = FrameSender::new(1_000_000);
        let mut source = rounds(&["123#"], 10_000, 5);
        let mut target = ToldTarget::default();
        let step = sender.step(&mut || 0, &mut source, &mut target).unwrap();
        assert_eq!(step, NextStep::At(10_000));
        target.answers = vec![OfferAnswer::Full];
        sender
            .step(&mut || 10_000, &mut source, &mut target)
            .unwrap();
        sender.end();
        let step = sender
            .step(&mut || 20_000, &mut source, &mut target)
            .unwrap();
        assert_eq!(step, NextStep::Done);
        let counts = sender.counts();
        assert_eq!((counts.frames, counts.taken, counts.full), (2, 1, 1));
        // A frame whose time has not come is none of the run.
        let mut sender = FrameSender::new(1_000_000);
        let mut source = rounds(&["123#"], 10_000, 5);
        sender.step(&mut || 0, &mut source, &mut target).unwrap();
        sender.end();
        assert_eq!(sender.counts().frames, 1);
    }

    proptest! {
        /// Whatever a target answers, and however long waits take, the fates add up.
        #[test]
        fn every_frame_has_a_fate(
            answers in prop::collection::vec(prop_oneof![
                Just(OfferAnswer::Taken), Just(OfferAnswer::Full),
                Just(OfferAnswer::Down), Just(OfferAnswer::Unsupported),
            ], 0..200),
            period in 0_u64..1_000_000, number in 1_u64..20, oversleep in 0_u64..2_000_000,
            most in 1_usize..9,
        ) {
            let mut sender = FrameSender::new(500_000);
            let mut source = rounds(&["123#11", "124##1AA"], period, number);
            let mut target = ToldTarget { answers, most, ..ToldTarget::default() };
            run(&mut sender, &mut source, &mut target, oversleep);
            let counts = sender.counts();
            let sum = counts.taken + counts.full + counts.down + counts.unsupported;
            prop_assert_eq!((counts.frames, sum), (2 * number, 2 * number));
            prop_assert_eq!(target.taken.len() as u64, counts.taken);
            // None has overtaken another.
            prop_assert!(target.taken.is_sorted_by_key(|(at, _)| *at));
        }
    }
}
