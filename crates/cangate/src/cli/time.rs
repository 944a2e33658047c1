//! Times and sizes on the command line: `500ms`, `100M`.

use config::UnitError;
use frame::Nanos;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Parses any time, ns.
pub(super) fn nanos(text: &str) -> Result<Nanos, String> {
    config::duration(text).map_err(|error| hinted(&error))
}

/// Parses any time.
pub(super) fn any(text: &str) -> Result<Duration, String> {
    nanos(text).map(Duration::from_nanos)
}

/// Parses a time above 0.
#[cfg(any(feature = "capture", test))]
pub(super) fn above_zero(text: &str) -> Result<Duration, String> {
    match any(text)? {
        Duration::ZERO => Err("give a time above 0".to_owned()),
        time => Ok(time),
    }
}

/// Parses a time within a range, whose words are for the error: "from 50ms to 1h".
pub(super) fn within(
    text: &str,
    range: &RangeInclusive<Duration>,
    words: &str,
) -> Result<Duration, String> {
    let time = any(text)?;
    let is_within = range.contains(&time);
    is_within
        .then_some(time)
        .ok_or_else(|| format!("it must be {words}"))
}

/// Parses a number of bytes.
#[cfg(any(feature = "capture", test))]
pub(super) fn size(text: &str) -> Result<u64, String> {
    config::size(text).map_err(|error| hinted(&error))
}

/// Returns an error with its cure.
fn hinted(error: &UnitError) -> String {
    format!("{error}: {}", error.hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_limits_and_a_mistake_its_cure() {
        assert_eq!(nanos("2ms"), Ok(2_000_000));
        assert_eq!(above_zero("1s"), Ok(Duration::from_secs(1)));
        assert!(above_zero("0ms").unwrap_err().contains("above 0"));
        let range = Duration::from_millis(50)..=Duration::from_secs(3600);
        assert!(within("50ms", &range, "").is_ok());
        let wrong = within("49ms", &range, "from 50ms to 1h").unwrap_err();
        assert_eq!(wrong, "it must be from 50ms to 1h");
        let wrong = any("5").unwrap_err();
        assert!(wrong.contains(": "), "{wrong}");
    }
}
