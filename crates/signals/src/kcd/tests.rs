use super::{read, read_within};
use crate::room::SignalRoom;
use crate::{ByteOrder, MessageDatabase, RawValue, SignalKind, SignalState};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use frame::CanId;

/// A file with each kind of element. `tests/integration/cantools` compares it with cantools.
const FILE: &str = include_str!("../../tests/databases/small.kcd");

fn warnings(database: &MessageDatabase) -> Vec<String> {
    let words = database.warnings.iter();
    let words = words.map(|one| format!("{}: {}", one.line, one.problem));
    words.collect()
}

#[test]
fn a_file_is_read() {
    let found = read(FILE.as_bytes()).unwrap();
    assert_eq!((&*found.name, found.bitrate), ("Powertrain", Some(500_000)));
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let [data, page] = &found.messages[..] else {
        panic!("{found:?}")
    };
    assert_eq!((data.line, data.len), (7, 3));
    assert_eq!(data.id, CanId::sff(0x100).unwrap());
    assert_eq!((data.cycle, data.is_on_event()), (Some(20_000_000), true));
    assert_eq!(data.comment, "Of the\nengine.");
    assert_eq!(data.sender.as_deref(), Some("Engine"));
    assert_eq!(data.more_senders, ["Rear_brake"]);
    let [speed, on] = &data.signals[..] else {
        panic!("{data:?}")
    };
    assert_eq!((speed.line, &*speed.unit), (11, "rpm"));
    assert_eq!(
        (speed.layout.start, speed.layout.order),
        (7, ByteOrder::Motorola)
    );
    assert_eq!(speed.kind, SignalKind::Signed);
    assert_eq!(speed.receivers, ["Rear_brake"]);
    assert_eq!(speed.range.1.to_f64(), 16343.75);
    let raw = speed.raw(&[0xFF, 0xFC, 0]).unwrap();
    assert_eq!(format!("{}", speed.physical(raw)), "-41");
    assert_eq!((on.layout.start, on.layout.bits), (21, 1));
    let names = [0, 1, 2, 3].map(|raw| on.name_of(RawValue::Unsigned(raw)));
    assert_eq!(names, [Some("off"), Some("on"), Some("on"), None]);
    assert_eq!(page.id, CanId::eff(0x1A_BCDE).unwrap());
    let payload = [3, 0, 0, 0xC0, 0x3F, 0];
    assert_eq!(
        page.read(1, &payload),
        SignalState::Value(RawValue::Float(1.5))
    );
    assert_eq!(page.read(1, &[2, 0, 0, 0, 0, 0]), SignalState::Switched);
}

#[test]
fn mistakes_have_their_places() {
    for (text, words) in [
        ("", "line 1, column 1: not XML"),
        (
            "<NetworkDefinition>\n  <Bus>\n",
            "line 1, column 1: not XML: the root node was opened but never closed",
        ),
        (
            "<!-- -->\n <Network/>",
            "line 2, column 2: the element Network is not",
        ),
        (
            "<!DOCTYPE NetworkDefinition [<!ENTITY a \"b\">]>\n<NetworkDefinition/>",
            "line 1, column 1: not XML",
        ),
    ] {
        let error = format!("{}", read(text.as_bytes()).unwrap_err());
        assert!(error.starts_with(words), "{text}: {error}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let file = |messages: &str| {
        let text =
            format!("<NetworkDefinition>\n<Bus name=\"B\">\n{messages}</Bus></NetworkDefinition>");
        read(text.as_bytes()).unwrap()
    };
    for (message, words) in [
        (
            "<Message id=\"0x800\" name=\"M\"/>",
            "`0x800` is not a valid ID of 11 bits",
        ),
        ("<Message name=\"M\"/>", "`` is not a valid ID"),
        (
            "<Message id=\"1\" name=\"M\" length=\"-1\"/>",
            "-1 is not a valid length",
        ),
        ("<Message id=\"1\"/>", "a message without a name"),
    ] {
        let found = file(message);
        let [one] = &found.impossible[..] else {
            panic!("{found:?}")
        };
        assert_eq!((one.error.line, one.error.column), (3, 1));
        assert!(one.error.problem.contains(words), "{}", one.error);
    }
    for (signal, words) in [
        (
            "<Signal name=\"s\" offset=\"60\" length=\"8\"/>",
            "it ends in byte 9 of 8",
        ),
        (
            "<Signal name=\"s\" offset=\"0\" length=\"65\"/>",
            "65 bits: a signal has 1 to 64 bits; it is left out",
        ),
        (
            "<Signal name=\"s\" offset=\"0\" length=\"999\"/>",
            "999 bits: a signal has 1 to 64 bits; it is left out",
        ),
        (
            "<Signal name=\"s\"/>",
            "|1 is not a place in a payload; it is left out",
        ),
        ("<Signal offset=\"0\"/>", "it has no name; it is left out"),
        (
            "<Signal name=\"s\" offset=\"0\"><Value slope=\"a\"/></Signal>",
            "slope `a` is not a number; it is left out",
        ),
        (
            "<Signal name=\"s\" offset=\"0\"><Value type=\"double\"/></Signal>",
            "1 bits are not a float; it is left out",
        ),
        (
            "<Signal name=\"s\" offset=\"0\"><Consumer><NodeRef id=\"7\"/></Consumer></Signal>",
            "no Node has the ID `7`; it is left out",
        ),
        (
            "<Signal name=\"s\" offset=\"0\"><LabelSet><LabelGroup name=\"n\" from=\"0\" to=\"99\"/></LabelSet></Signal>",
            "the name `n` has no value, or more than 16; it is left out",
        ),
        (
            "<Signal name=\"s\" offset=\"0\"><LabelSet><LabelGroup name=\"n\" from=\"1\" to=\"0\"/></LabelSet></Signal>",
            "the name `n` has no value, or more than 16; it is left out",
        ),
        (
            "<Multiplex name=\"s\" offset=\"0\"><MuxGroup count=\"x\"/></Multiplex>",
            "the group `x` of a multiplex is left out",
        ),
    ] {
        let found = file(&format!(
            "<Message id=\"1\" name=\"M\" length=\"8\">\n{signal}\n</Message>"
        ));
        let [warning] = &warnings(&found)[..] else {
            panic!("{signal}: {found:?}")
        };
        assert!(
            warning.starts_with("4: ") && warning.contains(words),
            "{warning}"
        );
    }
}

#[test]
fn an_interval_that_is_no_time_is_named() {
    let file = |interval: &str| {
        let message =
            format!("<Message id=\"1\" name=\"M\" length=\"8\" interval=\"{interval}\"/>");
        let text =
            format!("<NetworkDefinition><Bus name=\"B\">\n{message}</Bus></NetworkDefinition>");
        read(text.as_bytes()).unwrap()
    };
    for (interval, cycle) in [("0", None), ("2.5", Some(2_500_000))] {
        let found = file(interval);
        assert_eq!(found.messages[0].cycle, cycle, "{interval}");
        assert!(found.warnings.is_empty(), "{found:?}");
    }
    for interval in ["-1", "x", "", "1e300"] {
        let found = file(interval);
        assert_eq!(found.messages[0].cycle, None, "{interval}");
        let words = format!(
            "2: message M: interval `{interval}` is not a time: above 0, and up to 11 days; it is left out"
        );
        assert_eq!(warnings(&found), [words]);
    }
}

/// Each prefix of a file is refused with a place in it, and nesting needs no stack.
#[test]
fn damaged_files_are_refused() {
    for end in (0..FILE.trim_end().len()).step_by(3) {
        let error = read(&FILE.as_bytes()[..end]).unwrap_err();
        assert!(
            (1..=FILE.lines().count() + 1).contains(&error.line),
            "{end}: {error}"
        );
    }
    let depth = 50_000;
    let deep = format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    let file = format!(
        "<NetworkDefinition><Bus><Message id=\"1\" name=\"M\"><Notes>{deep}x</Notes></Message></Bus></NetworkDefinition>"
    );
    let found = read(file.as_bytes()).unwrap();
    assert_eq!(found.messages[0].comment, "x");
}

/// Signals, names of nodes that any number of signals can have, and comments.
#[test]
fn messages_and_texts_have_a_limit() {
    let long = "n".repeat(1000);
    let file = |message: &str| {
        format!(
            "<NetworkDefinition><Node id=\"1\" name=\"{long}\"/><Bus name=\"B\">{}</Bus></NetworkDefinition>",
            message.repeat(20)
        )
    };
    let of = |inner: &str| {
        format!(
            "<Message id=\"1\" name=\"M\" length=\"8\"><Signal name=\"S\" offset=\"0\">{inner}\
             </Signal></Message>\n"
        )
    };
    let node = "<NodeRef id=\"1\"/>";
    let label = format!("<LabelSet><LabelGroup name=\"{long}\" from=\"0\" to=\"9\"/></LabelSet>");
    for (text, words) in [
        (of("").repeat(10), "more than 1000000 messages"),
        (
            of(&format!("<Consumer>{}</Consumer>", node.repeat(5))),
            "names and comments",
        ),
        (
            of(&format!("<Notes>{}</Notes>", long.repeat(5))),
            "names and comments",
        ),
        (of(&label), "names and comments"),
    ] {
        let text = file(&text);
        let found = read_within(text.as_bytes(), SignalRoom::of(100, 50_000)).unwrap();
        let full = warnings(&found);
        let full = full
            .iter()
            .filter(|words| words.ends_with(": further ones are left out"));
        let full: Vec<&String> = full.collect();
        assert!(full.len() == 1 && full[0].contains(words), "{full:?}");
        let all = found.messages.iter().flat_map(|message| &message.signals);
        let bytes: usize = all
            .map(|signal| {
                let nodes = signal.receivers.iter().map(String::len);
                let names = signal.value_names.iter().map(|named| named.name.len());
                signal.comment.len() + names.sum::<usize>() + nodes.sum::<usize>()
            })
            .sum();
        assert!(bytes <= 50_000 && found.messages.len() <= 100, "{bytes}");
        assert!(read(text.as_bytes()).unwrap().messages.len() >= 20);
    }
}

/// The name of a message is in the warning about each of its signals.
#[test]
fn names_in_warnings_are_short() {
    let name = "n".repeat(10_000);
    let text = format!(
        "<NetworkDefinition><Bus name=\"B\"><Message id=\"1\" name=\"{name}\" length=\"1\">{}\
         </Message></Bus></NetworkDefinition>",
        "<Signal name=\"S\" offset=\"7\" length=\"2\"/>".repeat(3)
    );
    let found = read(text.as_bytes()).unwrap();
    assert_eq!(found.warnings.len(), 5);
    for warning in found.warnings.iter().chain(&found.check()) {
        assert!(warning.problem.len() < 300, "{warning:?}");
    }
}
