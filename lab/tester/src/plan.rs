//! The frames that will be sent, one by one, planned before the first is sent.

use frame::wire::{self, BitRate};
use frame::{CanId, Frame, Nanos};
use probe::traffic::{
    FrameTemplate, MOST_FRAMES, PatternError, SHORTEST_PAYLOAD, TrafficPattern, number_in,
    period_for_load,
};
use std::fmt;
use std::ops::RangeInclusive;

/// Where the frames come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanSource {
    /// The plan generates the frames, and they are sent in this pattern.
    Made(TrafficPattern),
    /// These frames at these times, ns. Their first two payload bytes are replaced by the number.
    Log(Vec<(Nanos, Frame)>),
}

impl From<TrafficPattern> for PlanSource {
    fn from(pattern: TrafficPattern) -> Self {
        Self::Made(pattern)
    }
}

impl fmt::Display for PlanSource {
    /// Formats the source as results name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made(pattern) => pattern.fmt(f),
            Self::Log(_) => f.write_str("replay"),
        }
    }
}

/// The plan of the frames to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestPlan {
    /// Where the frames come from, and when each is sent.
    pub traffic: PlanSource,
    /// Number of frames; a replayed log's own number where that is lower.
    pub frames: u32,
    /// The lowest and the highest identifier; at random where they differ.
    pub ids: (CanId, CanId),
    /// Payload bytes; at random where they differ.
    pub lens: RangeInclusive<usize>,
    /// FD frames, with these flags ([`frame::flags::BRS`]).
    pub fd: Option<u8>,
    /// Seed of identifiers, lengths and payloads.
    pub seed: u64,
    /// Other frames, which the tester sends on the bus on which it receives, at times of the
    /// replayed log's clock. They have no number and are not measured. Bit-timed buses only.
    pub beside: Vec<(Nanos, Frame)>,
}

impl Default for TestPlan {
    /// The papers' first experiment: one frame at a time, 4 bytes.
    fn default() -> Self {
        let id = CanId::from_raw(0x123);
        Self {
            traffic: TrafficPattern::OneAtATime.into(),
            frames: 1_000,
            ids: (id, id),
            lens: 4..=4,
            fd: None,
            seed: 1,
            beside: Vec::new(),
        }
    }
}

/// A plan that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A payload too short for the number.
    #[error(
        "{0} bytes of payload are too short for the frame's number, which takes the first two: \
         give at least {SHORTEST_PAYLOAD}"
    )]
    Short(usize),
    /// A payload longer than this kind of frame carries.
    #[error("{0}; longer ones need FD frames, which carry up to 64")]
    Length(#[from] frame::LengthError),
    /// Identifiers that are not a valid range.
    #[error(transparent)]
    Ids(#[from] probe::traffic::IdRangeError),
    /// No frame, or more frames than a run can have.
    #[error("{0} frames: a run has 1 to {MOST_FRAMES}")]
    Frames(u32),
    /// A load or a period out of its limits.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A load of a bus whose bit rate is not known.
    #[error(
        "bus load is a share of the bus's time, and its bit rate is not known: give it, or a period"
    )]
    NoRate,
    /// Frames would come faster than the bus can carry them.
    #[error(
        "a period of {period} ns is shorter than the longest frame, which takes the bus {frame} ns \
         with its intermission: give a longer one, or flood the bus"
    )]
    Period {
        /// The period that was requested, ns.
        period: Nanos,
        /// Time that the longest frame takes, ns.
        frame: Nanos,
    },
    /// A log without a frame that can be numbered.
    #[error("the log has no data frame of at least {SHORTEST_PAYLOAD} bytes, to hold a number")]
    Nothing,
}

/// One frame of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFrame {
    /// Time at which the frame must be sent, ns after the start; 0 for traffic that is paced by the
    /// bus or by the frames that come back.
    pub at: Nanos,
    /// The frame; the number in its first two bytes is its place in the plan, modulo 65536.
    pub frame: Frame,
}

impl TestPlan {
    /// Returns all frames of the plan. `rate` is the bit rate of the incoming bus, if frames take
    /// time on it: it is needed for [`TrafficPattern::Load`], and to refuse a
    /// [`TrafficPattern::Period`] that the bus cannot keep.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn frames(&self, rate: Option<BitRate>) -> Result<Vec<PlannedFrame>, PlanError> {
        if !(1..=MOST_FRAMES).contains(&self.frames) {
            return Err(PlanError::Frames(self.frames));
        }
        let pattern = match &self.traffic {
            PlanSource::Log(log) => return self.replayed(log),
            PlanSource::Made(pattern) => pattern.check()?,
        };
        if *self.lens.start() < SHORTEST_PAYLOAD {
            return Err(PlanError::Short(*self.lens.start()));
        }
        let first = self.ids.0;
        let longest = *self.lens.end();
        let template = match self.fd {
            None => FrameTemplate::classic(first, longest, self.seed)?,
            Some(flags) => FrameTemplate::fd(first, longest, flags, self.seed)?,
        };
        let template = template
            .with_ids(first, self.ids.1)?
            .with_lens(self.lens.clone())?;
        let mut planned = Vec::with_capacity(self.frames as usize);
        let mut at = 0;
        for frame in template.take(self.frames as usize) {
            planned.push(PlannedFrame { at, frame });
            at += pause(pattern, &frame, rate)?;
        }
        Ok(planned)
    }

    /// Returns the time from the earliest of all frames to the first one of [`TestPlan::frames`],
    /// and the frames of [`TestPlan::beside`] with their times after the earliest, ns.
    pub(crate) fn together(&self) -> (Nanos, Vec<(Nanos, Frame)>) {
        let first = match &self.traffic {
            PlanSource::Log(log) => log
                .iter()
                .find(|(_, frame)| can_be_numbered(frame))
                .map(|(at, _)| *at),
            PlanSource::Made(_) => None,
        };
        let first = first.unwrap_or(0);
        let beside = self.beside.iter().map(|(at, _)| *at);
        let earliest = beside.min().map_or(first, |at| at.min(first));
        let since = |(at, frame): &(Nanos, Frame)| (at - earliest, *frame);
        let mut beside: Vec<(Nanos, Frame)> = self.beside.iter().map(since).collect();
        beside.sort_by_key(|(at, _)| *at);
        (first - earliest, beside)
    }

    fn replayed(&self, log: &[(Nanos, Frame)]) -> Result<Vec<PlannedFrame>, PlanError> {
        let mut planned: Vec<PlannedFrame> =
            Vec::with_capacity(log.len().min(self.frames as usize));
        let mut first = None;
        let mut last = 0;
        for (stamp, frame) in log.iter().filter(|(_, frame)| can_be_numbered(frame)) {
            if planned.len() >= self.frames as usize {
                break;
            }
            let since = stamp.saturating_sub(*first.get_or_insert(*stamp));
            last = since.max(last);
            let mut frame = *frame;
            let number = (planned.len() as u16).to_be_bytes();
            if let Some(bytes) = frame.data_mut().first_chunk_mut::<2>() {
                *bytes = number;
            }
            planned.push(PlannedFrame { at: last, frame });
        }
        if planned.is_empty() {
            return Err(PlanError::Nothing);
        }
        Ok(planned)
    }
}

/// Returns the time from one frame to the next.
fn pause(
    pattern: TrafficPattern,
    frame: &Frame,
    rate: Option<BitRate>,
) -> Result<Nanos, PlanError> {
    let duration = rate.and_then(|rate| on_the_bus(frame, rate));
    match pattern {
        TrafficPattern::Period(period) => match duration {
            Some(frame) if frame > period => Err(PlanError::Period { period, frame }),
            _ => Ok(period),
        },
        TrafficPattern::Load(percent) => {
            let duration = duration.ok_or(PlanError::NoRate)?;
            Ok(period_for_load(duration, percent))
        }
        TrafficPattern::OneAtATime | TrafficPattern::Flood => Ok(0),
    }
}

/// Returns whether the frame has room for a number.
#[must_use]
pub fn can_be_numbered(frame: &Frame) -> bool {
    let id = frame.id();
    !id.is_err() && !id.is_rtr() && number_in(frame.data(), 0).is_some()
}

/// Returns the time for which a frame occupies the bus, intermission included, ns.
fn on_the_bus(frame: &Frame, rate: BitRate) -> Option<Nanos> {
    Some(wire::length(frame.view())?.duration(rate, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate() -> BitRate {
        BitRate::new(500_000, None).unwrap()
    }

    fn plan(traffic: impl Into<PlanSource>) -> TestPlan {
        TestPlan {
            traffic: traffic.into(),
            frames: 100,
            ..TestPlan::default()
        }
    }

    #[test]
    fn half_load_keeps_the_bus_busy_for_half_the_time() {
        let mut plan = plan(TrafficPattern::Load(50));
        plan.lens = 2..=8;
        plan.ids.1 = CanId::from_raw(0x7FF);
        let frames = plan.frames(Some(rate())).unwrap();
        let busy: Nanos = frames[..99]
            .iter()
            .map(|p| on_the_bus(&p.frame, rate()).unwrap())
            .sum();
        assert_eq!(frames[99].at, 2 * busy);
    }

    #[test]
    fn a_period_that_the_bus_cannot_keep_is_refused() {
        let error = plan(TrafficPattern::Period(100_000)).frames(Some(rate()));
        assert!(matches!(
            error,
            Err(PlanError::Period {
                period: 100_000,
                ..
            })
        ));
        let frames = plan(TrafficPattern::Period(100_000)).frames(None).unwrap();
        assert_eq!(frames[7].at, 700_000);
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused() {
        let with = |change: fn(&mut TestPlan)| {
            let mut plan = plan(TrafficPattern::Flood);
            change(&mut plan);
            plan.frames(None).unwrap_err()
        };
        assert_eq!(with(|p| p.lens = 1..=4), PlanError::Short(1));
        assert!(matches!(with(|p| p.lens = 2..=9), PlanError::Length(_)));
        assert_eq!(with(|p| p.frames = 0), PlanError::Frames(0));
        assert_eq!(
            with(|p| p.frames = MOST_FRAMES + 1),
            PlanError::Frames(MOST_FRAMES + 1)
        );
        assert_eq!(
            with(|p| p.traffic = TrafficPattern::Load(50).into()),
            PlanError::NoRate
        );
        assert!(matches!(
            with(|p| p.traffic = TrafficPattern::Load(0).into()),
            PlanError::Pattern(PatternError::Load(_))
        ));
        assert!(matches!(
            with(|p| p.traffic = TrafficPattern::Period(0).into()),
            PlanError::Pattern(PatternError::Period(_))
        ));
        assert!(matches!(
            with(|p| p.ids.1 = CanId::from_raw(1)),
            PlanError::Ids(_)
        ));
    }

    #[test]
    fn a_log_is_numbered_and_what_has_no_room_left_out() {
        let frame = |id, data: &[u8]| Frame::classic(CanId::from_raw(id), data).unwrap();
        let log = vec![
            (1_000, frame(1, &[9, 9, 9])),
            (1_500, frame(2, &[9])),
            (1_700, Frame::remote(CanId::from_raw(3), 4).unwrap()),
            (2_000, frame(4, &[7, 7])),
            (1_900, frame(5, &[7, 7])),
        ];
        let frames = plan(PlanSource::Log(log.clone())).frames(None).unwrap();
        let words: Vec<_> = frames.iter().map(|p| (p.at, p.frame.to_string())).collect();
        let expected = [(0, "001#000009"), (1_000, "004#0001"), (1_000, "005#0002")];
        assert_eq!(words, expected.map(|(at, text)| (at, text.to_owned())));
        let short = plan(PlanSource::Log(log[1..2].to_vec()));
        assert_eq!(short.frames(None), Err(PlanError::Nothing));
    }

    #[test]
    fn frames_beside_keep_their_distance_from_those_of_the_log() {
        let frame = |id| Frame::classic(CanId::from_raw(id), &[1, 2]).unwrap();
        let with = |beside: Vec<(Nanos, Frame)>| TestPlan {
            beside,
            ..plan(PlanSource::Log(vec![(5_000, frame(1)), (7_000, frame(2))]))
        };
        assert_eq!(with(vec![]).together(), (0, vec![]));
        let late = with(vec![(9_000, frame(4)), (6_000, frame(3))]);
        let beside = vec![(1_000, frame(3)), (4_000, frame(4))];
        assert_eq!(late.together(), (0, beside));
        let early = with(vec![(4_000, frame(3))]);
        assert_eq!(early.together(), (1_000, vec![(0, frame(3))]));
    }

    #[test]
    fn a_log_is_named_a_replay() {
        assert_eq!(PlanSource::Log(vec![]).to_string(), "replay");
        assert_eq!(
            PlanSource::from(TrafficPattern::Load(50)).to_string(),
            "load:50"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Each frame carries its place, times never go back, and no frame waits for the bus.
        #[test]
        fn schedules_add_up(percent in 1u8..=100, low in 2usize..9, more in 0usize..7, seed: u64) {
            let plan = TestPlan {
                traffic: TrafficPattern::Load(percent).into(),
                lens: low..=(low + more).min(8),
                frames: 300,
                seed,
                ..TestPlan::default()
            };
            let frames = plan.frames(Some(rate())).unwrap();
            prop_assert_eq!(frames.len(), 300);
            for (i, pair) in frames.windows(2).enumerate() {
                prop_assert_eq!(number_in(pair[0].frame.data(), 0), Some(i as u16));
                let duration = on_the_bus(&pair[0].frame, rate()).unwrap();
                let gap = pair[1].at - pair[0].at;
                prop_assert!(gap >= duration);
                // A whole nanosecond is the most that rounding adds.
                prop_assert!(gap * u64::from(percent) < (duration + 1) * 100 + u64::from(percent));
            }
        }
    }
}
