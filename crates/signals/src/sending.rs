//! The send types of messages, by the words that tools have for them.

use alloc::string::String;

/// Parts of the send types of messages and signals that mean that an event sends a frame: in
/// English and German.
const EVENTS: [&str; 15] = [
    "spontan",
    "event",
    "change",
    "write",
    "trigger",
    "request",
    "active",
    "sporad",
    "demand",
    "once",
    "repet",
    "ereig",
    "\u{e4}nder",
    "aender",
    "bedarf",
];

/// The same for frames that are sent in a cycle.
const CYCLES: [&str; 4] = ["cycl", "zykl", "period", "fixed"];

/// The same for frames that are sent in a cycle only while a signal is active.
const WHILE_ACTIVE: [&str; 2] = ["activ", "aktiv"];

/// Send types without a meaning, in lower case and without blanks.
const NOTHING: [&str; 14] = [
    "",
    "-",
    "no",
    "none",
    "notused",
    "unused",
    "nomsgsendtype",
    "nosigsendtype",
    "nosendtype",
    "vector_leerstring",
    "reserved",
    "undefined",
    "default",
    "na",
];

/// Returns whether a frame of this send type can be sent outside its cycle. An unknown type counts
/// as one that can: a bound must not depend on a word that was not understood.
pub(super) fn is_on_event(send_type: &str) -> bool {
    let name = normalized(send_type);
    let silent = NOTHING.contains(&name.as_str());
    // A number is an index in a list that the file does not have.
    let unknown = !silent && !has(&name, &CYCLES);
    has(&name, &EVENTS) || unknown
}

/// Returns whether a frame of this send type is sent in a cycle; `Some(false)` if only while a
/// signal is active, `None` if the send type does not say it.
pub(super) fn is_cyclic(send_type: &str) -> Option<bool> {
    let name = normalized(send_type);
    let is_limited = has(&name, &WHILE_ACTIVE);
    (is_limited || has(&name, &CYCLES)).then_some(!is_limited)
}

/// Returns a send type in lower case and without blanks.
fn normalized(send_type: &str) -> String {
    let lower = send_type.to_lowercase();
    lower.chars().filter(|c| !c.is_whitespace()).collect()
}

fn has(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::{is_cyclic, is_on_event};

    #[test]
    fn only_known_words_are_cycles() {
        for cyclic in [
            "cyclic",
            "Cyclic",
            "FixedPeriodic",
            "zyklisch",
            "NoMsgSendType",
            "not used",
            "",
        ] {
            assert!(!is_on_event(cyclic), "{cyclic}");
        }
        for event in [
            "spontaneous",
            "cyclicAndSpontaneous",
            "OnChangeWithRepetition",
            "OnWrite",
            "cyclicIfActive",
            "beiAenderung",
            "Eventperiodic",
            "vendor special",
            "7",
        ] {
            assert!(is_on_event(event), "{event}");
        }
    }

    #[test]
    fn a_cycle_of_active_signals_is_not_kept() {
        for (word, expected) in [
            ("Cyclic", Some(true)),
            ("fixed periodic", Some(true)),
            ("cyclicIfActive", Some(false)),
            ("zyklisch wenn Aktiv", Some(false)),
            ("spontaneous", None),
            ("", None),
        ] {
            assert_eq!(is_cyclic(word), expected, "{word}");
        }
    }
}
