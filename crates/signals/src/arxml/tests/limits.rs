use super::{FILE, messages, warnings};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// PDUs that refer to one another are read to a limited depth and number.
#[test]
fn circles_and_many_references_end() {
    let circle = warnings(
        "<I-PDU-REF DEST=\"I-SIGNAL-I-PDU\">/Pdus/PduStatic<",
        "<I-PDU-REF DEST=\"MULTIPLEXED-I-PDU\">/Pdus/PduSelected<",
    );
    assert!(
        circle[0].contains("more than 16 PDUs within one another"),
        "{circle:?}"
    );
    let depth = 20_000;
    let (open, close) = (
        "<AR-PACKAGES><AR-PACKAGE><SHORT-NAME>a</SHORT-NAME>",
        "</AR-PACKAGE></AR-PACKAGES>",
    );
    let nested = format!(
        "<AUTOSAR xmlns=\"{}\">{}{}</AUTOSAR>",
        super::super::NAMESPACE,
        open.repeat(depth),
        close.repeat(depth)
    );
    assert!(messages(&nested).is_empty());
}

/// A frame is sent on two buses, and on one of them with two IDs.
#[test]
fn a_frame_with_several_triggerings_has_no_doubles() {
    let first = FILE.find("<CAN-FRAME-TRIGGERING>").unwrap();
    let end = "</CAN-FRAME-TRIGGERING>";
    let last = first + FILE[first..].find(end).unwrap() + end.len();
    let triggering = &FILE[first..last];
    let number = "<IDENTIFIER>256<";
    assert!(triggering.contains(number));
    let other = triggering.replace(number, "<IDENTIFIER>300<");
    let file = FILE.replacen(end, &format!("{end}{triggering}{other}"), 1);
    let found = crate::arxml::read(file.as_bytes()).unwrap();
    let all = found.messages.iter();
    let ids: Vec<u32> = all.take(3).map(|message| message.id.number()).collect();
    assert_eq!(ids, [256, 256, 300]);
    assert_eq!(found.warnings, []);
}

/// A signal with a long comment can be in any number of places.
#[test]
fn texts_of_signals_have_a_limit() {
    let comment = format!("<DESC><L-2>{}</L-2></DESC>", "c".repeat(1 << 20));
    let mapping = "<I-SIGNAL-TO-I-PDU-MAPPING><I-SIGNAL-REF DEST=\"I-SIGNAL\">/Signals/Level</I-SIGNAL-REF>\
        <START-POSITION>32</START-POSITION></I-SIGNAL-TO-I-PDU-MAPPING>";
    let first = "<I-SIGNAL-TO-PDU-MAPPINGS>";
    let file = FILE
        .replace(
            "<SHORT-NAME>Level</SHORT-NAME>\n        </SYSTEM-SIGNAL>",
            &format!("<SHORT-NAME>Level</SHORT-NAME>{comment}</SYSTEM-SIGNAL>"),
        )
        .replacen(first, &format!("{first}{}", mapping.repeat(600)), 1);
    let found = crate::arxml::read(file.as_bytes()).unwrap();
    let full = found.warnings.iter();
    let full = full.filter(|one| one.problem.ends_with("further ones are left out"));
    let full: Vec<(usize, &str)> = full.map(|one| (one.line, &*one.problem)).collect();
    let line = FILE.split(first).next().unwrap().lines().count();
    let words = "more than 512 MiB of names and comments of signals: further ones are left out";
    assert_eq!(full, [(line, words)]);
    let engine = &found.messages[0];
    assert!((500..512).contains(&engine.signals.len()));
}

/// The ports of a frame name the same ECU any number of times.
#[test]
fn each_ecu_at_the_ports_of_a_frame_is_named_once() {
    let port = |name: &str, direction: &str| {
        format!(
            "<FRAME-PORT><SHORT-NAME>{name}</SHORT-NAME><COMMUNICATION-DIRECTION>{direction}\
             </COMMUNICATION-DIRECTION></FRAME-PORT>"
        )
    };
    let ecu = format!(
        "<ECU-INSTANCE><SHORT-NAME>Third</SHORT-NAME><CONNECTORS><C><SHORT-NAME>C</SHORT-NAME>{}{}</C></CONNECTORS>",
        port("In", "IN"),
        port("Out", "OUT")
    );
    let ecus = format!(
        "{ecu}</ECU-INSTANCE>{}</ECU-INSTANCE>",
        ecu.replace("Third", "Fourth")
    );
    let references: String = ["Third/C/In", "Third/C/Out", "Fourth/C/In", "Third/C/In"]
        .iter()
        .map(|path| format!("<FRAME-PORT-REF>/Nodes/{path}</FRAME-PORT-REF>"))
        .collect();
    let end = "<IDENTIFIER>256</IDENTIFIER>";
    let file = FILE
        .replacen("<ECU-INSTANCE>", &format!("{ecus}<ECU-INSTANCE>"), 1)
        .replacen(
            end,
            &format!("{end}<FRAME-PORT-REFS>{references}</FRAME-PORT-REFS>"),
            1,
        );
    let engine = &messages(&file)[0];
    assert_eq!(engine.sender.as_deref(), Some("Third"));
    assert_eq!(engine.more_senders, ["Engine"]);
    for signal in &engine.signals {
        assert_eq!(
            signal.receivers,
            ["Third", "Fourth", "Brake"],
            "{}",
            signal.name
        );
    }
}
