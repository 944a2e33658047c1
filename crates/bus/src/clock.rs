//! Conversion of bits to nanoseconds and back.

use frame::{Nanos, wire::BitRate};

const SECOND: u64 = 1_000_000_000;

/// The bit rates of a bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusClock {
    rate: BitRate,
    /// Length of a bit at the nominal rate, ns, where it is a whole number; else 0.
    nominal_ns: u64,
    data_ns: u64,
}

impl BusClock {
    pub(crate) fn new(rate: BitRate) -> Self {
        let whole = |bits_per_second: u32| match SECOND % u64::from(bits_per_second) {
            0 => SECOND / u64::from(bits_per_second),
            _ => 0,
        };
        Self {
            nominal_ns: whole(rate.nominal()),
            data_ns: whole(rate.data().unwrap_or(rate.nominal())),
            rate,
        }
    }

    /// Returns the duration of this many bits at the nominal rate.
    #[inline]
    pub(crate) fn bits(&self, bits: u32) -> Nanos {
        self.span(bits, 0)
    }

    /// Returns the duration of bits at the nominal rate plus bits at the data rate, their sum
    /// rounded once to the nearest nanosecond ([`BitRate::time`], without its division where bits
    /// are whole nanoseconds, as at all usual rates).
    #[inline]
    pub(crate) fn span(&self, nominal: u32, data: u32) -> Nanos {
        if self.nominal_ns > 0 && (data == 0 || self.data_ns > 0) {
            u64::from(nominal) * self.nominal_ns + u64::from(data) * self.data_ns
        } else {
            self.rate.time(nominal, data)
        }
    }

    /// Returns the nearest whole number of nominal bits in a time.
    pub(crate) fn count(&self, ns: Nanos) -> u64 {
        let bits = u128::from(ns) * u128::from(self.rate.nominal());
        ((bits + u128::from(SECOND / 2)) / u128::from(SECOND)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    #[test]
    fn whole_and_broken_bit_times() {
        let clock = |n, d| BusClock::new(BitRate::new(n, Some(d)).unwrap());
        assert_eq!(clock(500_000, 2_000_000).span(3, 2), 7_000);
        let thirds = clock(300_000, 700_000);
        assert_eq!(thirds.bits(2), 6_667);
        assert_eq!(thirds.span(1, 1), 4_762, "3333.33 + 1428.57, rounded once");
        assert_eq!(thirds.count(thirds.bits(1408)), 1408);
    }

    proptest! {
        #[test]
        fn the_short_way_is_the_long_way(
            nominal in prop::sample::select(vec![10_000, 125_000, 500_000, 1_000_000]),
            data in prop::sample::select(vec![1_000_000, 2_000_000, 5_000_000, 8_000_000]),
            n in 0..2_000_u32,
            d in 0..2_000_u32,
        ) {
            let rate = BitRate::new(nominal, Some(data)).unwrap();
            prop_assert_eq!(BusClock::new(rate).span(n, d), rate.time(n, d));
        }
    }
}
