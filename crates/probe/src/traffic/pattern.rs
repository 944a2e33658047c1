//! The pattern in which frames are sent (gateway-2011 §2.2), as users type it and as results name
//! it.

use frame::Nanos;
use frame::dlc::FD_MAX;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Maximum number of frames of a run: their stamps are kept in memory, some 200 bytes per frame.
pub const MOST_FRAMES: u32 = 1_000_000;
/// The shortest payload, bytes: the frame's number takes the first two.
pub const SHORTEST_PAYLOAD: usize = 2;
/// The longest payload, bytes: that of an FD frame. Classic frames have up to 8.
pub const LONGEST_PAYLOAD: usize = FD_MAX;
/// The loads that a bus can have, in per cent of its time.
pub const LOADS: RangeInclusive<u8> = 1..=100;
/// The periods that can be requested, ns: up to one frame per minute.
pub const PERIODS: RangeInclusive<Nanos> = 1..=60_000_000_000;

/// The pattern in which frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficPattern {
    /// The next frame is sent when the previous one has come back, or is given up.
    OneAtATime,
    /// A percentage of the bus's time ([`LOADS`]): after each frame there is a pause that depends
    /// on its own duration.
    #[serde(rename = "percent")]
    Load(u8),
    /// As fast as the bus accepts them.
    Flood,
    /// A frame per period, in ns ([`PERIODS`]).
    Period(Nanos),
}

/// The error for a text or a number that is not a traffic pattern. Displayed as `what: hint`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", self.what(), self.hint())]
pub enum PatternError {
    /// A word that is not the name of a pattern.
    Unknown(String),
    /// A load that a bus cannot have.
    Load(String),
    /// A text that is not a period, or a period outside of [`PERIODS`].
    Period(String),
}

impl PatternError {
    /// Returns the mistake.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Unknown(text) if text.is_empty() => "no traffic pattern is given".to_owned(),
            Self::Unknown(text) => format!("`{text}` is not a traffic pattern"),
            Self::Load(text) => format!("`{text}` is not a bus load"),
            Self::Period(text) => format!("`{text}` is not a period in microseconds"),
        }
    }

    /// Returns the valid input.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown(_) => {
                "give oneatatime, load:PERCENT, flood or period:MICROSECONDS".to_owned()
            }
            Self::Load(_) => format!("give {} to {} per cent", LOADS.start(), LOADS.end()),
            Self::Period(_) => format!(
                "give 0.001 to {}, as 120 or 120.5",
                PERIODS.end() / NANOS_PER_MICRO
            ),
        }
    }
}

const NANOS_PER_MICRO: Nanos = 1_000;

impl TrafficPattern {
    /// Checks that its number is within the limits.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn check(self) -> Result<Self, PatternError> {
        match self {
            Self::Load(percent) if !LOADS.contains(&percent) => {
                Err(PatternError::Load(percent.to_string()))
            }
            Self::Period(ns) if !PERIODS.contains(&ns) => Err(PatternError::Period(micros(ns))),
            Self::OneAtATime | Self::Load(_) | Self::Flood | Self::Period(_) => Ok(self),
        }
    }
}

/// Formats nanoseconds in microseconds, exactly: `120`, `120.5`.
fn micros(ns: Nanos) -> String {
    match (ns / NANOS_PER_MICRO, ns % NANOS_PER_MICRO) {
        (us, 0) => us.to_string(),
        (us, part) => {
            let part = format!("{part:03}");
            format!("{us}.{}", part.trim_end_matches('0'))
        }
    }
}

/// Parses decimal microseconds, rounded to nanoseconds.
fn parse_micros(text: &str) -> Option<Nanos> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) {
        return None;
    }
    let nanos: String = part.chars().chain("000".chars()).take(3).collect();
    let up = part.as_bytes().get(3).is_some_and(|&digit| digit >= b'5');
    let whole: Nanos = whole.parse().ok()?;
    let nanos: Nanos = nanos.parse().ok()?;
    whole
        .checked_mul(NANOS_PER_MICRO)?
        .checked_add(nanos + Nanos::from(up))
}

impl fmt::Display for TrafficPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneAtATime => f.write_str("oneatatime"),
            Self::Load(percent) => write!(f, "load:{percent}"),
            Self::Flood => f.write_str("flood"),
            Self::Period(ns) => write!(f, "period:{}", micros(*ns)),
        }
    }
}

impl FromStr for TrafficPattern {
    type Err = PatternError;

    /// Parses the text that [`TrafficPattern`] is displayed as; a load may have a `%` after it.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        match text.split_once(':') {
            None if text == "oneatatime" => Ok(Self::OneAtATime),
            None if text == "flood" => Ok(Self::Flood),
            Some(("load", load)) => {
                let digits = load.strip_suffix('%').unwrap_or(load);
                let plain = digits.bytes().all(|b| b.is_ascii_digit());
                match digits.parse() {
                    Ok(percent) if plain => Self::Load(percent).check(),
                    _ => Err(PatternError::Load(load.to_owned())),
                }
            }
            Some(("period", period)) => parse_micros(period)
                .and_then(|ns| Self::Period(ns).check().ok())
                .ok_or_else(|| PatternError::Period(period.to_owned())),
            _ => Err(PatternError::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_are_read_as_results_name_them() {
        for text in [
            "oneatatime",
            "load:1",
            "load:100",
            "flood",
            "period:120",
            "period:0.001",
            "period:1.5",
            "period:60000000",
        ] {
            assert_eq!(text.parse::<TrafficPattern>().unwrap().to_string(), text);
        }
        assert_eq!("load:50%".parse(), Ok(TrafficPattern::Load(50)));
        assert_eq!("period:1.500".parse(), Ok(TrafficPattern::Period(1_500)));
        // Half a nanosecond rounds up.
        assert_eq!("period:0.0015".parse(), Ok(TrafficPattern::Period(2)));
        assert_eq!(
            "period:333.33333".parse(),
            Ok(TrafficPattern::Period(333_333))
        );
    }

    #[test]
    fn limits_are_the_same_for_text_and_numbers() {
        let what = |text: &str| text.parse::<TrafficPattern>().unwrap_err();
        for text in ["", "load", "flood:1", "x", "Flood", "oneatatime "] {
            assert!(matches!(what(text), PatternError::Unknown(_)), "{text}");
        }
        for text in [
            "load:", "load:0", "load:101", "load:+5", "load:%", "load:5%%",
        ] {
            assert!(matches!(what(text), PatternError::Load(_)), "{text}");
        }
        for text in [
            "period:",
            "period:0",
            "period:0.0001",
            "period:-1",
            "period:NaN",
            "period:1e3",
            "period:5.",
            "period:.5",
            "period:60000000.001",
            "period:99999999999999999999",
        ] {
            assert!(matches!(what(text), PatternError::Period(_)), "{text}");
        }
        assert!(TrafficPattern::Load(0).check().is_err());
        assert!(TrafficPattern::Load(101).check().is_err());
        assert!(TrafficPattern::Period(0).check().is_err());
        assert!(TrafficPattern::Period(60_000_000_001).check().is_err());
        assert_eq!(TrafficPattern::Flood.check(), Ok(TrafficPattern::Flood));
    }

    #[test]
    fn errors_name_the_right_form() {
        let text = "often".parse::<TrafficPattern>().unwrap_err().to_string();
        assert_eq!(
            text,
            "`often` is not a traffic pattern: give oneatatime, load:PERCENT, flood or \
             period:MICROSECONDS"
        );
        let text = "load:0".parse::<TrafficPattern>().unwrap_err().to_string();
        assert_eq!(text, "`0` is not a bus load: give 1 to 100 per cent");
        let text = "period:x"
            .parse::<TrafficPattern>()
            .unwrap_err()
            .to_string();
        assert_eq!(
            text,
            "`x` is not a period in microseconds: give 0.001 to 60000000, as 120 or 120.5"
        );
    }

    proptest! {
        #[test]
        fn every_pattern_comes_back(ns in PERIODS, percent in LOADS) {
            for pattern in [TrafficPattern::Period(ns), TrafficPattern::Load(percent)] {
                prop_assert_eq!(pattern.to_string().parse(), Ok(pattern));
            }
        }

        #[test]
        fn no_text_panics(text in "(load|period|.{0,4}):?[-0-9.%]{0,24}") {
            if let Ok(pattern) = text.parse::<TrafficPattern>() {
                prop_assert_eq!(pattern.check(), Ok(pattern));
            }
        }
    }
}
