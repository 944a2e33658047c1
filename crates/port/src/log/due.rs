//! The time at which a line of a log is due, even if its time stamps go back.

use super::origin::TimeOrigin;
use super::rounds::RoundPlan;
use crate::SourcePace;
use frame::Nanos;
use std::sync::Arc;

/// Maximum step back in a log's time within one recording, ns. A larger step back begins another
/// recording, and a larger step forward can lead back to the previous one.
const REORDERED: Nanos = 1_000_000_000;

/// The speed at which a log is replayed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum ReplaySpeed {
    /// With the log's own timing.
    #[default]
    Original,
    /// Faster by this factor, within [`SourcePace::SPEEDS`].
    Scaled(f64),
    /// As fast as the frames are taken.
    Fast,
}

/// The time at which the next frame is due.
#[derive(Default)]
pub(super) struct NextDue {
    /// That time on the clock; 0 means at once.
    pub(super) at: Nanos,
    pace: Option<SourcePace>,
    /// Start of time; `None`: the first frame.
    origin: Option<Arc<TimeOrigin>>,
    /// The log's time without its steps back.
    played: Nanos,
    /// The latest stamp of the present recording.
    latest: Nanos,
    /// A recording whose stamps are ahead of the present one's: its latest stamp, and the value of
    /// `played` at that point.
    ahead: Option<(Nanos, Nanos)>,
    /// The rounds, if the log is repeated.
    rounds: Option<RoundPlan>,
    /// The number of rounds that have ended.
    done: u64,
    /// Whether the next frame is the first one of a round.
    restarts: bool,
    /// Number of stamps that were earlier than the latest one before them.
    pub(super) steps_back: u64,
}

impl NextDue {
    /// Makes one whose time begins at this origin.
    pub(super) fn new(origin: Option<Arc<TimeOrigin>>) -> Self {
        Self {
            origin,
            ..Self::default()
        }
    }

    /// Repeats the log by this plan.
    pub(super) fn repeat(&mut self, plan: RoundPlan) {
        if let Some(origin) = &self.origin {
            origin.note_last(plan.span.last);
        }
        self.rounds = Some(plan);
    }

    /// Begins the next round, if another one follows.
    pub(super) fn begin_round(&mut self) -> bool {
        self.done += 1;
        let plan = self.rounds;
        self.restarts = plan.is_some_and(|plan| plan.rounds.has_more(self.done));
        self.ahead = None;
        self.restarts
    }

    /// Returns the number of rounds that have ended.
    pub(super) const fn rounds_done(&self) -> u64 {
        self.done
    }

    /// Returns the time from the first round to the present one, ns.
    pub(super) fn shift(&self) -> Nanos {
        let Some(plan) = self.rounds else { return 0 };
        let origin = self.origin.as_ref().filter(|origin| origin.is_shared());
        let (first, last) = match origin {
            Some(origin) => (origin.first(), origin.last()),
            None => (plan.span.first, plan.span.last),
        };
        let period = last.saturating_sub(first).saturating_add(plan.pause);
        self.done.saturating_mul(period)
    }

    /// Returns the log's time of the last frame, without its steps back.
    pub(super) const fn played(&self) -> Nanos {
        self.played
    }

    /// Returns whether other ports count from the same moment. Then frames that this one does not
    /// take count, too, so that steps back in time are the same for all of them.
    pub(super) fn is_shared(&self) -> bool {
        self.origin
            .as_ref()
            .is_some_and(|origin| origin.is_shared())
    }

    /// Returns the time from the start of the earliest log to the start of this one, whose first
    /// stamp is `first`, ns.
    pub(super) fn behind(&self, first: Nanos) -> Nanos {
        let origin = self.origin.as_ref().filter(|origin| origin.is_shared());
        origin.map_or(0, |origin| first.saturating_sub(origin.first()))
    }

    /// Computes the due time of the next frame, which has this stamp.
    pub(super) fn next(&mut self, now: Nanos, stamp: Nanos, replay: ReplaySpeed) {
        let pace = *self.pace.get_or_insert_with(|| {
            self.played = stamp;
            self.latest = stamp;
            let speed = match replay {
                ReplaySpeed::Scaled(speed) => speed,
                ReplaySpeed::Original | ReplaySpeed::Fast => 1.0,
            };
            let begun = self.origin.as_ref();
            let (now, first) = begun.map_or((now, stamp), |origin| origin.begin(now, stamp));
            SourcePace::scaled(now, first, speed).unwrap_or(SourcePace::real_time(now, first))
        });
        if std::mem::take(&mut self.restarts) {
            self.played = stamp.saturating_add(self.shift());
            self.latest = stamp;
        }
        match stamp.checked_sub(self.latest) {
            Some(gap) => {
                self.played = match self.ahead {
                    // Back in the previous recording: a single wrong stamp, or two clocks in turn.
                    // The replay never waited for the time that this step forward skips.
                    Some((latest, played)) if gap > REORDERED && stamp >= latest => {
                        self.ahead = None;
                        self.played.max(played.saturating_add(stamp - latest))
                    }
                    _ => self.played.saturating_add(gap),
                };
                self.latest = stamp;
            }
            None => {
                self.steps_back += 1;
                if self.latest - stamp > REORDERED {
                    if self.ahead.is_none_or(|(latest, _)| latest < self.latest) {
                        self.ahead = Some((self.latest, self.played));
                    }
                    self.latest = stamp;
                }
            }
        }
        self.at = match replay {
            ReplaySpeed::Fast => 0,
            ReplaySpeed::Original | ReplaySpeed::Scaled(_) => pace.to_clock(self.played),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounds::{LogRounds, LogSpan};
    use super::*;

    fn dues(stamps: &[Nanos], replay: ReplaySpeed) -> Vec<Nanos> {
        let mut due = NextDue::default();
        let next = |stamp: &Nanos| {
            due.next(1_000, *stamp, replay);
            due.at
        };
        stamps.iter().map(next).collect()
    }

    #[test]
    fn original_scaled_and_fast() {
        let stamps = [5_000, 5_010, 5_100];
        assert_eq!(dues(&stamps, ReplaySpeed::Original), [1_000, 1_010, 1_100]);
        assert_eq!(
            dues(&stamps, ReplaySpeed::Scaled(0.5)),
            [1_000, 1_020, 1_200]
        );
        assert_eq!(dues(&stamps, ReplaySpeed::Fast), [0, 0, 0]);
    }

    #[test]
    fn a_frame_out_of_order_delays_no_other() {
        let stamps = [5_000, 5_100, 5_050, 5_200];
        assert_eq!(
            dues(&stamps, ReplaySpeed::Original),
            [1_000, 1_100, 1_100, 1_200]
        );
    }

    /// Checks that, for any steps back of the stamps, the replay takes no longer than the time from
    /// the log's first stamp to its latest one.
    #[test]
    fn stamps_that_go_back_do_not_make_the_replay_longer() {
        const S: Nanos = 1_000_000_000;
        let at = |tenths: u64| tenths * S / 10;
        // One stamp of a clock that was not set yet.
        let one = [at(10_000), at(20), at(10_001), at(10_002)];
        // Two interfaces with clocks of their own.
        let two = [
            at(10_000),
            at(50),
            at(51),
            at(10_002),
            at(52),
            at(10_003),
            at(10_004),
            at(54),
            at(55),
            at(56),
            at(10_007),
        ];
        for (stamps, tenths) in [(&one[..], 2), (&two, 7)] {
            for (replay, factor) in [(ReplaySpeed::Original, 1), (ReplaySpeed::Scaled(0.5), 2)] {
                let dues = dues(stamps, replay);
                assert!(dues.is_sorted(), "{dues:?}");
                assert_eq!(*dues.last().unwrap(), 1_000 + factor * at(tenths));
            }
        }
    }

    #[test]
    fn a_round_begins_a_pause_after_the_last_frame() {
        let plan = RoundPlan {
            rounds: LogRounds::Number(3),
            pause: 50,
            span: LogSpan {
                first: 5_000,
                last: 5_100,
            },
        };
        let mut due = NextDue::default();
        due.repeat(plan);
        let mut dues = Vec::new();
        loop {
            for stamp in [5_000, 5_100, 5_090] {
                due.next(1_000, stamp, ReplaySpeed::Scaled(0.5));
                dues.push(due.at);
            }
            if !due.begin_round() {
                break;
            }
        }
        let round = |at| [at, at + 200, at + 200];
        assert_eq!(dues, [round(1_000), round(1_300), round(1_600)].concat());
        assert_eq!((due.rounds_done(), due.shift()), (3, 450));
    }

    #[test]
    fn another_recording_follows_without_a_pause() {
        let old = 10_000_000_000;
        let stamps = [old, old + 100, 70, 90];
        assert_eq!(
            dues(&stamps, ReplaySpeed::Original),
            [1_000, 1_100, 1_100, 1_120]
        );
    }
}
