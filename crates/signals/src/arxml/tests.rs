mod limits;

use super::paths::number;
use super::read;
use crate::{
    Decimal, MessageDefinition, RawValue, SignalDefinition, SignalKind, SignalPresence,
    WholePduKind,
};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use frame::CanId;

/// A system description with each kind of PDU. `tests/integration/cantools` compares it with
/// cantools.
const FILE: &str = include_str!("../../tests/databases/body.arxml");

fn messages(text: &str) -> Vec<MessageDefinition> {
    read(text.as_bytes()).unwrap().messages
}

fn signal<'a>(message: &'a MessageDefinition, name: &str) -> &'a SignalDefinition {
    message
        .signals
        .iter()
        .find(|signal| signal.name == name)
        .unwrap()
}

/// Returns the warnings for the file with one text in place of another.
fn warnings(old: &str, new: &str) -> Vec<String> {
    assert!(FILE.contains(old), "{old}");
    let found = read(FILE.replacen(old, new, 1).as_bytes()).unwrap();
    let words = found.warnings.iter();
    words
        .map(|one| format!("{}: {}", one.line, one.problem))
        .collect()
}

#[test]
fn a_file_is_read() {
    let found = read(FILE.as_bytes()).unwrap();
    assert_eq!((&*found.name, found.bitrate), ("Body", Some(500_000)));
    assert_eq!(found.data_bitrate, Some(2_000_000));
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let [engine, selected, fast, secured] = &found.messages[..] else {
        panic!("{found:?}")
    };
    assert_eq!(engine.id, CanId::sff(0x100).unwrap());
    assert_eq!(
        FILE.lines().nth(engine.line - 1).unwrap().trim(),
        "<CAN-FRAME>"
    );
    assert_eq!(
        (engine.cycle, engine.delay),
        (Some(10_000_000), Some(2_000_000))
    );
    assert_eq!(
        (engine.comment.as_str(), engine.is_on_event()),
        ("Sent by the engine.", false)
    );
    assert_eq!(engine.sender.as_deref(), Some("Engine"));
    let e2e = engine.e2e.as_ref().unwrap();
    assert_eq!(e2e.profile.as_deref(), Some("PROFILE_02"));
    assert_eq!(e2e.data_id.as_deref(), Some("1,2"));
    let speed = signal(engine, "Speed");
    assert_eq!(
        (speed.factor, speed.offset),
        (decimal("0.25"), decimal("-10"))
    );
    assert_eq!(speed.range, (decimal("-10"), decimal("990")));
    assert_eq!(
        (speed.unit.as_str(), speed.receivers.as_slice()),
        ("rpm", &["Brake".to_owned()][..])
    );
    assert_eq!(speed.substitutes.start, Some(decimal("16")));
    let temperature = signal(engine, "Temperature");
    assert_eq!(temperature.kind, SignalKind::Signed);
    assert_eq!(temperature.substitutes.invalid, Some(decimal("127")));
    assert_eq!(
        temperature.name_of(RawValue::Signed(127)),
        Some("not available")
    );
    assert_eq!(signal(engine, "Level").kind, SignalKind::Float32);
    assert_eq!(selected.id, CanId::eff(0x123_4567).unwrap());
    assert_eq!(selected.cycle, Some(50_000_000));
    let of = |value| SignalPresence::Switched {
        switch: 0,
        values: vec![value..=value],
    };
    let names: Vec<(&str, SignalPresence)> = selected
        .signals
        .iter()
        .map(|signal| (&*signal.name, signal.presence.clone()))
        .collect();
    assert_eq!(
        names,
        [
            ("Selected_selector1", SignalPresence::Always),
            ("Pressure", of(0)),
            ("Flow", of(10)),
            ("Always", SignalPresence::Always),
        ]
    );
    assert!(fast.fd.is_some_and(|fd| fd.is_stated));
    let pdu = secured.whole.unwrap();
    assert_eq!(pdu.kind, WholePduKind::Secured);
    assert_eq!(
        FILE.lines().nth(pdu.line - 1).unwrap().trim(),
        "<SECURED-I-PDU>"
    );
    assert_eq!(
        [engine, selected, fast].map(|message| message.whole),
        [None; 3]
    );
    let places: Vec<(&str, u16, u8)> = secured
        .signals
        .iter()
        .map(|signal| (&*signal.name, signal.layout.start, signal.layout.bits))
        .collect();
    assert_eq!(
        places[2..],
        [
            ("Secured_Freshness", 39, 6),
            ("Secured_Authenticator", 33, 24)
        ]
    );
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

#[test]
fn numbers_are_those_of_autosar() {
    for (text, value) in [
        ("013", "11"),
        ("-017", "-15"),
        ("0", "0"),
        ("0x1F", "31"),
        ("-0b101", "-5"),
        ("1.5E-3", "0.0015"),
        ("true", "1"),
        (" false ", "0"),
    ] {
        assert_eq!(number(text), Some(decimal(value)), "{text}");
    }
    for text in ["", "08", "0x", "one", "1,5"] {
        assert_eq!(number(text), None, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    for (old, new, words) in [
        (
            ">/Pdus/PduEngine</PDU-REF>",
            ">/Pdus/None</PDU-REF>",
            "message EngineData: PDU-REF `/Pdus/None` leads to no element",
        ),
        (
            ">/Signals/Gear<",
            ">/Signals/None<",
            "message EngineData: I-SIGNAL-REF `/Signals/None` leads to no element of the file; it is left out",
        ),
        (
            ">/System/Gear<",
            ">Gear<",
            "signal Gear: SYSTEM-SIGNAL-REF `Gear` leads to no element",
        ),
        (
            "<LENGTH>3</LENGTH>",
            "<LENGTH>65</LENGTH>",
            "signal Gear: 65 bits: a signal has 1 to 64 bits; it is left out",
        ),
        (
            "<LENGTH>3</LENGTH>",
            "<LENGTH>300</LENGTH>",
            "signal Gear: 300 bits: a signal has 1 to 64 bits; it is left out",
        ),
        (
            "<LENGTH>3</LENGTH>",
            "",
            "`24`|`` is not a place in a payload; it is left out",
        ),
        (
            "<LENGTH>3</LENGTH>",
            "<LENGTH>43</LENGTH>",
            "signal Gear of EngineData: it ends in byte 9 of 8",
        ),
        (
            "<V>1</V></COMPU-NUMERATOR>",
            "</COMPU-NUMERATOR>",
            "its scale has 1 numerators and 1 denominators instead of 2 and 1",
        ),
        (
            "<COMPU-DENOMINATOR><V>4</V>",
            "<COMPU-DENOMINATOR><V>0</V>",
            "the denominator of its scale is 0",
        ),
        (
            "<CATEGORY>TEXTTABLE<",
            "<CATEGORY>TAB_NOINTP<",
            "its computation method Table is TAB_NOINTP: the raw values are taken as physical ones",
        ),
        (
            "<LENGTH>32</LENGTH>\n          <NET",
            "<LENGTH>31</LENGTH>\n          <NET",
            "31 bits are not a float",
        ),
        (
            "<SELECTOR-FIELD-CODE>0</SELECTOR-FIELD-CODE>",
            "",
            "an alternative of PduSelected has no SELECTOR-FIELD-CODE or no PDU",
        ),
        (
            "<SELECTOR-FIELD-LENGTH>4<",
            "<SELECTOR-FIELD-LENGTH>x<",
            "the selector of PduSelected: `0`|`x` is not a place in a payload; its signals are left out",
        ),
        (
            "<TIME-PERIOD><VALUE>0.01<",
            "<TIME-PERIOD><VALUE>x<",
            "`x` is not a time: above 0, and up to 11 days; it is left out",
        ),
        (
            "<VT>first</VT>",
            "<VT>second</VT></COMPU-CONST></COMPU-SCALE><COMPU-SCALE><LOWER-LIMIT>2</LOWER-LIMIT><UPPER-LIMIT>4</UPPER-LIMIT><COMPU-CONST><VT>forward</VT>",
            "signal Gear: the name `forward` is of no single value; it is left out",
        ),
        (
            "<AUTH-INFO-TX-LENGTH>24<",
            "<AUTH-INFO-TX-LENGTH>128<",
            "signal Secured_Authenticator of Secured: 128 bits",
        ),
    ] {
        let found = warnings(old, new);
        assert!(
            found.iter().any(|warning| warning.contains(words)),
            "{new}: {found:?}"
        );
    }
    for (old, new, words) in [
        (
            "<IDENTIFIER>256<",
            "<IDENTIFIER>2048<",
            "`2048` is not a valid ID of 11 bits",
        ),
        (
            "<FRAME-LENGTH>8<",
            "<FRAME-LENGTH>-8<",
            "`-8` is not a valid length",
        ),
        (
            "/Frames/EngineData<",
            "/Frames/None<",
            "FRAME-REF `/Frames/None` leads to no element",
        ),
    ] {
        let found = read(FILE.replacen(old, new, 1).as_bytes()).unwrap();
        assert_eq!((found.messages.len(), found.impossible.len()), (3, 1));
        let problem = &found.impossible[0].error.problem;
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn other_files_are_refused_with_a_place() {
    for (text, words) in [
        (
            "<AUTOSAR xmlns=\"http://autosar.org/3.2.3\"/>",
            "line 1, column 1: the element AUTOSAR of the namespace `http://autosar.org/3.2.3` is not",
        ),
        (
            "\n <A/>",
            "line 2, column 2: the element A of the namespace ``",
        ),
        ("<AUTOSAR", "line 1, column "),
    ] {
        let error = format!("{}", read(text.as_bytes()).unwrap_err());
        assert!(error.starts_with(words), "{error}");
    }
    for end in (0..FILE.trim_end().len()).step_by(499) {
        let Some(text) = FILE.get(..end) else {
            continue;
        };
        assert!(read(text.as_bytes()).is_err(), "{end}");
    }
}

/// Some programs write no encoding for unsigned integers.
#[test]
fn base_types_without_encoding_are_known_by_their_names() {
    let encoding = "<BASE-TYPE-ENCODING>2C</BASE-TYPE-ENCODING>";
    for (name, kind) in [
        ("sint8", SignalKind::Signed),
        ("uint8", SignalKind::Unsigned),
    ] {
        let text = FILE.replacen(encoding, "", 1);
        let text = text.replace(">S8<", &format!(">{name}<"));
        let text = text.replace("/Types/S8<", &format!("/Types/{name}<"));
        let found = messages(&text);
        assert_eq!(signal(&found[0], "Temperature").kind, kind, "{name}");
    }
}

/// A reference without `/` is relative to a base of the packages around it; a package can be in two
/// parts.
#[test]
fn references_can_have_bases_and_packages_parts() {
    let base = "<SHORT-NAME>Signals</SHORT-NAME>";
    let with_base = format!(
        "{base}<REFERENCE-BASES><REFERENCE-BASE><SHORT-LABEL>b</SHORT-LABEL>\
         <PACKAGE-REF DEST=\"AR-PACKAGE\">/System</PACKAGE-REF></REFERENCE-BASE></REFERENCE-BASES>"
    );
    let split = "</SYSTEM-SIGNAL>\n      </ELEMENTS></AR-PACKAGE><AR-PACKAGE>\
        <SHORT-NAME>System</SHORT-NAME><ELEMENTS>";
    let text = FILE
        .replacen(base, &with_base, 1)
        .replace(
            "DEST=\"SYSTEM-SIGNAL\">/System/",
            "DEST=\"SYSTEM-SIGNAL\" BASE=\"b\">",
        )
        .replacen("</SYSTEM-SIGNAL>", split, 1);
    let mut expected = messages(FILE);
    let mut found = messages(&text);
    for messages in [&mut expected, &mut found] {
        for message in messages.iter_mut() {
            message.line = 0;
            message
                .signals
                .iter_mut()
                .for_each(|signal| signal.line = 0);
            message.e2e.iter_mut().for_each(|e2e| e2e.line = 0);
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn an_ecu_configuration_has_its_messages_in_two_modules() {
    let setting = |name: &str, value: &str| {
        format!(
            "<ECUC-NUMERICAL-PARAM-VALUE><DEFINITION-REF>/D/{name}</DEFINITION-REF><VALUE>{value}</VALUE></ECUC-NUMERICAL-PARAM-VALUE>"
        )
    };
    let reference = |name: &str, path: &str| {
        format!(
            "<ECUC-REFERENCE-VALUE><DEFINITION-REF>/D/{name}</DEFINITION-REF><VALUE-REF>{path}</VALUE-REF></ECUC-REFERENCE-VALUE>"
        )
    };
    let container = |name: &str, kind: &str, settings: &[String], references: &[String]| {
        format!(
            "<ECUC-CONTAINER-VALUE><SHORT-NAME>{name}</SHORT-NAME><DEFINITION-REF>/D/{kind}</DEFINITION-REF>\
             <PARAMETER-VALUES>{}</PARAMETER-VALUES><REFERENCE-VALUES>{}</REFERENCE-VALUES></ECUC-CONTAINER-VALUE>\n",
            settings.concat(),
            references.concat()
        )
    };
    let com = [
        container(
            "Data",
            "ComIPdu",
            &[setting("ComIPduDirection", "SEND")],
            &[
                reference("ComPduIdRef", "/Pdus/Data"),
                reference("ComIPduSignalRef", "/A/Speed"),
                reference("ComIPduSignalRef", "/A/None"),
            ],
        ),
        container(
            "OfAnotherBus",
            "ComIPdu",
            &[],
            &[reference("ComPduIdRef", "/Pdus/Other")],
        ),
        container(
            "Speed",
            "ComSignal",
            &[
                setting("ComBitPosition", "7"),
                setting("ComBitSize", "16"),
                setting("ComSignalEndianness", "BIG_ENDIAN"),
                setting("ComSignalType", "SINT16"),
            ],
            &[],
        ),
        container(
            "CanIfData",
            "CanIfTxPduCfg",
            &[
                setting("CanIfTxPduCanId", "5"),
                setting("CanIfTxPduDlc", "8"),
                setting("CanIfTxPduCanIdType", "EXTENDED_CAN"),
            ],
            &[reference("CanIfTxPduRef", "/Pdus/Data")],
        ),
    ];
    let text = format!(
        "<AUTOSAR xmlns=\"{}\"><AR-PACKAGE><SHORT-NAME>A</SHORT-NAME>\n{}</AR-PACKAGE></AUTOSAR>",
        super::NAMESPACE,
        com.concat()
    );
    let found = read(text.as_bytes()).unwrap();
    let [message] = &found.messages[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (&*message.name, message.id),
        ("Data", CanId::eff(5).unwrap())
    );
    let [speed] = &message.signals[..] else {
        panic!("{message:?}")
    };
    assert_eq!((speed.kind, speed.line), (SignalKind::Signed, 4));
    assert_eq!(
        speed.raw(&[0xFF, 0xFE, 0, 0, 0, 0, 0, 0]),
        Some(RawValue::Signed(-2))
    );
    let [warning] = &found.warnings[..] else {
        panic!("{found:?}")
    };
    assert!(
        warning
            .problem
            .contains("VALUE-REF `/A/None` leads to no element"),
        "{warning:?}"
    );
}
