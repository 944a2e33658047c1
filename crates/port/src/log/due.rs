//! When a log's next frame is due.

use super::source::Replay;
use crate::Pace;
use frame::Nanos;

/// A step back in a log's time that is larger begins a new recording.
const REORDERED: Nanos = 1_000_000_000;

/// When the next frame is due.
#[derive(Default)]
pub(super) struct Due {
    /// On the clock; 0 is at once.
    pub(super) at: Nanos,
    pace: Option<Pace>,
    /// The log's time without its steps back.
    played: Nanos,
    /// The latest stamp of the present recording.
    latest: Nanos,
    /// How often the log's time went back.
    pub(super) steps_back: u64,
}

impl Due {
    /// The next frame has this stamp.
    pub(super) fn next(&mut self, now: Nanos, stamp: Nanos, replay: Replay) {
        let pace = *self.pace.get_or_insert_with(|| {
            self.played = stamp;
            self.latest = stamp;
            let speed = match replay {
                Replay::Scaled(speed) => speed,
                Replay::Original | Replay::Fast => 1.0,
            };
            Pace::scaled(now, stamp, speed).unwrap_or(Pace::real_time(now, stamp))
        });
        if stamp >= self.latest {
            self.played = self.played.saturating_add(stamp - self.latest);
            self.latest = stamp;
        } else {
            self.steps_back += 1;
            if self.latest - stamp > REORDERED {
                self.latest = stamp;
            }
        }
        self.at = match replay {
            Replay::Fast => 0,
            Replay::Original | Replay::Scaled(_) => pace.to_clock(self.played),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(stamps: &[Nanos], replay: Replay) -> Vec<Nanos> {
        let mut due = Due::default();
        let next = |stamp: &Nanos| {
            due.next(1_000, *stamp, replay);
            due.at
        };
        stamps.iter().map(next).collect()
    }

    #[test]
    fn original_scaled_and_fast() {
        let stamps = [5_000, 5_010, 5_100];
        assert_eq!(dues(&stamps, Replay::Original), [1_000, 1_010, 1_100]);
        assert_eq!(dues(&stamps, Replay::Scaled(0.5)), [1_000, 1_020, 1_200]);
        assert_eq!(dues(&stamps, Replay::Fast), [0, 0, 0]);
    }

    #[test]
    fn a_frame_out_of_order_delays_nobody() {
        let stamps = [5_000, 5_100, 5_050, 5_200];
        assert_eq!(
            dues(&stamps, Replay::Original),
            [1_000, 1_100, 1_100, 1_200]
        );
    }

    #[test]
    fn another_recording_follows_without_a_pause() {
        let old = 10_000_000_000;
        let stamps = [old, old + 100, 70, 90];
        assert_eq!(
            dues(&stamps, Replay::Original),
            [1_000, 1_100, 1_100, 1_120]
        );
    }
}
