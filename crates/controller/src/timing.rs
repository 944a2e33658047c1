//! Bit timing from clock, bit rate and sample point.
//!
//! A bit consists of time quanta (tq): one for synchronization, then `prop`, `phase1` and `phase2`
//! (ISO 11898-1, *Bit time*). A tq is `prescaler` periods of the controller's clock. The bus is
//! sampled between `phase1` and `phase2`.

use core::fmt;

/// The values that a controller's registers can represent, in the controller's own units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimingLimits {
    /// The smallest and the largest prescaler.
    pub prescaler: (u32, u32),
    /// Each prescaler is a multiple of this.
    pub prescaler_step: u32,
    /// The smallest and the largest `prop + phase1`, tq.
    pub before_sample: (u32, u32),
    /// The smallest and the largest `phase2`, tq.
    pub after_sample: (u32, u32),
    /// The largest jump width, tq.
    pub jump: u32,
}

/// A bit timing. All fields but the prescaler are in time quanta.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BitTiming {
    /// Clock periods per tq.
    pub prescaler: u32,
    /// Propagation segment and phase segment 1 together, after the one tq of synchronization.
    pub before_sample: u32,
    /// Phase segment 2.
    pub after_sample: u32,
    /// (Re)synchronization jump width.
    pub jump: u32,
}

/// Reason why a bit timing is not possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimingError {
    /// A bit is not a whole number of time quanta at this bit rate.
    Rate {
        /// The requested bit rate, bit/s.
        rate: u32,
        /// The controller's clock, Hz.
        clock: u32,
        /// The next lower bit rate that it can do exactly, if there is one.
        lower: Option<u32>,
        /// The next higher one.
        higher: Option<u32>,
    },
    /// A sample point that is not within the bit.
    SamplePoint(u32),
    /// A jump width that is 0, or greater than the maximum of the controller or than
    /// `after_sample`.
    Jump {
        /// The requested jump width, tq.
        jump: u32,
        /// The largest possible one, tq.
        most: u32,
    },
}

impl fmt::Display for TimingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Rate {
                rate,
                clock,
                lower,
                higher,
            } => {
                write!(
                    f,
                    "a controller with a clock of {clock} Hz cannot do {rate} bit/s exactly: "
                )?;
                match (lower, higher) {
                    (Some(lower), Some(higher)) => {
                        write!(f, "the nearest are {lower} and {higher} bit/s")
                    }
                    (Some(only), None) | (None, Some(only)) => {
                        write!(f, "the nearest is {only} bit/s")
                    }
                    (None, None) => f.write_str("it supports no bit rate in whole bit/s"),
                }
            }
            Self::SamplePoint(point) => write!(
                f,
                "a sample point of {point} ‰ is not valid: it lies within the bit, at 1 to 999 ‰"
            ),
            Self::Jump { jump, most } => {
                write!(
                    f,
                    "a jump width of {jump} tq is not possible: it is 1 to {most}"
                )
            }
        }
    }
}

impl core::error::Error for TimingError {}

/// Returns the sample point that CiA 601-3 and Linux's `can_calc_bittiming` use by default: 87.5 %
/// up to 500 kbit/s, 80 % up to 800 kbit/s, 75 % above. In thousandths.
#[must_use]
pub const fn usual_sample_point(rate: u32) -> u32 {
    match rate {
        0..=500_000 => 875,
        500_001..=800_000 => 800,
        _ => 750,
    }
}

impl BitTiming {
    /// Returns the number of time quanta of a bit.
    #[must_use]
    pub const fn quanta(&self) -> u32 {
        1 + self.before_sample + self.after_sample
    }

    /// Returns the bit rate in bit/s with this clock, rounded down.
    #[must_use]
    pub const fn rate(&self, clock: u32) -> u32 {
        clock / (self.prescaler * self.quanta())
    }

    /// Returns the sample point in thousandths, rounded to the nearest.
    #[must_use]
    pub const fn sample_point(&self) -> u32 {
        ((1 + self.before_sample) * 1000 + self.quanta() / 2) / self.quanta()
    }

    /// Returns whether a controller's registers can represent it.
    #[must_use]
    pub const fn fits(&self, limits: &TimingLimits) -> bool {
        self.prescaler >= limits.prescaler.0
            && self.prescaler <= limits.prescaler.1
            && self.prescaler.is_multiple_of(limits.prescaler_step)
            && self.before_sample >= limits.before_sample.0
            && self.before_sample <= limits.before_sample.1
            && self.after_sample >= limits.after_sample.0
            && self.after_sample <= limits.after_sample.1
            && self.jump >= 1
            && self.jump <= limits.jump
            && self.jump <= self.after_sample
    }

    /// Computes the timing for a bit rate in bit/s and a sample point in thousandths, for a
    /// controller with this clock in Hz. The timing meets the bit rate exactly. Of the timings that
    /// do so, it has the nearest sample point, and among those the most time quanta. The jump width
    /// is half of `after_sample`, at least 1 and at most the controller's limit, as in Linux's
    /// `can_sjw_set_default`.
    ///
    /// # Errors
    /// [`TimingError`]; it contains the nearest bit rates that are possible.
    pub fn compute(
        clock: u32,
        limits: &TimingLimits,
        rate: u32,
        sample_point: u32,
    ) -> Result<Self, TimingError> {
        if !(1..=999).contains(&sample_point) {
            return Err(TimingError::SamplePoint(sample_point));
        }
        let mut best: Option<(u64, Self)> = None;
        if rate > 0 && clock.is_multiple_of(rate) {
            let periods = clock / rate;
            for quanta in shortest(limits)..=longest(limits) {
                let prescaler = periods / quanta;
                if !periods.is_multiple_of(quanta) || !has_prescaler(limits, prescaler) {
                    continue;
                }
                let timing = split(limits, prescaler, quanta, sample_point);
                let miss = timing.miss(sample_point);
                if best.is_none_or(|(least, found)| {
                    // Compared as fractions of a bit, because the two bits have different numbers
                    // of quanta.
                    let (a, b) = (miss * u64::from(found.quanta()), least * u64::from(quanta));
                    a <= b
                }) {
                    best = Some((miss, timing));
                }
            }
        }
        match best {
            Some((_, timing)) => Ok(timing),
            None => Err(no_such_rate(clock, limits, rate)),
        }
    }

    /// Returns the same timing with another jump width.
    ///
    /// # Errors
    /// [`TimingError::Jump`].
    pub fn with_jump(mut self, limits: &TimingLimits, jump: u32) -> Result<Self, TimingError> {
        let most = limits.jump.min(self.after_sample);
        if !(1..=most).contains(&jump) {
            return Err(TimingError::Jump { jump, most });
        }
        self.jump = jump;
        Ok(self)
    }

    /// Returns the distance of the sample point from the requested one, in thousandths of a tq.
    fn miss(&self, sample_point: u32) -> u64 {
        let is = u64::from(1 + self.before_sample) * 1000;
        is.abs_diff(u64::from(sample_point) * u64::from(self.quanta()))
    }
}

const fn shortest(limits: &TimingLimits) -> u32 {
    1 + limits.before_sample.0 + limits.after_sample.0
}

const fn longest(limits: &TimingLimits) -> u32 {
    1 + limits.before_sample.1 + limits.after_sample.1
}

fn has_prescaler(limits: &TimingLimits, prescaler: u32) -> bool {
    let (least, most) = limits.prescaler;
    (least..=most).contains(&prescaler) && prescaler.is_multiple_of(limits.prescaler_step)
}

/// Splits a bit of `quanta` tq at the point nearest to the sample point that the limits allow.
fn split(limits: &TimingLimits, prescaler: u32, quanta: u32, sample_point: u32) -> BitTiming {
    let wanted = (quanta * sample_point + 500) / 1000;
    // Both ends of the bit have limits; `quanta` is within their sum, so that the range is not
    // empty.
    let least = limits
        .before_sample
        .0
        .max((quanta - 1).saturating_sub(limits.after_sample.1));
    let most = limits
        .before_sample
        .1
        .min(quanta - 1 - limits.after_sample.0);
    let before_sample = wanted.saturating_sub(1).clamp(least, most.max(least));
    let after_sample = quanta - 1 - before_sample;
    BitTiming {
        prescaler,
        before_sample,
        after_sample,
        jump: (after_sample / 2).clamp(1, limits.jump.max(1)),
    }
}

/// Finds the nearest whole bit rates that are possible.
fn no_such_rate(clock: u32, limits: &TimingLimits, rate: u32) -> TimingError {
    let (mut lower, mut higher) = (None, None);
    for quanta in shortest(limits)..=longest(limits) {
        let mut prescaler = limits.prescaler.0.next_multiple_of(limits.prescaler_step);
        while prescaler <= limits.prescaler.1 {
            let periods = prescaler.saturating_mul(quanta);
            if clock.is_multiple_of(periods) {
                let possible = clock / periods;
                if possible < rate {
                    lower = lower.max(Some(possible));
                } else if possible > rate && higher.is_none_or(|higher| possible < higher) {
                    higher = Some(possible);
                }
            }
            prescaler += limits.prescaler_step;
        }
    }
    TimingError::Rate {
        rate,
        clock,
        lower,
        higher,
    }
}
