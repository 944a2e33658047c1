//! Text from outside, made safe for XML and HTML; numbers for people.

/// Escapes text for element content and for attributes in double or single quotes. Characters
/// that XML cannot carry (control characters, U+FFFE, U+FFFF) become U+FFFD.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' => safe.push(c),
            '\u{FFFE}' | '\u{FFFF}' => safe.push('\u{FFFD}'),
            c if c.is_control() => safe.push('\u{FFFD}'),
            c => safe.push(c),
        }
    }
    safe
}

/// At most `most` characters, the last one an ellipsis where something was cut.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Digits in groups of three, joined by a narrow space.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{202F}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Nanoseconds as microseconds, to the nanosecond.
#[must_use]
pub fn micros(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", count(ns / 1_000), ns % 1_000)
}

/// A tick's label: no more digits than the distance between ticks needs.
pub(crate) fn tick(value: f64, step: f64) -> String {
    let digits = if step >= 1.0 {
        0
    } else {
        (-step.log10()).ceil().clamp(0.0, 9.0) as usize
    };
    let text = format!("{value:.digits$}");
    if text
        .trim_start_matches('-')
        .chars()
        .all(|c| c == '0' || c == '.')
    {
        "0".to_owned()
    } else if digits == 0 && value.abs() >= 10_000.0 && value.abs() < 1e15 {
        let sign = if value < 0.0 { "−" } else { "" };
        format!("{sign}{}", count(value.abs() as u64))
    } else {
        text.replace('-', "−")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        assert_eq!(
            escape("<b a=\"1\" c='2'>&\u{1b}\u{0}é</b>"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{FFFD}\u{FFFD}é&lt;/b&gt;"
        );
    }

    #[test]
    fn numbers() {
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1\u{202F}234\u{202F}567");
        assert_eq!(micros(27_000), "27.000");
        assert_eq!(micros(1_234_560), "1\u{202F}234.560");
        assert_eq!(micros(-40), "−0.040");
        assert_eq!(
            micros(i64::MIN),
            "−9\u{202F}223\u{202F}372\u{202F}036\u{202F}854\u{202F}775.808"
        );
        assert_eq!(tick(0.30000000000000004, 0.1), "0.3");
        assert_eq!(tick(-0.0, 5.0), "0");
        assert_eq!(tick(-20_000.0, 5.0), "−20\u{202F}000");
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
