//! The sender's clock, as far as arrivals show it.

use frame::Nanos;

/// Number of parts of the window, of one second of traffic each.
const PARTS: usize = 10;

/// Length of a part, ns.
const PART: Nanos = 1_000_000_000;

/// The offset follows the window's least transit by at most 1/5000 of the time (200 ppm), so that
/// two clocks of 50 ppm each are followed, and gaps between frames change by as little.
const SLEW: Nanos = 5000;

/// The offset follows for this time at once, ns; a longer silence counts as this.
const LONGEST_STEP: Nanos = 100_000_000;

/// The greatest change of the offset that is no step, ns.
pub(super) const LARGEST_SLEW: i128 = (LONGEST_STEP / SLEW) as i128;

/// Finds the offset between two clocks as the least time between stamp and arrival.
///
/// The least one of a window of ten seconds is followed slowly; at the beginning (one second), and
/// if it is far away, at once. The window moves on with the traffic only: frames that arrive late
/// after a silence do not look fresh.
#[derive(Clone, Debug)]
pub(super) struct TransitClock {
    /// The least transit of each part.
    least: [i128; PARTS],
    part: usize,
    part_began: Nanos,
    /// The offset in force; `None` before the first frame.
    offset: Option<i128>,
    began: Nanos,
    /// Time up to which the offset has followed.
    followed: Nanos,
    /// A greater change is a step, ns.
    step: i128,
    /// The sender has begun anew: the parts before this one do not count when it is over.
    restarted: bool,
}

impl TransitClock {
    pub(super) const fn new(step: Nanos) -> Self {
        Self {
            least: [i128::MAX; PARTS],
            part: 0,
            part_began: 0,
            offset: None,
            began: 0,
            followed: 0,
            step: step as i128,
            restarted: false,
        }
    }

    /// Returns the time that is added to a stamp to get the gateway's time; `None` before the first
    /// frame.
    pub(super) const fn offset(&self) -> Option<i128> {
        self.offset
    }

    /// Returns whether the offset follows each frame at once: in the first second.
    pub(super) const fn is_new(&self, now: Nanos) -> bool {
        self.offset.is_none() || now.saturating_sub(self.began) < PART
    }

    /// The sender began anew, perhaps with another clock.
    pub(super) fn restart(&mut self, now: Nanos) {
        if self.offset.is_some() {
            self.move_on(now);
            self.restarted = true;
        }
    }

    fn move_on(&mut self, now: Nanos) {
        if std::mem::take(&mut self.restarted) {
            let newest = self.least[self.part];
            self.least.fill(i128::MAX);
            self.least[self.part] = newest;
        }
        self.part = (self.part + 1) % PARTS;
        self.least[self.part] = i128::MAX;
        self.part_began = now;
    }

    /// Records a frame that arrived this long after its stamp, and returns the offset.
    pub(super) fn observe(&mut self, transit: i128, now: Nanos) -> i128 {
        let Some(offset) = self.offset else {
            self.least[self.part] = transit;
            (self.part_began, self.began, self.followed) = (now, now, now);
            self.offset = Some(transit);
            return transit;
        };
        if now.saturating_sub(self.part_began) >= PART {
            self.move_on(now);
        }
        let least = &mut self.least[self.part];
        *least = transit.min(*least);
        let target = self.least.iter().copied().min().unwrap_or(transit);
        let change = target - offset;
        let elapsed = now.saturating_sub(self.followed).min(LONGEST_STEP);
        let most = i128::from(elapsed / SLEW);
        let change = if self.is_new(now) || change.abs() > self.step {
            change
        } else {
            change.clamp(-most, most)
        };
        // Times that are too short for a change add up.
        if change != 0 || most > 0 {
            self.followed = now;
        }
        self.offset = Some(offset + change);
        offset + change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn the_first_second_finds_the_least_transit() {
        let mut clock = TransitClock::new(10 * MS);
        let offsets = [9, 12, 7, 8].map(|transit| clock.observe(transit, 0));
        assert_eq!(offsets, [9, 9, 7, 7]);
    }

    /// Two clocks that drift apart by 100 ppm: the offset follows within half a microsecond, and
    /// within the drift over the window.
    #[test]
    fn a_drift_is_followed_without_steps() {
        for sign in [-1, 1] {
            let mut clock = TransitClock::new(10 * MS);
            let mut before = clock.observe(0, 0);
            for step in 1..=60_000_u64 {
                let now = step * MS;
                let transit = sign * i128::from(now / 10_000);
                let offset = clock.observe(transit, now);
                assert!((offset - before).abs() <= 200, "{step}");
                // The window is ten seconds old at most: 1 ms at 100 ppm.
                assert!((offset - transit).abs() <= 1_100_000, "{step} {offset}");
                before = offset;
            }
        }
    }

    #[test]
    fn old_frames_after_a_silence_do_not_look_fresh() {
        let second = 1000 * MS;
        let mut clock = TransitClock::new(10 * MS);
        for n in 0..20 {
            clock.observe(5 * i128::from(MS), n * second);
        }
        // Thirty seconds without traffic, then a backlog.
        let late = i128::from(30 * second);
        assert!(clock.observe(late, 50 * second) < i128::from(6 * MS));
        assert!(clock.observe(late, 58 * second) < i128::from(6 * MS));
        // The path is really that long: after the window, it is believed.
        for n in 59..70 {
            clock.observe(late, n * second);
        }
        assert_eq!(clock.offset(), Some(late));
    }

    /// After a restart with another clock, a second is enough.
    #[test]
    fn a_new_clock_counts_after_a_second() {
        let second = 1000 * MS;
        let mut clock = TransitClock::new(10 * MS);
        clock.observe(0, 0);
        clock.observe(0, 20 * second);
        clock.restart(20 * second);
        let late = i128::from(100 * second);
        assert!(clock.observe(late, 20 * second) < i128::from(MS));
        assert!(clock.observe(late, 21 * second - 1) < i128::from(MS));
        assert_eq!(clock.observe(late, 21 * second), late);
    }
}
