use super::*;
use crate::{ByteOrder, FdMessage, RawValue, SignalDefinition, SignalKind, SignalPresence};
use alloc::string::ToString as _;
use alloc::vec;
use frame::CanId;

const FILE: &str = r#"VERSION "1"

NS_ :
	CM_
	BA_DEF_
	BA_

BS_:

BU_: Engine Brake Gateway

BO_ 256 Speed: 8 Engine
 SG_ Mode M : 0|8@1+ (1,0) [0|255] "" Brake
 SG_ First m0 : 8|16@1+ (0.1,-40) [-40|215] "deg" Brake,Gateway
 SG_ Second m1 : 8|16@1- (1,0) [0|0] "" Vector__XXX

BO_ 2566834686 Diagnosis: 8 Vector__XXX

BO_ 768 Fast: 20 Brake
BO_ 769 Old_1: 4 Brake

BO_ 3221225472 VECTOR__INDEPENDENT_SIG_MSG: 0 Vector__XXX
 SG_ Unused : 0|8@1+ (1,0) [0|0] "" Vector__XXX

BO_TX_BU_ 769 : Brake,Gateway;
BO_TX_BU_ 2566834686 : Vector__XXX;

CM_ "two
lines; with \"marks\"";
CM_ BO_ 256 "speed";
BA_DEF_ BO_ "GenMsgCycleTime" INT 0 65535;
BA_DEF_ BO_ "GenMsgDelayTime" INT 0 65535;
BA_DEF_ BO_ "GenMsgSendType" ENUM "cyclic","spontaneous","cyclicAndSpontaneous";
BA_DEF_ BO_ "VFrameFormat" ENUM "StandardCAN","ExtendedCAN","reserved","J1939PG","StandardCAN_FD";
BA_DEF_ BO_ "CANFD_BRS" ENUM "0","1";
BA_DEF_ "DBName" STRING ;
BA_DEF_ "Baudrate" INT 0 1000000;
BA_DEF_DEF_ "GenMsgCycleTime" 0;
BA_DEF_DEF_ "GenMsgDelayTime" 0;
BA_DEF_DEF_ "GenMsgSendType" "cyclic";
BA_DEF_DEF_ "VFrameFormat" "StandardCAN";
BA_DEF_DEF_ "CANFD_BRS" "1";
BA_DEF_DEF_ "DBName" "";
BA_ "DBName" "body";
BA_ "Baudrate" 250000;
BA_ "GenMsgCycleTime" BO_ 256 10;
BA_ "GenMsgCycleTime" BO_ 2566834686 2.5;
BA_ "VFrameFormat" BO_ 2566834686 3;
BA_ "VFrameFormat" BO_ 768 4;
BA_ "CANFD_BRS" BO_ 768 0;
BA_ "GenMsgSendType" BO_ 769 2;
BA_ "GenMsgDelayTime" BO_ 769 20;
VAL_ 256 Mode 1 "on" 0 "off" ;
"#;

fn one(text: &str) -> MessageDefinition {
    read(text.as_bytes()).unwrap().messages.remove(0)
}

#[test]
fn a_file_is_read() {
    let found = read(FILE.as_bytes()).unwrap();
    assert_eq!(
        (found.name.as_str(), found.bitrate),
        ("body", Some(250_000))
    );
    assert!(found.has_independent_signals);
    let names: Vec<&str> = found.messages.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["Speed", "Diagnosis", "Fast", "Old_1"]);
    let [speed, diagnosis, fast, old] = &found.messages[..] else {
        panic!("{found:?}")
    };
    assert_eq!((speed.line, speed.id), (12, CanId::sff(0x100).unwrap()));
    assert_eq!((speed.len, speed.cycle), (8, Some(10_000_000)));
    assert_eq!(speed.sender.as_deref(), Some("Engine"));
    assert!(!speed.is_on_event() && speed.fd.is_none() && speed.delay.is_none());
    assert_eq!(diagnosis.id, CanId::eff(0x18FE_C9FE).unwrap());
    assert_eq!((diagnosis.cycle, diagnosis.j1939), (Some(2_500_000), true));
    assert_eq!(diagnosis.sender, None);
    let fd = FdMessage {
        is_stated: true,
        brs: Some(false),
    };
    assert_eq!((fast.len, fast.fd, fast.cycle), (20, Some(fd), None));
    assert!(old.is_on_event());
    assert_eq!(old.send_type.as_deref(), Some("cyclicAndSpontaneous"));
    assert_eq!((old.delay, old.cycle), (Some(20_000_000), None));
    assert_eq!(old.more_senders, vec!["Gateway".to_owned()]);
}

#[test]
fn line_ends_marks_and_windows_1252_make_no_difference() {
    let plain = read(FILE.as_bytes()).unwrap();
    let windows = format!("\u{FEFF}{}", FILE.replace('\n', "\r\n"));
    assert_eq!(read(windows.as_bytes()).unwrap(), plain);
    // 80 is a control character in Latin-1.
    for (byte, unit) in [(0xB0, "\u{B0}C"), (0x80, "\u{20AC}C")] {
        let text = FILE.replace("\"deg\"", "\"#C\"");
        let bytes = text.bytes().map(|b| if b == b'#' { byte } else { b });
        let bytes: Vec<u8> = bytes.collect();
        assert!(core::str::from_utf8(&bytes).is_err());
        let mut found = read(&bytes).unwrap();
        assert_eq!(found.messages[0].signals[1].unit, unit);
        "deg".clone_into(&mut found.messages[0].signals[1].unit);
        assert_eq!(found, plain);
    }
}

#[test]
fn a_length_alone_can_say_fd() {
    let message = one("VERSION \"\"\nBU_: A\nBO_ 1 M: 10 A\n");
    let fd = FdMessage {
        is_stated: false,
        brs: None,
    };
    assert_eq!((message.len, message.fd), (12, Some(fd)));
    let long = one("VERSION \"\"\nBU_: A\nBO_ 1 M: 70 A\n");
    assert_eq!((long.len, long.fd), (70, None));
}

#[test]
fn mistakes_have_their_places() {
    for (text, line, words) in [
        (
            "BO_ 1 M: 8 A\nnonsense here\n",
            3,
            "continues with `nonsense here`",
        ),
        ("BO_ 1 M: 8", 2, "not complete"),
        (
            "BO_ 1 M: 8 A\n SG_ s : 0|8@1+ (1,0) [0|0] \"\"\n",
            3,
            "not complete",
        ),
        ("BA_ \"x\" BO_ 5 1", 2, "continues with"),
        ("BA_ \"x\" BO_ 5 ;\n", 2, "continues with"),
    ] {
        let error = read(format!("VERSION \"\"\n{text}").as_bytes()).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.problem.contains(words), "{text}: {error}");
    }
}

/// An impossible message does not make the others fail.
#[test]
fn a_message_that_no_frame_can_be_fails_alone() {
    for (text, words) in [
        ("BO_ 1077282361 M: 8 A\n", "more than 29 bits"),
        ("BO_ 3758096384 M: 8 A\n", "more than 29 bits"),
        ("BO_ 99999999999 M: 8 A\n", "not a valid ID"),
        ("BO_ 1 M: -1 A\n", "-1 is not a valid length"),
        ("BO_ 1 M: 99999 A\n", "not a valid length"),
    ] {
        let rest = "BO_ 2 N: 8 A\nBO_TX_BU_ 99999999999 : A,B;\nBA_ \"X\" BO_ 99999999999 1;\n";
        let found = read(format!("VERSION \"\"\n{text}{rest}").as_bytes()).unwrap();
        let names: Vec<&str> = found.messages.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["N"], "{text}");
        let [one] = &found.impossible[..] else {
            panic!("{found:?}")
        };
        assert_eq!((one.name.as_str(), one.error.line), ("M", 2), "{text}");
        assert!(one.error.problem.contains(words), "{text}: {}", one.error);
    }
}

/// The inputs of `tests/field`, each of which was once read incorrectly.
#[test]
fn what_is_found_in_the_field_is_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/field");
    let mut count = 0;
    for (name, message, on_event) in [
        ("d1-sig-onchange.dbc", "PumpState", true),
        ("d2-independent40.dbc", "PumpState", false),
        ("d3-sjis.dbc", "PumpState", false),
        ("d4-utf16.dbc", "PumpState", false),
        (
            "d5-long-name.dbc",
            "PumpStateOfTheRearAxleCoolingCircuit",
            false,
        ),
        ("d6-enum-cycle.dbc", "PumpState", false),
        ("d7-ctrlz.dbc", "PumpState", false),
    ] {
        let found = read(&std::fs::read(folder.join(name)).unwrap()).unwrap();
        let [one] = &found.messages[..] else {
            panic!("{name}: {found:?}")
        };
        assert!(found.impossible.is_empty(), "{name}");
        assert_eq!(one.name, message, "{name}");
        assert_eq!(one.cycle, Some(20_000_000), "{name}");
        assert_eq!(one.is_on_event(), on_event, "{name}");
        count += 1;
    }
    assert_eq!(count, std::fs::read_dir(&folder).unwrap().count());
}

#[test]
fn signals_can_be_sent_on_events_by_default_and_in_cycles_of_their_own() {
    let file = "BO_ 1 M: 8 A\n SG_ a : 0|8@1+ (1,0) [0|0] \"\" B\n SG_ b : 8|8@1+ (1,0) [0|0] \"\" B\n\n\
        BA_DEF_ SG_ \"GenSigSendType\" ENUM \"Cyclic\",\"OnWrite\",\"NoSigSendType\";\n";
    let default = |word: &str| format!("{file}BA_DEF_DEF_ \"GenSigSendType\" \"{word}\";\n");
    assert!(!one(&default("Cyclic")).is_on_event());
    assert!(!one(&default("NoSigSendType")).is_on_event());
    assert!(one(&default("OnWrite")).is_on_event());
    // A signal's own value is a number; the other one keeps the default.
    let own = format!("{}BA_ \"GenSigSendType\" SG_ 1 b 1;\n", default("Cyclic"));
    assert_eq!(one(&own).event().as_deref(), Some("signal b: OnWrite"));
    let both = "BA_ \"GenSigSendType\" SG_ 1 a 0;\nBA_ \"GenSigSendType\" SG_ 1 b 0;\n";
    assert!(!one(&format!("{}{both}", default("OnWrite"))).is_on_event());
    let other = "BA_ \"GenSigSendType\" SG_ 2 a 1;\n";
    assert!(!one(&format!("{}{other}", default("Cyclic"))).is_on_event());
    let cycle = "BA_ \"GenSigCycleTimeActive\" SG_ 1 a 5;\n";
    assert_eq!(one(&format!("{file}{cycle}")).signal_cycle, Some(5_000_000));
}

/// A comment in Shift JIS, GBK or Big5 can end in a byte that is a backslash elsewhere.
#[test]
fn encodings_are_told_apart() {
    let plain = read(FILE.as_bytes()).unwrap();
    let with = |comment: &[u8]| {
        let mut bytes = FILE.as_bytes().to_vec();
        bytes.extend_from_slice(b"CM_ BO_ 256 \"");
        bytes.extend_from_slice(comment);
        bytes.extend_from_slice(b"\";\nCM_ BO_ 768 \"x\";\n");
        bytes
    };
    for comment in [
        &b"\x94\\"[..],
        b"\x90\xAD\x94\\",
        b"\xB3\x5C",
        b"\xE4\xF6",
        b"\xE4\\\" b",
    ] {
        let mut found = read(&with(comment)).unwrap();
        assert_eq!(found.messages[2].comment, "x");
        for (found, plain) in found.messages.iter_mut().zip(&plain.messages) {
            found.comment.clone_from(&plain.comment);
        }
        assert_eq!(found, plain, "{comment:?}");
    }
    let wide = |big: bool, mark: &str| -> Vec<u8> {
        let units = mark.encode_utf16().chain(FILE.encode_utf16());
        let bytes = units.flat_map(|unit| match big {
            true => unit.to_be_bytes(),
            false => unit.to_le_bytes(),
        });
        bytes.collect()
    };
    for (big, mark) in [
        (false, "\u{FEFF}"),
        (true, "\u{FEFF}"),
        (false, ""),
        (true, ""),
    ] {
        assert_eq!(read(&wide(big, mark)).unwrap(), plain, "{big} {mark:?}");
    }
    let old = format!("{}\u{1A}\0\0", FILE.replace('\n', "\r"));
    assert_eq!(read(old.as_bytes()).unwrap().messages.len(), 4);
}

#[test]
fn long_names_are_in_attributes() {
    let file = "BU_: Short\nBO_ 1 M: 8 Short\nBA_ \"SystemNodeLongSymbol\" BU_ Short \"TheLongNodeName\";\n\
        BA_ \"SystemMessageLongSymbol\" BO_ 1 \"TheLongMessageName\";\n";
    let found = one(file);
    assert_eq!(found.name, "TheLongMessageName");
    assert_eq!(found.sender.as_deref(), Some("TheLongNodeName"));
    // It appears in a message set: only a name gets there.
    let wrong = one(&file.replace("TheLongMessageName", "a \\\" name"));
    assert_eq!(wrong.name, "M");
}

#[test]
fn times_that_are_none_are_left_out() {
    for value in ["0", "-5", "1e300", "0.0000001", "\"often\""] {
        let text = format!("BO_ 1 M: 8 A\nBA_ \"GenMsgCycleTime\" BO_ 1 {value};\n");
        assert_eq!(one(&text).cycle, None, "{value}");
    }
}

fn signal(message: &MessageDefinition, name: &str) -> SignalDefinition {
    let found = message.signals.iter().find(|signal| signal.name == name);
    found.unwrap().clone()
}

#[test]
fn signals_are_read() {
    let found = read(FILE.as_bytes()).unwrap();
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let speed = &found.messages[0];
    let first = signal(speed, "First");
    assert_eq!((first.line, first.unit.as_str()), (14, "deg"));
    assert_eq!((first.layout.start, first.layout.bits), (8, 16));
    assert_eq!(
        (first.layout.order, first.kind),
        (ByteOrder::Intel, SignalKind::Unsigned)
    );
    assert_eq!(
        (first.factor.to_string(), first.offset.to_string()),
        ("0.1".into(), "-40".into())
    );
    assert_eq!(first.range.1.to_string(), "215");
    assert_eq!(first.receivers, ["Brake", "Gateway"]);
    let second = signal(speed, "Second");
    assert_eq!(
        (second.kind, second.receivers.len()),
        (SignalKind::Signed, 0)
    );
    let switched = SignalPresence::Switched {
        switch: 0,
        values: vec![1..=1],
    };
    assert_eq!(second.presence, switched);
    let mode = signal(speed, "Mode");
    assert_eq!(mode.name_of(RawValue::Unsigned(1)), Some("on"));
    assert_eq!(mode.name_of(RawValue::Unsigned(2)), None);
}

/// Real files have these; other programs refuse some of them.
#[test]
fn what_is_doubtful_is_read_with_a_warning() {
    let warning = |text: &str| -> (MessageDatabase, String) {
        let found = read(format!("VERSION \"\"\n{text}").as_bytes()).unwrap();
        let [warning] = &found.warnings[..] else {
            panic!("{text}: {:?}", found.warnings)
        };
        let words = format!("{}: {}", warning.line, warning.problem);
        (found, words)
    };
    let (found, words) = warning("BO_ 1 M: 8 A\nSIG_TYPE_REF_ 1 s : T;\nBO_ 2 N: 8 A\n");
    assert!(words.starts_with("3: no statement"), "{words}");
    assert!(
        words.ends_with("`SIG_TYPE_REF_ 1 s : T;`: the statement is passed over"),
        "{words}"
    );
    assert_eq!(found.messages.len(), 2);
    let (_, words) = warning("BO_ 1 M: 8 A\nCM_ BO_ 1 \"a \"b\" c\";\n");
    assert!(words.starts_with("3: "), "{words}");
    let (found, words) = warning("BO_ 4096 M: 8 A\n");
    assert!(
        words.starts_with("2: ID 4096 of M is above 2047"),
        "{words}"
    );
    assert_eq!(found.messages[0].id, CanId::eff(4096).unwrap());
    let one = |signal: &str| warning(&format!("BO_ 1 M: 8 A\n SG_ {signal} (1,0) [0|0] \"\" A\n"));
    let (found, words) = one("s : 60|8@1+");
    assert!(
        words.starts_with("3: signal s of M: it ends in byte 9 of 8"),
        "{words}"
    );
    assert_eq!(found.messages[0].signals.len(), 1);
    for (text, reason) in [
        (
            "s : 0|65@1+",
            "65 bits: a signal has 1 to 64 bits; it is left out",
        ),
        (
            "s : -1|8@1+",
            "-1|8 is not a place in a payload; it is left out",
        ),
        (
            "s m1 : 0|8@1+",
            "no signal of the message is its multiplexer switch",
        ),
        ("s m : 0|8@1+", "`m` without a value"),
    ] {
        let (found, words) = one(text);
        assert!(words.contains(reason), "{text}: {words}");
        assert!(found.messages[0].signals.is_empty(), "{text}");
    }
    let long = "s : 0|8@1+ (1.00000000000000000000000000000000000000001,0) [0|0] \"\" A\n";
    let (found, words) = warning(&format!("BO_ 1 M: 8 A\n SG_ {long}"));
    assert!(words.contains("more than 38 digits"), "{words}");
    assert!(found.messages[0].signals.is_empty());
    let float = "SIG_VALTYPE_ 1 s : 1;\n";
    let text = format!("BO_ 1 M: 8 A\n SG_ s : 0|8@1+ (1,0) [0|0] \"\" A\n\n{float}");
    assert!(warning(&text).1.contains("8 bits are not a float"));
}

#[test]
fn a_parameter_group_has_frames_of_any_source() {
    let found = read(FILE.as_bytes()).unwrap();
    let index = crate::MessageIndex::new(&found);
    let name = |id: CanId| index.find(id).map(|message| message.name.as_str());
    assert_eq!(name(CanId::eff(0x18FE_C9FE).unwrap()), Some("Diagnosis"));
    assert_eq!(name(CanId::eff(0x0CFE_C917).unwrap()), Some("Diagnosis"));
    assert_eq!(name(CanId::eff(0x18FE_CA17).unwrap()), None);
    assert_eq!(name(CanId::sff(0x100).unwrap()), Some("Speed"));
    assert_eq!(name(CanId::sff(0x100).unwrap().with_rtr()), Some("Speed"));
    assert_eq!(name(CanId::eff(0x100).unwrap()), None);
}

mod limits;
mod statements;
mod values;
mod variants;
