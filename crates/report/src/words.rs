//! Numbers and lists in sentences.

/// Formats digits in groups of three, joined by a narrow space, as the scripts do.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Joins texts: "a", "a and b", "a, b and c"; empty without any.
pub(crate) fn joined<T: AsRef<str>>(parts: &[T]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// Returns "once", "twice", "3 times".
pub(crate) fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", count(n)),
    }
}

/// Formats nanoseconds as µs with at most one decimal; from 50 ms on as ms, as in the charts.
pub(crate) fn micros(ns: i64) -> String {
    let (per, unit) = if ns < 50_000_000 {
        (1e3, "µs")
    } else {
        (1e6, "ms")
    };
    let text = format!("{:.1}", ns as f64 / per);
    let text = text.strip_suffix(".0").unwrap_or(&text).replace('-', "−");
    format!("{text} {unit}")
}

/// Formats a share in per cent; only 0 is written as 0, and only the whole as 100.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let share = 100.0 * part as f64 / whole as f64;
    match (part, part == whole) {
        (0, _) => "0 %".to_owned(),
        (_, true) => "100 %".to_owned(),
        _ if share < 0.1 => "<0.1 %".to_owned(),
        _ if share > 99.9 => ">99.9 %".to_owned(),
        _ => format!("{share:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_shares_are_not_rounded_away() {
        assert_eq!((count(0), count(999)), ("0".into(), "999".into()));
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(percent(1, 100_000), "<0.1 %");
        assert_eq!(percent(99_999, 100_000), ">99.9 %");
        assert_eq!(
            (percent(5, 5), percent(0, 5)),
            ("100 %".into(), "0 %".into())
        );
        assert_eq!(percent(0, 0), "–");
        assert_eq!(
            (micros(221_481), micros(0)),
            ("221.5 µs".into(), "0 µs".into())
        );
        assert_eq!(micros(-1_500), "−1.5 µs");
        assert_eq!(micros(64_000_000), "64 ms");
    }

    #[test]
    fn lists_are_read_aloud() {
        assert_eq!(joined::<&str>(&[]), "");
        assert_eq!(joined(&["a"]), "a");
        assert_eq!(joined(&["a", "b", "c"]), "a, b and c");
        assert_eq!(
            (times(1), times(2), times(3)),
            ("once".into(), "twice".into(), "3 times".into())
        );
    }
}
