//! When a message is sent, by the words that tools have for it.

/// What send types of messages and signals begin or end with, or have in them, if something that
/// happens sends a frame: in English and German.
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

/// The same, if a frame comes in a cycle.
const CYCLES: [&str; 4] = ["cycl", "zykl", "period", "fixed"];

/// Send types that say nothing, in small letters and without blanks.
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

/// Can a frame of this send type come apart from its cycle? A type that is not known counts as one
/// that can: a bound must not rest on a word that was not understood.
pub(super) fn is_on_event(send_type: &str) -> bool {
    let name: alloc::string::String = send_type
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let silent = NOTHING.contains(&name.as_str());
    // A number is a place in a list that the file does not have.
    let unknown = !silent && !has(&CYCLES);
    has(&EVENTS) || unknown
}

#[cfg(test)]
mod tests {
    use super::is_on_event;

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
}
