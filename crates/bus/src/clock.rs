//! Bits to nanoseconds.

use frame::Nanos;

const SECOND: u64 = 1_000_000_000;

/// The bit rates of a bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    nominal: u64,
    data: u64,
    /// Length of a bit, where it is a whole number of nanoseconds; else 0.
    nominal_ns: u64,
    data_ns: u64,
}

impl Clock {
    pub(crate) fn new(nominal: u32, data: Option<u32>) -> Self {
        let whole = |rate: u32| match SECOND % u64::from(rate) {
            0 => SECOND / u64::from(rate),
            _ => 0,
        };
        let data = data.unwrap_or(nominal);
        Self {
            nominal: u64::from(nominal),
            data: u64::from(data),
            nominal_ns: whole(nominal),
            data_ns: whole(data),
        }
    }

    /// Duration of so many bits at the nominal rate.
    #[inline]
    pub(crate) fn bits(&self, bits: u64) -> Nanos {
        self.span(bits, 0)
    }

    /// Duration of bits at the nominal rate and at the data rate, rounded to the nearest
    /// nanosecond as one.
    #[inline]
    pub(crate) fn span(&self, nominal: u64, data: u64) -> Nanos {
        if self.nominal_ns > 0 && (data == 0 || self.data_ns > 0) {
            return nominal * self.nominal_ns + data * self.data_ns;
        }
        let (n, d) = (u128::from(self.nominal), u128::from(self.data));
        let numerator = u128::from(SECOND) * (u128::from(nominal) * d + u128::from(data) * n);
        ((numerator + n * d / 2) / (n * d)) as Nanos
    }

    /// The nearest whole number of nominal bits in a time.
    pub(crate) fn count(&self, ns: Nanos) -> u64 {
        let scaled = u128::from(ns) * u128::from(self.nominal) + u128::from(SECOND / 2);
        (scaled / u128::from(SECOND)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_broken_bit_times() {
        let whole = Clock::new(500_000, Some(2_000_000));
        assert_eq!(whole.span(3, 2), 7_000);
        let thirds = Clock::new(300_000, Some(700_000));
        assert_eq!(thirds.bits(1), 3_333);
        assert_eq!(thirds.bits(2), 6_667);
        assert_eq!(thirds.span(1, 1), 4_762, "3333.33 + 1428.57 rounded once");
        assert_eq!(thirds.count(thirds.bits(1408)), 1408);
    }
}
