//! The time at which a line of a log is due, even if its time stamps go back.

use super::origin::TimeOrigin;
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
    fn another_recording_follows_without_a_pause() {
        let old = 10_000_000_000;
        let stamps = [old, old + 100, 70, 90];
        assert_eq!(
            dues(&stamps, ReplaySpeed::Original),
            [1_000, 1_100, 1_100, 1_120]
        );
    }
}
