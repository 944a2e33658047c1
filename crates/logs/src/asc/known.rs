//! Lines of ASC that are not frames. Only those that are listed here are skipped.

use crate::words::{LineWord, LineWords};

/// The beginnings of lines without a time.
const HEADERS: [&[&str]; 8] = [
    &["internal", "events"],
    &["no", "internal", "events"],
    &["End", "Triggerblock"],
    &["previous", "log", "file:"],
    &["#"],
    &["///"],
    &["Comment:"],
    &["split", "information:"],
];

/// The beginnings of events, after their time: of the measurement, of other buses, of the user.
const EVENTS: [&str; 31] = [
    "Start",
    "Stop",
    "End",
    "Begin",
    "Log",
    "Trigger",
    "Comment",
    "Global",
    "GPS",
    "GPS-Device",
    "SV",
    "EnvVar",
    "Test",
    "TFS",
    "TE",
    "Macro",
    "Status",
    "Statistic",
    "J1939TP",
    "XCP",
    "CCP",
    "Diag",
    "OBD",
    "Li",
    "Fr",
    "ETH",
    "AFDX",
    "A429",
    "WLAN",
    "K-Line",
    "KLine",
];

/// Buses whose events begin with their name and a number or a speed: `L1`, `MOST150`.
const NUMBERED: [&str; 2] = ["L", "MOST"];

/// Words that follow a channel in place of an ID.
const OF_CHANNEL: [&str; 8] = [
    "Statistic",
    "Status",
    "OverloadFrame",
    "Overload",
    "J1939TP",
    "Overrun",
    "Trigger",
    "Chip",
];

/// Returns whether it is one of the lines that have no time.
pub(super) fn is_header(first: &LineWord<'_>, rest: LineWords<'_>) -> bool {
    HEADERS.iter().any(|header| {
        let mut expected = header.iter();
        expected.next().is_some_and(|word| first.is(word))
            && expected
                .zip(rest.map(Some).chain(std::iter::repeat(None)))
                .all(|(word, found)| found.is_some_and(|found| found.is(word)))
    })
}

/// Returns whether it is the start of the measurement, in English, German or French.
pub(super) fn is_start(mut words: LineWords<'_>) -> bool {
    const STARTS: [(&str, &str); 6] = [
        ("Start", "measurement"),
        ("Start", "Messung"),
        ("D\u{e9}but", "mesure"),
        ("D\u{e9}marrage", "mesure"),
        ("Debut", "mesure"),
        ("Demarrage", "mesure"),
    ];
    let Some(first) = words.next() else {
        return false;
    };
    let rest: Vec<LineWord<'_>> = words.take(3).collect();
    STARTS
        .iter()
        .any(|(begin, end)| is_in_latin(first.text, begin) && rest.iter().any(|word| word.is(end)))
}

/// Returns whether it is an event that is not a frame.
pub(super) fn is_event(words: LineWords<'_>) -> bool {
    let mut ahead = words;
    let Some(first) = ahead.next() else {
        return true;
    };
    // The state of a channel, as in `CAN 1 Status:chip status error active`.
    if first.is("CAN") {
        return ahead.nth(1).is_some_and(|word| is_of_channel(&word));
    }
    // `NAME := value` is an environment variable, `LABEL:` an event with a label.
    if ahead.next().is_some_and(|word| word.text == b":=") || is_label(first.text) {
        return true;
    }
    let numbered = NUMBERED.iter().any(|name| {
        let digits = first.text.get(name.len()..).unwrap_or_default();
        first.text.starts_with(name.as_bytes())
            && !digits.is_empty()
            && digits.iter().all(u8::is_ascii_digit)
    });
    numbered || EVENTS.iter().any(|event| first.is(event))
}

/// Returns whether it is a word that follows a channel in place of an ID.
pub(super) fn is_of_channel(word: &LineWord<'_>) -> bool {
    is_label(word.text) || OF_CHANNEL.iter().any(|event| word.is(event))
}

/// Returns whether it is a frame that was requested to be sent, and was not on the bus yet.
pub(super) fn is_request(word: &LineWord<'_>) -> bool {
    word.is("TxRq") || word.is("TxRequest")
}

/// Returns whether it is a word with a colon at its end or within, that begins with a letter:
/// `SV:`, `Status:chip`.
fn is_label(text: &[u8]) -> bool {
    let end = text.iter().position(|b| *b == b':');
    end.and_then(|end| text.get(..end)).is_some_and(|name| {
        name.len() >= 2
            && name.first().is_some_and(u8::is_ascii_alphabetic)
            && name
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(b))
    })
}

/// Returns whether a text is this word in UTF-8 or Latin-1.
fn is_in_latin(text: &[u8], word: &str) -> bool {
    let latin: String = text.iter().map(|b| char::from(*b)).collect();
    let same = |text: &str| text.to_lowercase() == word.to_lowercase();
    str::from_utf8(text).is_ok_and(same) || same(&latin)
}
