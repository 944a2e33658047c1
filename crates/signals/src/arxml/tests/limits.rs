use super::super::{MAX_COMPARISONS, read_within};
use super::{FILE, messages, warnings};
use crate::MessageDatabase;
use crate::room::SignalRoom;
use alloc::format;
use alloc::string::String;
use alloc::vec;
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

/// Returns the file with one frame in 20 further triggerings, each with an ID of its own.
fn with_many_triggerings(file: &str) -> String {
    let first = file.find("<CAN-FRAME-TRIGGERING>").unwrap();
    let end = "</CAN-FRAME-TRIGGERING>";
    let last = first + file[first..].find(end).unwrap() + end.len();
    let triggering = &file[first..last];
    let number = "<IDENTIFIER>256<";
    assert!(triggering.contains(number));
    let others = 0x300..0x314;
    let others = others.map(|id| triggering.replace(number, &format!("<IDENTIFIER>{id}<")));
    file.replacen(end, &format!("{end}{}", others.collect::<String>()), 1)
}

fn read_limited(file: &str, signals: usize, texts: usize, comparisons: usize) -> MessageDatabase {
    read_within(file.as_bytes(), SignalRoom::of(signals, texts), comparisons).unwrap()
}

fn left_out(database: &MessageDatabase) -> Vec<&str> {
    let all = database.warnings.iter().map(|one| &*one.problem);
    all.filter(|problem| problem.ends_with("further ones are left out"))
        .collect()
}

const TEXTS: &str = "more than 512 MiB of names and comments of signals: further ones are left out";
const SIGNALS: &str = "more than 1000000 messages and signals: further ones are left out";
const READINGS: &str =
    "too many receivers, scales and settings of signals: further ones are left out";

/// A frame with a long name or description has any number of triggerings.
#[test]
fn texts_of_frames_have_a_limit() {
    let words = "Sent by the engine.";
    let file = with_many_triggerings(&FILE.replacen(words, &"d".repeat(10_000), 1));
    let found = read_limited(&file, 1_000_000, 100_000, MAX_COMPARISONS);
    assert!(
        (8..10).contains(&found.messages.len()),
        "{}",
        found.messages.len()
    );
    assert_eq!(left_out(&found), [TEXTS]);
    let impossible = FILE
        .replacen("<FRAME-LENGTH>8<", "<FRAME-LENGTH>-8<", 1)
        .replacen("FT_EngineData", &"n".repeat(10_000), 1);
    let impossible = with_many_triggerings(&impossible);
    let found = read_limited(&impossible, 1_000_000, 100_000, MAX_COMPARISONS);
    assert!((8..10).contains(&found.impossible.len()));
    assert_eq!(left_out(&found), [TEXTS]);
}

/// A file with more messages than the limit has those before it.
#[test]
fn messages_have_a_limit() {
    let found = read_limited(&with_many_triggerings(FILE), 30, 1 << 20, MAX_COMPARISONS);
    assert!((1..20).contains(&found.messages.len()));
    assert_eq!(left_out(&found), [SIGNALS]);
    let container = |name: &str, kind: &str, reference: &str, settings: &str| {
        format!(
            "<ECUC-CONTAINER-VALUE><SHORT-NAME>{name}</SHORT-NAME><DEFINITION-REF>/D/{kind}</DEFINITION-REF>\
             <PARAMETER-VALUES>{settings}</PARAMETER-VALUES><REFERENCE-VALUES><ECUC-REFERENCE-VALUE>\
             <DEFINITION-REF>/D/{reference}</DEFINITION-REF><VALUE-REF>/P</VALUE-REF>\
             </ECUC-REFERENCE-VALUE></REFERENCE-VALUES></ECUC-CONTAINER-VALUE>"
        )
    };
    let settings = |len: &str| {
        let all = [
            ("CanIfTxPduCanId", "5"),
            ("CanIfTxPduDlc", len),
            ("CanIfTxPduCanIdType", "STANDARD_CAN"),
        ];
        let all = all.iter().map(|(name, value)| {
            format!("<V><DEFINITION-REF>/D/{name}</DEFINITION-REF><VALUE>{value}</VALUE></V>")
        });
        all.collect::<String>()
    };
    let configuration = |len: &str| {
        let data = container("Data", "ComIPdu", "ComPduIdRef", "").repeat(5);
        let frame = container("F", "CanIfTxPduCfg", "CanIfTxPduRef", &settings(len));
        format!(
            "<AUTOSAR xmlns=\"{}\">{data}{frame}</AUTOSAR>",
            super::super::NAMESPACE
        )
    };
    let found = read_limited(&configuration("8"), 3, 1000, MAX_COMPARISONS);
    assert_eq!((found.messages.len(), left_out(&found)), (3, vec![SIGNALS]));
    // Of an impossible message, the reason takes room, too.
    let found = read_limited(&configuration("x"), 6, 1000, MAX_COMPARISONS);
    assert_eq!(
        (found.impossible.len(), left_out(&found)),
        (3, vec![SIGNALS])
    );
    // The settings of the frame are searched for each of the messages.
    let found = read_limited(&configuration("8"), 100, 1000, 100);
    assert!((1..4).contains(&found.messages.len()));
    assert_eq!(left_out(&found), [READINGS]);
}

/// A node with a long name sends any number of messages.
#[test]
fn names_of_senders_have_a_limit() {
    let long = "E".repeat(10_000);
    let name = "<ECU-INSTANCE>\n          <SHORT-NAME>Engine<";
    assert!(FILE.contains(name));
    let group = FILE.replacen(name, &name.replace("Engine", &long), 1);
    let port = format!(
        "{name}/SHORT-NAME><CONNECTORS><C><SHORT-NAME>C</SHORT-NAME><FRAME-PORT><SHORT-NAME>P</SHORT-NAME>\
         <COMMUNICATION-DIRECTION>OUT</COMMUNICATION-DIRECTION></FRAME-PORT></C></CONNECTORS><SHORT-NAME>Engine<"
    );
    let port = FILE
        .replacen(name, &port, 1)
        .replace(">Engine<", &format!(">{long}<"))
        .replacen(
            "<IDENTIFIER>256</IDENTIFIER>",
            &format!(
                "<IDENTIFIER>256</IDENTIFIER><FRAME-PORT-REFS><FRAME-PORT-REF>/Nodes/{long}/C/P\
                 </FRAME-PORT-REF></FRAME-PORT-REFS>"
            ),
            1,
        );
    for file in [group, port] {
        let file = with_many_triggerings(&file);
        let found = read_limited(&file, 1_000_000, 100_000, MAX_COMPARISONS);
        let with_sender = found.messages.iter();
        let with_sender = with_sender.filter(|message| message.sender.as_deref() == Some(&long));
        assert!((5..10).contains(&with_sender.count()));
        assert_eq!(left_out(&found), [TEXTS]);
    }
}

/// An end-to-end protection with a long Data ID is that of any number of messages.
#[test]
fn texts_of_protections_have_a_limit() {
    let id = format!("<DATA-ID>{}</DATA-ID>", "1".repeat(10_000));
    let file = with_many_triggerings(&FILE.replace("<DATA-ID>1</DATA-ID>", &id));
    let found = read_limited(&file, 1_000_000, 100_000, MAX_COMPARISONS);
    let texts = found
        .messages
        .iter()
        .filter_map(|message| message.e2e.as_ref());
    let texts = texts.filter_map(|e2e| Some(e2e.data_id.as_ref()?.len()));
    assert!((50_000..100_000).contains(&texts.sum::<usize>()));
    assert_eq!(left_out(&found), [TEXTS]);
}

/// A container is in any number of frames, with its PDUs.
#[test]
fn contained_pdus_have_a_limit() {
    let contained = "<R><SHORT-NAME>R</SHORT-NAME></R>\
        <CONTAINER-I-PDU><SHORT-NAME>All</SHORT-NAME><CONTAINED-PDU-TRIGGERING-REFS>";
    let reference = "<CONTAINED-PDU-TRIGGERING-REF>/Cluster/Body/Channel/PtPayload</CONTAINED-PDU-TRIGGERING-REF>";
    let pdus = "<I-SIGNAL-I-PDU>";
    let file = FILE
        .replacen(
            pdus,
            &format!(
                "{contained}{}</CONTAINED-PDU-TRIGGERING-REFS></CONTAINER-I-PDU>{pdus}",
                reference.repeat(100)
            ),
            1,
        )
        .replacen(">/Pdus/PduEngine</PDU-REF>", ">/Pdus/All</PDU-REF>", 1);
    let all = read_limited(&file, 200, 1 << 20, MAX_COMPARISONS);
    assert_eq!(left_out(&all), [""; 0]);
    let pdu = all.messages.first().and_then(|message| message.whole);
    assert_eq!(
        pdu.map(|pdu| pdu.kind),
        Some(crate::WholePduKind::Container)
    );
    assert_eq!(
        left_out(&read_limited(&file, 100, 1 << 20, MAX_COMPARISONS)),
        [SIGNALS]
    );
    assert_eq!(
        left_out(&read_limited(&file, 200, 1 << 20, 300)),
        [READINGS]
    );
}

/// A search among the children of an element takes time for each of them, whatever they are.
#[test]
fn readings_of_elements_have_a_limit() {
    let found = read_limited(&with_many_triggerings(FILE), 10_000, 1 << 20, 15_000);
    assert_eq!(left_out(&found), [""; 0]);
    for (place, count) in [
        ("<COMPU-INTERNAL-TO-PHYS><COMPU-SCALES>", 2),
        ("<I-SIGNAL>", 2),
        ("<SYSTEM-SIGNAL>", 2),
        ("<PDU-TO-FRAME-MAPPINGS>", 2),
        ("<I-SIGNAL-TO-PDU-MAPPINGS>", 2),
        ("<I-SIGNAL-I-PDU>", 2),
    ] {
        assert!(FILE.contains(place), "{place}");
        let file = FILE.replacen(place, &format!("{place}{}", "<X/>".repeat(1000)), count);
        let found = read_limited(&with_many_triggerings(&file), 10_000, 1 << 20, 15_000);
        assert_eq!(left_out(&found), [READINGS], "{place}");
    }
}
