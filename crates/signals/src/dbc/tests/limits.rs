//! Limits of a file, and values that are left out.

use crate::dbc::{read, read_within};
use crate::room::SignalRoom;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// Many messages can have one ID, and with it the texts of each statement about this ID.
#[test]
fn messages_and_texts_have_a_limit() {
    let long = "n".repeat(1000);
    let messages = |receivers: usize| {
        let receivers = ["B"].repeat(receivers).join(",");
        let signal = format!(" SG_ s : 0|8@1+ (1,0) [0|0] \"\" {receivers}\n");
        format!("BO_ 1 M: 8 A\n{signal}\n").repeat(40)
    };
    let texts = "more than 512 MiB of names and comments of signals";
    for (text, words) in [
        (
            messages(1).repeat(3),
            "more than 1000000 messages and signals",
        ),
        (
            messages(5) + &format!("BA_ \"SystemNodeLongSymbol\" BU_ B \"{long}\";\n"),
            texts,
        ),
        (
            messages(1) + &format!("BA_ \"SystemNodeLongSymbol\" BU_ A \"{long}\";\n"),
            texts,
        ),
        (
            messages(1) + &format!("BA_ \"SystemMessageLongSymbol\" BO_ 1 \"{long}\";\n"),
            texts,
        ),
        (
            messages(1) + &format!("BA_ \"E2EDataId\" BO_ 1 \"{long}\";\n"),
            texts,
        ),
        (messages(1) + &format!("CM_ BO_ 1 \"{long}\";\n"), texts),
        (messages(1) + &format!("CM_ SG_ 1 s \"{long}\";\n"), texts),
        (messages(1) + &format!("VAL_ 1 s 1 \"{long}\" ;\n"), texts),
    ] {
        let text = format!("BU_: A B\n{text}");
        assert!(read(text.as_bytes()).is_ok());
        let error = read_within(text.as_bytes(), &SignalRoom::of(200, 30_000)).unwrap_err();
        let lines = 2..text.lines().count();
        assert!(lines.contains(&error.line), "{error}");
        let words = format!("{words}: divide the file into several databases");
        assert_eq!(error.problem, words);
    }
}

/// The name of a message is in the warning about each of its signals.
#[test]
fn names_in_warnings_are_short() {
    let name = "n".repeat(10_000);
    let signal = format!(" SG_ {name} : 7|2@1+ (1,0) [0|9] \"\" A\n");
    let text = format!("BU_: A\nBO_ 1 {name}: 1 A\n{}\n", signal.repeat(2));
    let found = read(text.as_bytes()).unwrap();
    assert_eq!((found.warnings.len(), found.check().len()), (3, 3));
    for warning in found.warnings.iter().chain(&found.check()) {
        assert!(warning.problem.len() < 400, "{warning:?}");
    }
}

/// A time that cannot be is left out, with the place and the cure.
#[test]
fn impossible_times_are_named() {
    let text = "BU_: A\nBO_ 1 M: 8 A\n SG_ s : 0|8@1+ (1,0) [0|0] \"\" A\n\n\
        BA_DEF_ BO_ \"GenMsgDelayTime\" INT 0 0;\nBA_DEF_DEF_ \"GenMsgDelayTime\" -1;\n\
        BA_ \"GenMsgCycleTime\" BO_ 1 -5;\nBA_ \"GenMsgCycleTimeFast\" BO_ 1 1000000000000;\n\
        BA_ \"E2ETimeout\" BO_ 1 \"soon\";\nBA_ \"GenSigCycleTime\" SG_ 1 s -1;\n\
        BA_ \"GenSigTimeoutTime_A\" SG_ 1 s -2;\n\
        BA_REL_ \"GenSigTimeoutTime\" BU_SG_REL_ A SG_ 1 s -3;\n";
    let found = read(text.as_bytes()).unwrap();
    let words: Vec<String> = found
        .warnings
        .iter()
        .map(|one| format!("{}: {}", one.line, one.problem))
        .collect();
    let expected = [
        "6: GenMsgDelayTime by default: `-1`",
        "7: GenMsgCycleTime of message 1: `-5`",
        "8: GenMsgCycleTimeFast of message 1: `1000000000000`",
        "9: E2ETimeout of message 1: `soon`",
        "10: GenSigCycleTime of s of message 1: `-1`",
        "11: GenSigTimeoutTime_A of s of message 1: `-2`",
        "12: GenSigTimeoutTime of A for s of message 1: `-3`",
    ];
    let cure =
        " is not a time, and is left out: write ms above 0 and up to 11 days, or 0 for no time";
    assert_eq!(words, expected.map(|start| start.to_string() + cure));
    let message = &found.messages[0];
    assert_eq!(
        (message.cycle, message.delay, message.fast),
        (None, None, None)
    );
    assert_eq!(message.signals[0].timeouts, []);
    // 0 and an empty text state that there is no time.
    let text = "BU_: A\nBO_ 1 M: 8 A\n\nBA_DEF_DEF_ \"GenMsgDelayTime\" \"\";\n\
        BA_ \"GenMsgCycleTime\" BO_ 1 0;\nBA_ \"E2ETimeout\" BO_ 1 \"0 ms\";\n\
        BA_ \"GenMsgCycleTimeFast\" BO_ 1 \"20 ms\";\n";
    let found = read(text.as_bytes()).unwrap();
    assert_eq!(
        (found.warnings, found.messages[0].fast),
        (Vec::new(), Some(20_000_000))
    );
}
