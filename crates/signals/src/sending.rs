//! The send types of messages, by the words that tools have for them.

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
    let name: alloc::string::String = send_type
        .to_lowercase()
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let silent = NOTHING.contains(&name.as_str());
    // A number is an index in a list that the file does not have.
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
