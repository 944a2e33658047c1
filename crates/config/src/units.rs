//! Numbers with units, and bytes in hex.

use std::fmt;

/// The reason why a text is not a number of the requested kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitError {
    /// The mistake.
    pub what: String,
    /// The expected form.
    pub hint: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for UnitError {}

const BITRATE: &str = "write bits per second as 500000, \"500k\" or \"2M\"";
const LINE_RATE: &str = "write bits per second as 500000, \"500k\", \"100M\" or \"1G\"";
const SIZE: &str = "write bytes as 65536, \"64k\", \"100M\" or \"1GiB\"";
const DURATION: &str = "write a time as \"100us\", \"20ms\", \"1.5s\", \"2min\" or \"1h\"";
const RATE: &str = "write a rate as \"100/s\", \"20/100ms\" or \"6/min\"";
const HEX: &str = "write bytes as pairs of hex digits, such as \"00FF12\"";

fn error(what: impl Into<String>, hint: &'static str) -> UnitError {
    UnitError {
        what: what.into(),
        hint,
    }
}

/// Returns a decimal number times a factor, exactly; `None` where a remainder is left or the result
/// is too large.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 12 {
        return None;
    }
    if number.contains('.') && part.is_empty() {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    if part.is_empty() {
        return Some(whole);
    }
    let scale = 10u128.pow(u32::try_from(part.len()).ok()?);
    let part = u128::from(part.parse::<u64>().ok()?) * u128::from(factor);
    if part % scale != 0 {
        return None;
    }
    whole.checked_add(u64::try_from(part / scale).ok()?)
}

/// Parses bits per second: `500k`, `2M`, `33.333k`, `500000`.
///
/// # Errors
/// [`UnitError`] where it is not such a number.
pub fn bitrate(text: &str) -> Result<u32, UnitError> {
    let rate = rate_of(text).and_then(|rate| u32::try_from(rate).ok());
    rate.ok_or_else(|| bad_rate(text, BITRATE))
}

/// Parses bits per second of a line that may be faster than any CAN bus: as [`bitrate`], and `1G`.
///
/// # Errors
/// [`UnitError`] where it is not such a number.
pub(crate) fn line_rate(text: &str) -> Result<u64, UnitError> {
    rate_of(text).ok_or_else(|| bad_rate(text, LINE_RATE))
}

fn rate_of(text: &str) -> Option<u64> {
    let number = text.trim().trim_end_matches("bit/s").trim_end();
    let (number, factor) = match number.as_bytes().last() {
        Some(b'k' | b'K') => (&number[..number.len() - 1], 1_000),
        Some(b'M') => (&number[..number.len() - 1], 1_000_000),
        Some(b'G') => (&number[..number.len() - 1], 1_000_000_000),
        _ => (number, 1),
    };
    scaled(number.trim_end(), factor)
}

fn bad_rate(text: &str, hint: &'static str) -> UnitError {
    let text = text.trim();
    error(format!("`{text}` is not a valid bit rate"), hint)
}

/// Parses bytes: `65536`, `64k`, `100M`, `2G` (powers of 1000, also as `100MB`), `1MiB` (powers of
/// 1024).
///
/// # Errors
/// [`UnitError`] where it is not such a number.
pub fn size(text: &str) -> Result<u64, UnitError> {
    const UNITS: [(&str, u64); 4] = [
        ("", 1),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    const BINARY: [(&str, u64); 3] = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)];
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim_start();
    let plain = unit.strip_suffix('B').unwrap_or(unit);
    let factor = UNITS.iter().chain(&BINARY).find(|(name, _)| *name == plain);
    factor
        .and_then(|&(_, factor)| scaled(number, factor))
        .ok_or_else(|| error(format!("`{text}` is not a valid number of bytes"), SIZE))
}

/// Parses a time and returns it in nanoseconds: `250ns`, `100us`, `20ms`, `1.5s`, `2min`, `1h`. A
/// unit without a number counts as one: `s` is a second.
///
/// # Errors
/// [`UnitError`] where it is not such a time, or more than 584 years.
pub fn duration(text: &str) -> Result<u64, UnitError> {
    const UNITS: [(&str, u64); 7] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("s", 1_000_000_000),
    ];
    let text = text.trim();
    for (unit, factor) in UNITS {
        let Some(number) = text.strip_suffix(unit) else {
            continue;
        };
        let number = number.trim_end();
        let number = if number.is_empty() { "1" } else { number };
        if let Some(ns) = scaled(number, factor) {
            return Ok(ns);
        }
        break;
    }
    Err(error(format!("`{text}` is not a valid time"), DURATION))
}

/// Parses a rate as a number and a time in nanoseconds: `100/s`, `20/100ms`.
///
/// # Errors
/// [`UnitError`] where it is not a rate, or where the number or the time is 0.
pub fn rate(text: &str) -> Result<(u32, u64), UnitError> {
    let bad = || error(format!("`{}` is not a valid rate", text.trim()), RATE);
    let (count, time) = text.split_once('/').ok_or_else(bad)?;
    let count: u32 = count.trim().parse().map_err(|_| bad())?;
    let time = duration(time).map_err(|_| bad())?;
    if count == 0 {
        return Err(error(
            "a rate of 0 passes no frames",
            "to drop all frames, write `drop = true` instead of a limit",
        ));
    }
    if time == 0 {
        return Err(error("a rate needs a time that is longer than 0", RATE));
    }
    Ok((count, time))
}

/// Parses bytes from pairs of hex digits; blanks and dots between the pairs are allowed, as candump
/// and cansend allow dots.
///
/// # Errors
/// [`UnitError`] where a character is not a hex digit or a pair has only one.
pub fn hex_bytes(text: &str) -> Result<Vec<u8>, UnitError> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut high: Option<u8> = None;
    for c in text.chars() {
        if matches!(c, ' ' | '.') && high.is_none() {
            continue;
        }
        let Some(digit) = c.to_digit(16) else {
            return Err(error(format!("`{c}` is not a hex digit"), HEX));
        };
        let digit = digit as u8;
        match high.take() {
            None => high = Some(digit),
            Some(h) => bytes.push(h << 4 | digit),
        }
    }
    if high.is_some() {
        return Err(error("a byte has two hex digits, the last has one", HEX));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_rates() {
        assert_eq!(bitrate("500k"), Ok(500_000));
        assert_eq!(bitrate("33.333k"), Ok(33_333));
        assert_eq!(bitrate("2M"), Ok(2_000_000));
        assert_eq!(bitrate("1 Mbit/s"), Ok(1_000_000));
        assert_eq!(bitrate("83333"), Ok(83_333));
        assert_eq!(line_rate("2.5G"), Ok(2_500_000_000));
        assert_eq!(line_rate("10 Gbit/s"), Ok(10_000_000_000));
        assert_eq!(line_rate("500k"), Ok(500_000));
        assert!(bitrate("10G").is_err());
        // A hint names only what the key takes, and all units that it takes.
        assert_eq!(line_rate("1T").map_err(|error| error.hint), Err(LINE_RATE));
        assert_eq!(bitrate("10G").map_err(|error| error.hint), Err(BITRATE));
        assert!(LINE_RATE.contains("1G") && !BITRATE.contains('G'));
        for bad in [
            "", "k", "-1", "500m", "1.2345k", "5000M", "1e3", "1.", ".5k",
        ] {
            assert!(bitrate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        let good = [
            ("65536", 65_536),
            ("7B", 7),
            ("64k", 64_000),
            ("1.5 M", 1_500_000),
            ("100MB", 100_000_000),
            ("1GiB", 1 << 30),
            ("0.5KiB", 512),
        ];
        for (text, bytes) in good {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "k", "-1", "1T", "1.0001k", "1e3", "1kk", "99999999999G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(duration("1.5s"), Ok(1_500_000_000));
        assert_eq!(duration("ms"), Ok(1_000_000));
        assert_eq!(duration("2min"), Ok(120_000_000_000));
        assert_eq!(duration("7 µs"), Ok(7_000));
        for bad in ["", "1", "1.5ns", "s1", "-1s", "99999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("100/s"), Ok((100, 1_000_000_000)));
        assert_eq!(rate("20 / 100ms"), Ok((20, 100_000_000)));
        for bad in ["0/s", "1/0s", "1", "/s", "1/", "1.5/s", "1//s"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bytes() {
        assert_eq!(hex_bytes("00ff 1.2"), Err(error_of("00ff 1.2")));
        assert_eq!(hex_bytes("00ff.12"), Ok(vec![0, 255, 0x12]));
        assert_eq!(hex_bytes(""), Ok(vec![]));
        assert!(hex_bytes("0").is_err());
        assert!(hex_bytes("0x00").is_err());
    }

    fn error_of(text: &str) -> UnitError {
        hex_bytes(text).unwrap_err()
    }
}
