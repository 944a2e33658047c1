use super::*;
use alloc::vec;

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

fn one(text: &str) -> DbcMessage {
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
    let fd = Fd {
        is_said: true,
        brs: Some(false),
    };
    assert_eq!((fast.len, fast.fd, fast.cycle), (20, Some(fd), None));
    assert!(old.is_on_event());
    assert_eq!(old.send_type.as_deref(), Some("cyclicAndSpontaneous"));
    assert_eq!((old.delay, old.cycle), (Some(20_000_000), None));
    assert_eq!(old.more_senders, vec!["Gateway".to_owned()]);
}

#[test]
fn line_ends_marks_and_latin_1_are_no_matter() {
    let plain = read(FILE.as_bytes()).unwrap();
    let windows = format!("\u{FEFF}{}", FILE.replace('\n', "\r\n"));
    assert_eq!(read(windows.as_bytes()).unwrap(), plain);
    let mut latin: Vec<u8> = Vec::new();
    for byte in FILE.replace("\"deg\"", "\"#C\"").bytes() {
        latin.push(if byte == b'#' { 0xB0 } else { byte });
    }
    assert!(core::str::from_utf8(&latin).is_err());
    assert_eq!(read(&latin).unwrap(), plain);
}

#[test]
fn a_length_alone_can_say_fd() {
    let message = one("VERSION \"\"\nBU_: A\nBO_ 1 M: 10 A\n");
    let fd = Fd {
        is_said: false,
        brs: None,
    };
    assert_eq!((message.len, message.fd), (12, Some(fd)));
    let long = one("VERSION \"\"\nBU_: A\nBO_ 1 M: 70 A\n");
    assert_eq!((long.len, long.fd), (70, None));
}

#[test]
fn mistakes_have_their_places() {
    for (text, line, words) in [
        ("BO_ 4096 M: 8 A\n", 2, "above 2047 it needs 2147483648"),
        ("BO_ 3758096384 M: 8 A\n", 2, "more than 29 bits"),
        ("BO_ 99999999999 M: 8 A\n", 2, "is no ID"),
        ("BO_ 1 M: -1 A\n", 2, "-1 is no length"),
        ("BO_ 1 M: 99999 A\n", 2, "is no length"),
        (
            "BO_ 1 M: 8 A\nnonsense here\n",
            3,
            "goes on with `nonsense here`",
        ),
        ("BO_ 1 M: 8", 2, "not complete"),
        (
            "BO_ 1 M: 8 A\nSIG_TYPE_REF_ 1 s : T;\n",
            3,
            "`SIG_TYPE_REF_ 1 s : T;`",
        ),
        (
            "BO_ 1 M: 8 A\n SG_ s : 0|8@1+ (1,0) [0|0] \"\"\n",
            3,
            "not complete",
        ),
        ("BA_ \"x\" BO_ 5 1", 2, "goes on with"),
        ("BA_ \"x\" BO_ 5 ;\n", 2, "goes on with"),
    ] {
        let error = read(format!("VERSION \"\"\n{text}").as_bytes()).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.problem.contains(words), "{text}: {error}");
    }
}

#[test]
fn times_that_are_none_are_left_out() {
    for value in ["0", "-5", "1e300", "0.0000001", "\"often\""] {
        let text = format!("BO_ 1 M: 8 A\nBA_ \"GenMsgCycleTime\" BO_ 1 {value};\n");
        assert_eq!(one(&text).cycle, None, "{value}");
    }
}
