//! Bit rates.

use crate::Nanos;
use core::fmt;
use core::str::FromStr;

const NS_PER_S: u64 = 1_000_000_000;

/// The bit rates of a bus: the nominal one, and for FD the one of the data phase.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BitRate {
    nominal: u32,
    data: Option<u32>,
}

/// The reason why a text or a number is not a bit rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateError {
    /// Not a number, a number with a suffix other than `k` or `M`, or something after it.
    NotANumber,
    /// A number that is not a whole number of bit/s.
    NotWhole,
    /// A rate below [`BitRate::MIN`] or above [`BitRate::MAX`].
    OutOfRange,
    /// A data bit rate below the nominal one.
    DataBelowNominal {
        /// The nominal bit rate, bit/s.
        nominal: u32,
        /// The data bit rate, bit/s.
        data: u32,
    },
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber => f.write_str(
                "no bit rate: write bit/s as 500000, 500k, 83.333k or 1M, \
                 for FD nominal/data as 500k/2M",
            ),
            Self::NotWhole => f.write_str(
                "no whole number of bit/s: write at most three decimals before k, six before M",
            ),
            Self::OutOfRange => write!(
                f,
                "bit rates from {} to {} bit/s are possible",
                BitRate::MIN,
                BitRate::MAX
            ),
            Self::DataBelowNominal { nominal, data } => write!(
                f,
                "the data bit rate of {data} bit/s is below the nominal one of {nominal} bit/s: \
                 raise it, or leave it out for a bus without FD bit rate switch"
            ),
        }
    }
}

impl core::error::Error for RateError {}

impl BitRate {
    /// The lowest rate accepted, bit/s. ISO 11898 has no lower limit; nothing slower is in use.
    pub const MIN: u32 = 1_000;
    /// The highest rate accepted, bit/s: that of CAN XL transceivers (CiA 610-3). Classic buses end
    /// at 1 Mbit/s (ISO 11898-2), FD data phases at 8 Mbit/s.
    pub const MAX: u32 = 20_000_000;

    /// Creates bit rates in bit/s; `data` only where the bus has an FD data bit rate.
    ///
    /// # Errors
    /// [`RateError`] out of range, and where the data bit rate is below the nominal one.
    pub const fn new(nominal: u32, data: Option<u32>) -> Result<Self, RateError> {
        if nominal < Self::MIN || nominal > Self::MAX {
            return Err(RateError::OutOfRange);
        }
        if let Some(data) = data {
            if data > Self::MAX {
                return Err(RateError::OutOfRange);
            }
            if data < nominal {
                return Err(RateError::DataBelowNominal { nominal, data });
            }
        }
        Ok(Self { nominal, data })
    }

    /// Returns the nominal bit rate, bit/s.
    #[must_use]
    pub const fn nominal(self) -> u32 {
        self.nominal
    }

    /// Returns the data bit rate, bit/s, where the bus has one.
    #[must_use]
    pub const fn data(self) -> Option<u32> {
        self.data
    }

    /// Returns the time that a number of bits at the nominal and a number at the data bit rate take
    /// together, rounded to the nearest nanosecond (half a nanosecond up). Without a data bit rate,
    /// all are nominal.
    #[must_use]
    pub const fn time(self, nominal_bits: u32, data_bits: u32) -> Nanos {
        let n = self.nominal as u64;
        let d = match self.data {
            Some(data) => data as u64,
            None => n,
        };
        // nominal_bits / n + data_bits / d, with a common denominator.
        if nominal_bits as u64 + data_bits as u64 <= FEW_BITS {
            // FEW_BITS * MAX * 10^9 + MAX * MAX / 2 < 2^64
            let sum = nominal_bits as u64 * d + data_bits as u64 * n;
            return (sum * NS_PER_S + n * d / 2) / (n * d);
        }
        let (n, d) = (n as u128, d as u128);
        let sum = nominal_bits as u128 * d + data_bits as u128 * n;
        ((sum * NS_PER_S as u128 + n * d / 2) / (n * d)) as Nanos
    }
}

/// More bits than a frame has, but few enough for a division in 64 bits.
const FEW_BITS: u64 = 900;

/// Parses one bit rate in bit/s: `500000`, `500k`, `83.333k`, `1M`.
///
/// # Errors
/// [`RateError`] where it is not a bit rate, not a whole number of bit/s, or out of range.
///
/// ```
/// use frame::wire::parse_rate;
/// assert_eq!(parse_rate("83.333k"), Ok(83_333));
/// assert!(parse_rate("500 kbit").is_err());
/// ```
pub fn parse_rate(text: &str) -> Result<u32, RateError> {
    let text = text.trim_ascii();
    let (number, decimals) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (text.get(..text.len() - 1), 3),
        Some(b'M') => (text.get(..text.len() - 1), 6),
        _ => (Some(text), 0),
    };
    let number = number.ok_or(RateError::NotANumber)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(RateError::NotANumber);
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > decimals {
        return Err(RateError::NotWhole);
    }
    let mut value: u64 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        value = value
            .saturating_mul(10)
            .saturating_add(u64::from(byte - b'0'));
    }
    for _ in fraction.len()..decimals {
        value = value.saturating_mul(10);
    }
    match u32::try_from(value) {
        Ok(rate @ BitRate::MIN..=BitRate::MAX) => Ok(rate),
        _ => Err(RateError::OutOfRange),
    }
}

impl FromStr for BitRate {
    type Err = RateError;

    /// Parses `500k` for a bus without a data bit rate, `500k/2M` for one with it.
    fn from_str(text: &str) -> Result<Self, RateError> {
        match text.split_once('/') {
            None => Self::new(parse_rate(text)?, None),
            Some((nominal, data)) => Self::new(parse_rate(nominal)?, Some(parse_rate(data)?)),
        }
    }
}

impl fmt::Display for BitRate {
    /// Formats the rate as `FromStr` reads it: `500k/2M`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        rate(f, self.nominal)?;
        match self.data {
            None => Ok(()),
            Some(data) => {
                f.write_str("/")?;
                rate(f, data)
            }
        }
    }
}

fn rate(f: &mut fmt::Formatter<'_>, bits: u32) -> fmt::Result {
    if bits.is_multiple_of(1_000_000) {
        write!(f, "{}M", bits / 1_000_000)
    } else if bits.is_multiple_of(1_000) {
        write!(f, "{}k", bits / 1_000)
    } else {
        write!(f, "{}.{:03}k", bits / 1_000, bits % 1_000)
    }
}
