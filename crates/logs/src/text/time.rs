//! Dates to nanoseconds since 1970. A log does not say its time zone: its dates are taken as UTC.

use super::words::{Word, decimal, number};
use frame::Nanos;

const SECOND: Nanos = 1_000_000_000;
const DAY: Nanos = 86_400 * SECOND;

/// The months in English, and where German ones begin otherwise.
const MONTHS: [(&str, u32); 17] = [
    ("jan", 1),
    ("feb", 2),
    ("mar", 3),
    ("mrz", 3),
    ("m\u{e4}r", 3),
    ("apr", 4),
    ("may", 5),
    ("mai", 5),
    ("jun", 6),
    ("jul", 7),
    ("aug", 8),
    ("sep", 9),
    ("oct", 10),
    ("okt", 10),
    ("nov", 11),
    ("dec", 12),
    ("dez", 12),
];

/// A day of the calendar, from 1970 to 2500.
pub(super) fn day(year: u32, month: u32, day: u32) -> Option<Nanos> {
    let leap = |year: u32| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let lengths = [
        31,
        if leap(year) { 29 } else { 28 },
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let length = *lengths.get(month.checked_sub(1)? as usize)?;
    if !(1970..=2500).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    let years: u32 = (1970..year).map(|year| 365 + u32::from(leap(year))).sum();
    let months: u32 = lengths.iter().take(month as usize - 1).sum();
    Some(Nanos::from(years + months + day - 1) * DAY)
}

/// `14:57:33.123456`
pub(super) fn clock(text: &[u8]) -> Option<Nanos> {
    let mut parts = text.split(|b| *b == b':');
    let (hours, minutes) = (number(parts.next()?, 10)?, number(parts.next()?, 10)?);
    let seconds = parts.next().map_or(Some(0), |text| decimal(text, 9))?;
    let fits = hours < 24 && minutes < 60 && seconds < 61 * SECOND && parts.next().is_none();
    fits.then(|| Nanos::from(hours * 3600 + minutes * 60) * SECOND + seconds)
}

/// `2012-11-28`
pub(super) fn iso_day(text: &[u8]) -> Option<Nanos> {
    let mut parts = text.split(|b| *b == b'-').map(|part| number(part, 10));
    let (y, m, d) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    day(y, m, d)
}

/// `Wed Nov 28 02:57:33.123 pm 2012`, in any order that leaves no doubt.
pub(super) fn date<'a>(words: impl Iterator<Item = Word<'a>>) -> Option<Nanos> {
    let (mut year, mut month, mut of_month, mut time) = (None, None, None, None);
    let mut half = None;
    for word in words {
        let text = word.text;
        if text.contains(&b':') {
            time = Some(clock(text)?);
        } else if word.is("am") || word.is("pm") {
            half = Some(word.is("pm"));
        } else if let Some(n) = word.number(10) {
            if text.len() == 4 {
                year = Some(n);
            } else {
                of_month = Some(n);
            }
        } else if let Some(named) = month_of(text) {
            // A weekday that looks like a month stands before it.
            month = Some(named);
        }
    }
    let mut time = time?;
    if let Some(afternoon) = half {
        let noon = 12 * 3600 * SECOND;
        if time >= 13 * 3600 * SECOND {
            // Some programs write 24 hours and the half of the day.
        } else {
            time = time % noon + if afternoon { noon } else { 0 };
        }
    }
    Some(day(year?, month?, of_month?)? + time)
}

fn month_of(text: &[u8]) -> Option<u32> {
    // Latin-1 or UTF-8: the one letter in question is the same in its low bits.
    let text = String::from_utf8(text.to_vec())
        .unwrap_or_else(|_| text.iter().copied().map(char::from).collect());
    let text = text.to_lowercase();
    let found = MONTHS.iter().find(|(name, _)| text.starts_with(name));
    found.map(|(_, month)| *month)
}

#[cfg(test)]
mod tests {
    use super::super::words::Words;
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        // `date -u -d … +%s`
        assert_eq!(day(1970, 1, 1), Some(0));
        assert_eq!(day(2012, 11, 28), Some(1_354_060_800 * SECOND));
        assert_eq!(day(2000, 2, 29), Some(951_782_400 * SECOND));
        assert_eq!(day(2001, 2, 29), None);
        assert_eq!(day(2001, 13, 1), None);
        assert_eq!(day(2001, 1, 0), None);
    }

    #[test]
    fn dates_of_several_programs() {
        let of = |text: &str| date(Words::new(text.as_bytes()));
        let same = Some((1_354_060_800 + 14 * 3600 + 57 * 60 + 33) * SECOND + 123_000_000);
        for text in [
            "Wed Nov 28 02:57:33.123 pm 2012",
            "Wed Nov 28 14:57:33.123 2012",
            "Mit Nov 28 14:57:33.123 PM 2012",
            "2012 28 November 14:57:33.123",
        ] {
            assert_eq!(of(text), same, "{text}");
        }
        let midnight = of("Fre M\u{e4}r 01 12:00:00.000 am 2013");
        assert_eq!(midnight, Some(1_362_096_000 * SECOND));
        assert_eq!(of("Wed Nov 28 2012"), None);
        assert_eq!(of("Wed Nov 31 10:00:00 2012"), None);
    }
}
