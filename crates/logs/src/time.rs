//! Conversion between dates and nanoseconds since 1970. A log does not give its time zone: its
//! dates are interpreted as UTC.

use crate::time_words::{half_of, in_words, is_filler, is_zone, month_of, numbered_month};
use crate::words::{LineWord, decimal, number};
use frame::Nanos;
use std::fmt;

const SECOND: Nanos = 1_000_000_000;
const DAY: Nanos = 86_400 * SECOND;

/// Returns the time of a day of the calendar, from 1970 to 2500.
pub(crate) fn day(year: u32, month: u32, day: u32) -> Option<Nanos> {
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

/// Parses `14:57:33.123456`.
pub(crate) fn clock(text: &[u8]) -> Option<Nanos> {
    let mut parts = text.split(|b| *b == b':');
    let (hours, minutes) = (number(parts.next()?, 10)?, number(parts.next()?, 10)?);
    let seconds = parts.next().map_or(Some(0), |text| decimal(text, 9))?;
    let fits = hours < 24 && minutes < 60 && seconds < 61 * SECOND && parts.next().is_none();
    fits.then(|| Nanos::from(hours * 3600 + minutes * 60) * SECOND + seconds)
}

/// Parses `2012-11-28`.
pub(crate) fn iso_day(text: &[u8]) -> Option<Nanos> {
    let mut parts = text.split(|b| *b == b'-').map(|part| number(part, 10));
    let (y, m, d) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    day(y, m, d)
}

/// Parses `Wed Nov 28 02:57:33.123 pm 2012`, in any order and language that is unambiguous.
///
/// Of two names or more, the first is the day of the week: `mar.` is Tuesday in French, and March
/// elsewhere. With an unknown month, there is no date; nor with another unknown word, which can be
/// the name of a half of the day.
pub(crate) fn date<'a>(words: impl Iterator<Item = LineWord<'a>>) -> Option<Nanos> {
    let (mut year, mut month, mut of_month, mut time) = (None, None, None, None);
    let mut half = None;
    let mut names = Vec::new();
    for word in words.take(16) {
        let text = in_words(word.text);
        let bare = text.trim_end_matches(['.', ',']);
        if text.contains(':') {
            time = Some(clock(text.replace(',', ".").as_bytes())?);
        } else if let Some(second) = half_of(word.text, &text) {
            half = Some(second);
        } else if is_filler(&text) || time.is_some() && is_zone(word.text, &text) {
        } else if let Some(n) = number(bare.as_bytes(), 10) {
            if bare.len() == 4 {
                year = Some(n);
            } else {
                of_month = Some(n);
            }
        } else if let Some(numbered) = numbered_month(word.text) {
            month = Some(numbered);
        } else if bare.starts_with(|c: char| c.is_ascii_digit()) {
            let (y, m, d) = in_numbers(bare)?;
            (year, month, of_month) = (Some(y), Some(m), Some(d));
        } else {
            names.push(text);
        }
    }
    // Only with a month in numbers, a single name is the day of the week.
    let has_day = names.len() > 1 || month.is_some();
    let others = names.get(usize::from(has_day)..).unwrap_or_default();
    let named = others.iter().position(|name| month_of(name).is_some());
    let mut time = time?;
    let unknown = others.len() - usize::from(named.is_some());
    let hour = time / (3600 * SECOND);
    if unknown > 0 && half.is_none() && (1..=12).contains(&hour) {
        return None;
    }
    let month = month.or_else(|| month_of(others.get(named?)?));
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

/// Parses `2012-11-28` or `28.11.2012`: the meaning of each number is unambiguous.
fn in_numbers(text: &str) -> Option<(u32, u32, u32)> {
    let separator = if text.contains('-') { '-' } else { '.' };
    let mut parts = text
        .split(separator)
        .map(|part| number(part.as_bytes(), 10));
    let (a, b, c) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    match separator {
        '-' if a > 31 => Some((a, b, c)),
        '.' if c > 31 => Some((c, b, a)),
        _ => None,
    }
}

/// Returns the origin of the times of a file whose first frame has this stamp: the beginning of its
/// millisecond.
pub(crate) const fn origin(first: Nanos) -> Nanos {
    if first > i64::MAX as Nanos {
        // After 2262 there is no date that readers can parse. Times count from 1970.
        return 0;
    }
    first - first % 1_000_000
}

/// A time of the calendar, in UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CivilTime {
    year: u64,
    /// 1 to 12.
    month: u64,
    day: u64,
    /// 0: Sunday.
    weekday: u64,
    /// Milliseconds since midnight.
    ms: u64,
}

impl CivilTime {
    /// Returns the time of the calendar for Unix time.
    pub(crate) const fn from_nanos(ns: Nanos) -> Self {
        let days = ns / DAY;
        // In years that begin with March, the leap day is the last one. An era is 400 years; day 0
        // is 0000-03-01.
        let since = days + 719_468;
        let (era, of_era) = (since / 146_097, since % 146_097);
        let of_years = of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096;
        let year = of_years / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        Self {
            year: era * 400 + year + (month >= 10) as u64,
            month: if month < 10 { month + 3 } else { month - 9 },
            day: of_year - (153 * month + 2) / 5 + 1,
            weekday: (days + 4) % 7,
            ms: ns % DAY / 1_000_000,
        }
    }

    /// Writes `14:57:33.123`.
    fn clock(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ms) = (self.ms / 1000, self.ms % 1000);
        let (minutes, hours) = (seconds / 60 % 60, seconds / 3600);
        write!(f, "{hours:02}:{minutes:02}:{:02}.{ms:03}", seconds % 60)
    }
}

/// `Wed Nov 28 14:57:33.123 2012`; the alternate form is `2012-11-28 14:57:33.123`.
impl fmt::Display for CivilTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
        const MONTHS: [&str; 12] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        if f.alternate() {
            write!(f, "{:04}-{:02}-{:02} ", self.year, self.month, self.day)?;
            return self.clock(f);
        }
        let weekday = DAYS.get(self.weekday as usize).unwrap_or(&"");
        let month = MONTHS.get(self.month as usize - 1).unwrap_or(&"");
        write!(f, "{weekday} {month} {:02} ", self.day)?;
        self.clock(f)?;
        write!(f, " {}", self.year)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::LineWords;

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
    fn a_date_that_is_written_is_read_again() {
        assert_eq!(
            CivilTime::from_nanos(1_354_114_653_123_000_000).to_string(),
            "Wed Nov 28 14:57:33.123 2012"
        );
        // Every day up to 2262, at another time of day.
        for days in 0..106_000 {
            let ns = days * DAY + days * 813_000_000 % DAY;
            let text = CivilTime::from_nanos(ns).to_string();
            assert_eq!(date(LineWords::new(text.as_bytes())), Some(ns), "{text}");
        }
    }

    #[test]
    fn dates_of_several_programs() {
        let of = |text: &str| date(LineWords::new(text.as_bytes()));
        let same = Some((1_354_060_800 + 14 * 3600 + 57 * 60 + 33) * SECOND + 123_000_000);
        for text in [
            "Wed Nov 28 02:57:33.123 pm 2012",
            "Wed Nov 28 14:57:33.123 2012",
            "Mit Nov 28 14:57:33.123 PM 2012",
            "2012 28 November 14:57:33.123",
            "mer. nov. 28 14:57:33.123 2012",
            "mi\u{e9} nov 28 02:57:33.123 p. m. 2012",
            "Mittwoch, 28. November 2012 14:57:33,123",
            "\u{6c34} 11\u{6708} 28 \u{5348}\u{5f8c} 2:57:33.123 2012",
            "2012-11-28 14:57:33.123",
            "28.11.2012 14:57:33.123",
        ] {
            assert_eq!(of(text), same, "{text}");
        }
        let midnight = of("Fre M\u{e4}r 01 12:00:00.000 am 2013");
        assert_eq!(midnight, Some(1_362_096_000 * SECOND));
        let april = Some((19_822 * 86_400 + 9 * 3600) * SECOND);
        for text in [
            "mar. avr. 9 09:00:00 2024",
            "mar abr 9 09:00:00 2024",
            "mar apr 9 09:00:00 2024",
            "Die Apr 9 09:00:00 2024",
            "wto kwi 9 09:00:00 2024",
            "Tue Apr 9 09:00:00 am 2024",
        ] {
            assert_eq!(of(text), april, "{text}");
        }
        for (text, month) in [
            ("juin", 6),
            ("juil.", 7),
            ("ao\u{fb}t", 8),
            ("d\u{e9}c.", 12),
        ] {
            let date = of(&format!("lun. {text} 2 09:00:00 2024"));
            let expected = day(2024, month, 2).map(|day| day + 9 * 3600 * SECOND);
            assert_eq!(date, expected, "{text}");
        }
        for (text, month) in [
            ("Man Des", 12),
            ("pon. dub", 4),
            ("po \u{10d}vc", 7),
            ("Pzt Nis", 4),
            ("Cum Kas", 11),
            ("h. \u{e1}pr.", 4),
            ("Lun Iun", 6),
            ("ma marras", 11),
            ("ke hein\u{e4}", 7),
            ("\u{43f}\u{43d} \u{430}\u{43f}\u{440}", 4),
            ("\u{394}\u{3b5}\u{3c5} \u{391}\u{3c0}\u{3c1}", 4),
            ("\u{c6d4} 4\u{c6d4}", 4),
        ] {
            let expected = day(2024, month, 2).map(|day| day + 9 * 3600 * SECOND);
            assert_eq!(of(&format!("{text} 2 09:00:00 2024")), expected, "{text}");
        }
        // A month in an unknown language is not mistaken for another one.
        assert_eq!(of("mar. xyz. 9 09:00:00 2024"), None);
        assert_eq!(of("Fri MAR 1 09:00:00 2024"), of("Fri Mar 1 09:00:00 2024"));
        assert_eq!(of("04/09/2024 09:00:00"), None);
        assert_eq!(of("Wed Nov 28 2012"), None);
        assert_eq!(of("Wed Nov 31 10:00:00 2012"), None);
    }

    #[test]
    fn halves_of_the_day_are_known_or_there_is_no_date() {
        let of = |text: &str| date(LineWords::new(text.as_bytes()));
        let at = |hour: Nanos| Some((19_821 * 86_400 + hour * 3600) * SECOND);
        for (first, second) in [
            ("am", "pm"),
            ("AM", "PM."),
            ("a.m.", "p.m."),
            ("a. m.", "p. m."),
            ("a.\u{a0}m.", "p.\u{202f}m."),
            ("dop.", "odp."),
            ("de.", "du."),
            ("\u{d6}\u{d6}", "\u{d6}S"),
            ("fm", "em"),
            ("\u{4e0a}\u{5348}", "\u{4e0b}\u{5348}"),
        ] {
            assert_eq!(
                of(&format!("x apr. 8 02:00:00 {first} 2024")),
                at(2),
                "{first}"
            );
            assert_eq!(
                of(&format!("x apr. 8 02:00:00 {second} 2024")),
                at(14),
                "{second}"
            );
            assert_eq!(
                of(&format!("x apr. 8 12:00:00 {second} 2024")),
                at(12),
                "{second}"
            );
        }
        for (month, first, second) in [
            (
                &b"\x8C\x8E"[..],
                &b"\x8C\xDF\x91\x4F"[..],
                &b"\x8C\xDF\x8C\xE3"[..],
            ),
            (b"\xD4\xC2", b"\xC9\xCF\xCE\xE7", b"\xCF\xC2\xCE\xE7"),
            (b"\xA4\xEB", b"\xA4\x57\xA4\xC8", b"\xA4\x55\xA4\xC8"),
            (b"\xBF\xF9", b"\xBF\xC0\xC0\xFC", b"\xBF\xC0\xC8\xC4"),
        ] {
            for (half, hour) in [(first, 2), (second, 14)] {
                let text = [b"x 4", month, b" 8 02:00:00 ", half, b" 2024"].concat();
                assert_eq!(date(LineWords::new(&text)), at(hour), "{text:?}");
            }
        }
        // An unknown word can be a half of the day, unless the hour shows that there is none.
        assert_eq!(of("Mon Apr 8 02:00:00 XX 2024"), None);
        assert_eq!(of("Mo Apr 8 02:00:00 nachm. 2024"), None);
        assert_eq!(of("Mon Apr 8 14:00:00 XX 2024"), at(14));
        assert_eq!(of("Mo Apr 8 02:00:00 Uhr 2024"), at(2));
        assert_eq!(of("Mon Apr 8 02:00:00 CEST 2024"), at(2));
        assert_eq!(of("Mon Apr 8 02:00:00 GMT+1 2024"), at(2));
        assert_eq!(of("Seg 8 de abr. de 2024 02:00:00"), at(2));
    }
}
