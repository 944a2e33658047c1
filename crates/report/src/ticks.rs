//! Where an axis begins and ends, and where its ticks are.

use crate::model::{Axis, Scale};
use crate::text::tick;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// An axis with its numbers settled. Positions are values, or decimal logarithms of values on a
/// logarithmic axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settled {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Positions and labels.
    pub(crate) ticks: Vec<(f64, String)>,
    scale: Scale,
}

impl Settled {
    /// For these values and about this many ticks.
    pub(crate) fn new(axis: &Axis, values: impl Iterator<Item = f64>, about: usize) -> Self {
        let (low, high) = axis.range.unwrap_or_else(|| extent(values, axis.scale));
        match axis.scale {
            Scale::Linear => Self::linear(low, high, about, axis.range.is_none()),
            Scale::Log => Self::log(low, high, about, axis.range.is_none()),
        }
    }

    fn linear(low: f64, high: f64, about: usize, widen: bool) -> Self {
        let span = if high > low {
            high - low
        } else {
            low.abs().max(1.0)
        };
        let step = nice(span / about.max(1) as f64);
        let (low, high) = if widen {
            // From 0 where that costs little room; a little air behind the last value.
            let from = if low >= 0.0 && low < 0.5 * high {
                0.0
            } else {
                (low / step).floor() * step
            };
            (from, low + span * 1.03)
        } else {
            (low, low + span)
        };
        let first = (low / step - 1e-9).ceil();
        let count = ((high / step + 1e-9).floor() - first).max(0.0) as usize;
        let ticks = (0..=count.min(100))
            .map(|n| (first + n as f64) * step)
            .map(|v| (v, tick(v, step)))
            .collect();
        Self {
            low,
            high,
            ticks,
            scale: Scale::Linear,
        }
    }

    fn log(low: f64, high: f64, about: usize, widen: bool) -> Self {
        let low = low.max(f64::MIN_POSITIVE).log10();
        let high = high.max(f64::MIN_POSITIVE).log10().max(low + 0.3);
        let air = if widen { 0.02 * (high - low) } else { 0.0 };
        let (low, high) = (low - air, high + air);
        let decades = (high - low).max(0.1);
        let within: &[f64] = match about as f64 / decades {
            r if r >= 2.2 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let every = (decades / about.max(1) as f64).ceil().max(1.0) as i64;
        let (from, to) = (low.floor() as i64, high.ceil() as i64);
        let mut ticks = Vec::new();
        for decade in (from..=to).filter(|d| d.rem_euclid(every) == 0) {
            for factor in within {
                let value = factor * 10f64.powi(decade as i32);
                let at = value.log10();
                if at >= low - 1e-9 && at <= high + 1e-9 {
                    ticks.push((at, tick(value, value.min(1.0))));
                }
            }
        }
        Self {
            low,
            high,
            ticks,
            scale: Scale::Log,
        }
    }

    /// Where a value lies; `None` where it cannot be drawn.
    pub(crate) fn position(&self, value: f64) -> Option<f64> {
        match self.scale {
            _ if !value.is_finite() => None,
            Scale::Linear => Some(value),
            Scale::Log => (value > 0.0).then(|| value.log10()),
        }
    }
}

/// How `plotters` sees an axis: our ticks instead of its own.
impl Ranged for Settled {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        start + (share * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|t| t.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Settled {
    fn format_ext(&self, value: &f64) -> String {
        let near = |t: &&(f64, String)| (t.0 - value).abs() <= 1e-9 * (self.high - self.low);
        self.ticks
            .iter()
            .find(near)
            .map(|t| t.1.clone())
            .unwrap_or_default()
    }
}

/// Least and greatest value; something drawable where there is none.
fn extent(values: impl Iterator<Item = f64>, scale: Scale) -> (f64, f64) {
    let usable = values.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
    let found = usable.fold(None, |found: Option<(f64, f64)>, v| {
        Some(found.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
    });
    found.unwrap_or((0.0, 1.0))
}

/// 1, 2 or 5 times a power of ten, not below `step`.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.max(1e-12).log10().floor());
    let factor = step / power;
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| factor <= *f + 1e-9);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(settled: &Settled) -> Vec<&str> {
        settled.ticks.iter().map(|t| t.1.as_str()).collect()
    }

    #[test]
    fn round_numbers() {
        let axis = Axis::linear("t", "s");
        let s = Settled::new(&axis, [0.0, 47.0].into_iter(), 5);
        assert_eq!(labels(&s), ["0", "10", "20", "30", "40"]);
        let s = Settled::new(&axis, [0.12, 0.31].into_iter(), 4);
        assert_eq!(
            labels(&s),
            ["0", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]
        );
        let s = Settled::new(
            &axis.clone().log().from_to(0.7, 20_000.0),
            [].into_iter(),
            6,
        );
        assert_eq!(labels(&s), ["1", "10", "100", "1000", "10\u{202F}000"]);
    }

    proptest! {
        #[test]
        fn data_lies_within_and_ticks_are_few(
            values in prop::collection::vec(-1e9f64..1e9, 0..20), about in 2usize..12, log: bool,
        ) {
            let mut axis = Axis::linear("t", "s");
            if log { axis = axis.log(); }
            let s = Settled::new(&axis, values.iter().copied(), about);
            prop_assert!(s.low < s.high);
            prop_assert!(s.ticks.len() <= 3 * about + 3, "{}", s.ticks.len());
            for v in values {
                if let Some(at) = s.position(v) {
                    prop_assert!(at >= s.low - 1e-6 * s.low.abs().max(1.0) && at <= s.high + 1e-6 * s.high.abs().max(1.0));
                }
            }
        }
    }
}
