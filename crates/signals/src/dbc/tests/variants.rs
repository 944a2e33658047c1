//! Variants of the files in `tests/field`: send types, cycle times, IDs, encodings and ends.

use crate::dbc::read;
use crate::{MessageDatabase, MessageDefinition};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const MESSAGE: &str = "BO_ 256 PumpState: 8 Pump\n SG_ Flow : 0|8@1+ (1,0) [0|255] \"\" Valve\n\n";

const CYCLE: &str = "BA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 65535;\nBA_DEF_DEF_ \"GenMsgCycleTime\" 0;\n\
    BA_ \"GenMsgCycleTime\" BO_ 256 20;\n";

fn file(before: &str, after: &str) -> String {
    format!("VERSION \"\"\n\nBS_:\n\nBU_: Pump Valve\n\n{MESSAGE}{before}{CYCLE}{after}")
}

fn one(bytes: &[u8]) -> MessageDefinition {
    let found: MessageDatabase = read(bytes).unwrap();
    assert!(found.impossible.is_empty(), "{found:?}");
    found.messages.into_iter().next().unwrap()
}

/// An index that no word has, and a word that is not known, can be events.
#[test]
fn send_types_that_are_not_understood_are_events() {
    for (object, prefix) in [("BO_ 256", "GenMsg"), ("SG_ 256 Flow", "GenSig")] {
        let kind = object.split(' ').next().unwrap();
        for (words, value, on_event) in [
            ("\"cyclic\",\"OnWrite\"", "1", true),
            ("\"cyclic\",\"OnWrite\"", "\"OnWrite\"", true),
            ("\"cyclic\",\"OnWrite\"", "0", false),
            ("\"cyclic\",\"OnWrite\"", "\"cyclic\"", false),
            ("\"cyclic\",\"IfActive\"", "1", true),
            ("\"cyclic\",\"OnChangeWithRepetition\"", "1", true),
            ("\"cyclic\",\"bei\u{c4}nderung\"", "1", true),
            ("\"cyclic\",\"BAF\"", "1", true),
            ("\"cyclic\",\"NoSendType\"", "1", false),
            ("\"cyclic\",\"OnWrite\"", "7", true),
        ] {
            let text = format!(
                "BA_DEF_ {kind} \"{prefix}SendType\" ENUM {words};\n\
                 BA_DEF_DEF_ \"{prefix}SendType\" \"cyclic\";\n\
                 BA_ \"{prefix}SendType\" {object} {value};\n"
            );
            let found = one(file("", &text).as_bytes());
            assert_eq!(found.is_on_event(), on_event, "{text}");
        }
    }
    let default = "BA_DEF_ SG_ \"GenSigSendType\" ENUM \"Cyclic\",\"OnChange\";\n\
        BA_DEF_DEF_ \"GenSigSendType\" \"OnChange\";\n";
    assert!(one(file("", default).as_bytes()).is_on_event());
}

#[test]
fn cycle_times_have_several_types() {
    for (kind, default, value, ms) in [
        ("ENUM \"0\",\"10\",\"20\",\"100\"", "\"0\"", "2", Some(20.0)),
        // In quotation marks it is a word, and not an index.
        (
            "ENUM \"0\",\"10\",\"20\",\"100\"",
            "\"0\"",
            "\"20\"",
            Some(20.0),
        ),
        ("ENUM \"0\",\"2\",\"1\"", "\"0\"", "\"2\"", Some(2.0)),
        ("ENUM \"0\",\"2\",\"1\"", "\"0\"", "2", Some(1.0)),
        ("ENUM \"0 ms\",\"20 ms\"", "\"0 ms\"", "1", Some(20.0)),
        ("ENUM \"0\",\"0.5s\",\"2 s\"", "\"0\"", "1", Some(500.0)),
        ("ENUM \"0\",\"0.5s\",\"2 s\"", "\"0\"", "2", Some(2000.0)),
        ("ENUM \"0\",\"10\"", "\"0\"", "5", None),
        ("ENUM \"none\",\"fast\"", "\"none\"", "1", None),
        ("FLOAT 0 1000", "0", "20.5", Some(20.5)),
        ("HEX 0 65535", "0", "20", Some(20.0)),
        ("STRING ", "\"\"", "\"20\"", Some(20.0)),
        ("INT 0 65535", "0", "-20", None),
    ] {
        let text = format!(
            "{MESSAGE}BA_DEF_ BO_ \"GenMsgCycleTime\" {kind};\n\
             BA_DEF_DEF_ \"GenMsgCycleTime\" {default};\n\
             BA_ \"GenMsgCycleTime\" BO_ 256 {value};\n"
        );
        let expected = ms.map(|ms: f64| (ms * 1e6) as u64);
        assert_eq!(one(text.as_bytes()).cycle, expected, "{text}");
    }
}

/// Statements about a message that is left out are left out with it.
#[test]
fn a_message_whose_id_is_no_number_fails_alone() {
    for id in ["-1", "-1073741824", "0x101", "2.5", "1E3"] {
        let text = format!(
            "BO_ {id} Odd: 8 Pump\n SG_ a : 0|8@1+ (1,0) [0|0] \"\" Valve\n\n\
             CM_ BO_ {id} \"odd\";\nVAL_ {id} a 0 \"off\" ;\n"
        );
        let after = format!("BA_ \"GenMsgCycleTime\" BO_ {id} 5;\nBO_TX_BU_ {id} : Valve;\n");
        let found = read(file(&text, &after).as_bytes()).unwrap();
        let names: Vec<&str> = found.messages.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["PumpState"], "{id}");
        assert_eq!(found.messages[0].cycle, Some(20_000_000), "{id}");
        let [odd] = &found.impossible[..] else {
            panic!("{id}: {found:?}")
        };
        assert_eq!((odd.name.as_str(), odd.error.line), ("Odd", 10), "{id}");
        assert!(odd.error.problem.contains(id), "{id}: {}", odd.error);
        assert!(found.warnings.is_empty(), "{id}: {:?}", found.warnings);
    }
    // A statement that is wrong for another reason is refused.
    for wrong in ["BO_ 5 Odd 8 Pump\n", "BO_ x Odd: 8 Pump\n"] {
        assert!(read(file(wrong, "").as_bytes()).is_err(), "{wrong}");
    }
}

/// Old programs write Ctrl-Z at the end, and others fill the last block of a disk.
#[test]
fn a_file_has_any_end_and_any_line_ends() {
    let text = file("", "");
    for end in [
        "",
        "\u{1a}",
        "\n\u{1a}",
        "\u{1a}\u{1a}\r\n",
        "\u{1a}\0\0",
        "\0",
        "\u{c}",
        " \r\n \u{1a}",
    ] {
        let whole = format!("{}{end}", text.trim_end());
        assert_eq!(one(whole.as_bytes()).cycle, Some(20_000_000), "{end:?}");
        let wide: Vec<u8> = whole.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(one(&wide).cycle, Some(20_000_000), "{end:?}");
    }
    for ends in ["\r", "\r\n", "\r\r\n"] {
        let whole = text.replace('\n', ends);
        assert_eq!(one(whole.as_bytes()).cycle, Some(20_000_000), "{ends:?}");
    }
}
