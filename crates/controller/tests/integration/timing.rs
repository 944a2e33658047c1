//! Bit timing: exact or refused, and never beyond the limits.

use controller::{BitTiming, TimingError, TimingLimits};
use proptest::prelude::*;

/// Limits of the SJA1000 (data sheet, section 6.5).
const SJA1000: TimingLimits = TimingLimits {
    prescaler: (1, 64),
    prescaler_step: 1,
    before_sample: (1, 16),
    after_sample: (1, 8),
    jump: 4,
};

/// The choice of Linux's `can_calc_bittiming` for an SJA1000 with a clock of 8 MHz, as `ip -details
/// link show` prints it: brp, prop-seg + phase-seg1, phase-seg2.
#[test]
fn as_linux_chooses_for_an_sja1000() {
    for (rate, point, expected) in [
        (1_000_000, 750, (1, 5, 2)),
        (500_000, 875, (1, 13, 2)),
        (250_000, 875, (2, 13, 2)),
        (125_000, 875, (4, 13, 2)),
        (20_000, 875, (25, 13, 2)),
    ] {
        let timing = BitTiming::compute(8_000_000, &SJA1000, rate, point).unwrap();
        let found = (timing.prescaler, timing.before_sample, timing.after_sample);
        assert_eq!(found, expected, "{rate}");
        assert_eq!(timing.rate(8_000_000), rate);
        assert_eq!(timing.jump, 1);
    }
}

#[test]
fn a_rate_that_is_not_possible_names_its_neighbours() {
    let error = BitTiming::compute(8_000_000, &SJA1000, 300_000, 875).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("250000 and 320000 bit/s"), "{text}");
    for suggested in [250_000, 320_000] {
        assert!(BitTiming::compute(8_000_000, &SJA1000, suggested, 875).is_ok());
    }
    let error = BitTiming::compute(8_000_000, &SJA1000, 5_000_000, 875).unwrap_err();
    assert!(error.to_string().contains("the nearest is"), "{error}");
    let error = BitTiming::compute(8_000_000, &SJA1000, 0, 875).unwrap_err();
    assert!(error.to_string().contains("bit/s"), "{error}");
    let error = BitTiming::compute(8_000_000, &SJA1000, 500_000, 1000).unwrap_err();
    assert_eq!(error, TimingError::SamplePoint(1000));
}

#[test]
fn the_jump_width_has_its_limits() {
    let timing = BitTiming::compute(8_000_000, &SJA1000, 500_000, 700).unwrap();
    assert!(timing.after_sample >= 4);
    assert_eq!(timing.with_jump(&SJA1000, 4).unwrap().jump, 4);
    for jump in [0, 5] {
        let error = timing.with_jump(&SJA1000, jump).unwrap_err();
        assert_eq!(error, TimingError::Jump { jump, most: 4 });
    }
}

fn limits() -> impl Strategy<Value = TimingLimits> {
    (
        (1..4_u32, 1..300_u32, 1..4_u32),
        (1..4_u32, 1..200_u32),
        (1..4_u32, 1..64_u32),
        1..32_u32,
    )
        .prop_map(|(prescaler, before, after, jump)| TimingLimits {
            prescaler: (prescaler.0, prescaler.0 + prescaler.1),
            prescaler_step: prescaler.2,
            before_sample: (before.0, before.0 + before.1),
            after_sample: (after.0, after.0 + after.1),
            jump,
        })
}

/// Tries all timings that the limits allow: returns the smallest distance of a sample point, as a
/// fraction.
fn best(clock: u32, limits: &TimingLimits, rate: u32, point: u32) -> Option<(u64, u64)> {
    let mut best: Option<(u64, u64)> = None;
    for prescaler in limits.prescaler.0..=limits.prescaler.1 {
        if !prescaler.is_multiple_of(limits.prescaler_step) {
            continue;
        }
        for before in limits.before_sample.0..=limits.before_sample.1 {
            for after in limits.after_sample.0..=limits.after_sample.1 {
                let quanta = 1 + before + after;
                if u64::from(prescaler) * u64::from(quanta) * u64::from(rate) != u64::from(clock) {
                    continue;
                }
                let miss = (u64::from(1 + before) * 1000).abs_diff(u64::from(point * quanta));
                let less = |(m, q): (u64, u64)| miss * q < m * u64::from(quanta);
                if best.is_none_or(less) {
                    best = Some((miss, quanta.into()));
                }
            }
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Exact, within the limits, and no other timing has a nearer sample point.
    #[test]
    fn the_best_of_all(
        limits in limits(), divider in 1..3000_u32, rate in 1000..200_000_u32, point in 1..=999_u32,
    ) {
        let clock = rate * divider;
        let best = best(clock, &limits, rate, point);
        match BitTiming::compute(clock, &limits, rate, point) {
            Ok(timing) => {
                prop_assert!(timing.fits(&limits), "{timing:?}");
                prop_assert_eq!(timing.rate(clock), rate);
                prop_assert_eq!(timing.rate(clock) * timing.prescaler * timing.quanta(), clock);
                let miss = (u64::from(1 + timing.before_sample) * 1000)
                    .abs_diff(u64::from(point * timing.quanta()));
                let (least, quanta) = best.unwrap();
                prop_assert_eq!(miss * quanta, least * u64::from(timing.quanta()));
            }
            Err(_) => prop_assert_eq!(best, None),
        }
    }

    /// For any request: no panic, and the suggested bit rates are possible.
    #[test]
    fn suggestions_can_be_taken(limits in limits(), clock in 1..200_000_000_u32, rate: u32, point: u32) {
        if let Err(TimingError::Rate { lower, higher, .. }) =
            BitTiming::compute(clock, &limits, rate, point)
        {
            for suggested in [lower, higher].into_iter().flatten() {
                prop_assert!(BitTiming::compute(clock, &limits, suggested, point).is_ok());
            }
            prop_assert!(lower.is_none_or(|lower| lower < rate));
            prop_assert!(higher.is_none_or(|higher| higher > rate));
        }
    }
}
