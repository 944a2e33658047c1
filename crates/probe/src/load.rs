//! Bus load over time.

use frame::Nanos;

/// One window of a [`BusLoad`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadPoint {
    /// The start of the window, ns.
    pub start: Nanos,
    /// The length of the window, ns; the last one may be shorter.
    pub length: Nanos,
    /// The time in the window for which the bus was busy, ns.
    pub busy: Nanos,
}

impl LoadPoint {
    /// Returns the share of the window in which the bus was busy, 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.length == 0 {
            0.0
        } else {
            self.busy as f64 / self.length as f64
        }
    }
}

/// The busy time of a bus, in windows of equal length from time 0. The caller decides which time
/// counts as busy: with intermission or without, with error frames or not.
///
/// Memory is bounded: where a run needs more than [`BusLoad::MAX_WINDOWS`], the length of the
/// windows is doubled, as often as necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusLoad {
    window: Nanos,
    busy: Vec<Nanos>,
    total: Nanos,
}

impl BusLoad {
    /// Maximum number of windows that are kept: an hour and a half in windows of 100 ms.
    pub const MAX_WINDOWS: u64 = 1 << 16;

    /// Creates windows of `window` ns; 0 counts as 1.
    #[must_use]
    pub fn new(window: Nanos) -> Self {
        Self {
            window: window.max(1),
            busy: Vec::new(),
            total: 0,
        }
    }

    /// Adds the time from `start` to `end`, in which the bus was busy. Time that was added before
    /// is counted again, so intervals must not overlap.
    pub fn add(&mut self, start: Nanos, end: Nanos) {
        self.total = self.total.saturating_add(end.saturating_sub(start));
        self.reach(end);
        let mut at = start;
        while at < end {
            let index = at / self.window;
            let window_end = (index + 1).saturating_mul(self.window);
            let until = end.min(window_end);
            let index = index as usize;
            if self.busy.len() <= index {
                self.busy.resize(index + 1, 0);
            }
            self.busy[index] = self.busy[index].saturating_add(until - at);
            at = until;
        }
    }

    /// Makes windows longer until few enough of them reach to `end`.
    fn reach(&mut self, end: Nanos) {
        while end.div_ceil(self.window) > Self::MAX_WINDOWS {
            self.window = self.window.saturating_mul(2);
            let pairs = self.busy.chunks(2);
            self.busy = pairs.map(|pair| pair.iter().sum()).collect();
        }
    }

    /// Returns the current length of a window, ns.
    #[must_use]
    pub fn window(&self) -> Nanos {
        self.window
    }

    /// Returns the total busy time, ns.
    #[must_use]
    pub fn total(&self) -> Nanos {
        self.total
    }

    /// Returns the windows of a run that ended at `end`; including later windows, if any were busy.
    #[must_use]
    pub fn points(&self, end: Nanos) -> Vec<LoadPoint> {
        let mut long = self.clone();
        long.reach(end);
        let (window, busy) = (long.window, long.busy);
        let windows = end.div_ceil(window).max(busy.len() as u64);
        (0..windows)
            .map(|index| {
                let start = index.saturating_mul(window);
                let busy = busy.get(index as usize).copied().unwrap_or(0);
                let left = end.saturating_sub(start);
                let length = if left == 0 { window } else { left.min(window) };
                LoadPoint {
                    start,
                    length,
                    busy,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_window_is_as_long_as_the_run() {
        let mut load = BusLoad::new(100);
        load.add(50, 130);
        load.add(130, 150);
        let points = load.points(150);
        assert_eq!(points.len(), 2);
        assert_eq!((points[0].busy, points[0].length), (50, 100));
        assert_eq!((points[1].busy, points[1].length), (50, 50));
        assert!((points[1].share() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_long_pause_costs_no_memory_and_no_time() {
        let mut load = BusLoad::new(100);
        load.add(0, 50);
        let year = 365 * 86_400 * 1_000_000_000;
        load.add(year, year + 70);
        let end = 100 * year;
        let points = load.points(end);
        assert!(points.len() as u64 <= BusLoad::MAX_WINDOWS);
        assert_eq!(points.iter().map(|p| p.busy).sum::<u64>(), 120);
        assert_eq!(points.iter().map(|p| p.length).sum::<u64>(), end);
        let far = load.points(u64::MAX);
        assert!(far.len() as u64 <= BusLoad::MAX_WINDOWS && far.len() > 1_000);
    }

    proptest! {
        #[test]
        fn time_is_neither_lost_nor_counted_twice(
            steps in prop::collection::vec((0u64..500, 0u64..500), 0..50),
            window in 1u64..300,
        ) {
            let mut load = BusLoad::new(window);
            let mut slow = vec![false; 60_000];
            let mut at = 0u64;
            for (idle, busy) in steps {
                at += idle;
                load.add(at, at + busy);
                slow[at as usize..(at + busy) as usize].fill(true);
                at += busy;
            }
            let points = load.points(at);
            prop_assert_eq!(points.iter().map(|p| p.busy).sum::<u64>(), load.total());
            prop_assert_eq!(points.iter().map(|p| p.length).sum::<u64>(), at);
            for p in points {
                let cells = &slow[p.start as usize..(p.start + p.length) as usize];
                prop_assert_eq!(p.busy, cells.iter().filter(|c| **c).count() as u64);
                prop_assert!(p.busy <= p.length);
            }
        }
    }
}
