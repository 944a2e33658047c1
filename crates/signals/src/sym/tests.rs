use super::read;
use crate::{ByteOrder, RawValue, SignalKind, SignalState};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use frame::CanId;

/// A file with each kind of statement. `tests/integration/cantools` compares it with cantools.
const FILE: &str = include_str!("../../tests/databases/body.sym");

#[test]
fn a_file_is_read() {
    let found = read(FILE.as_bytes()).unwrap();
    assert!(
        found.warnings.is_empty() && found.impossible.is_empty(),
        "{found:?}"
    );
    let [engine, selected, group, other] = &found.messages[..] else {
        panic!("{found:?}")
    };
    assert_eq!((&*found.name, engine.line), ("Body_bus", 15));
    assert_eq!((engine.id, engine.len), (CanId::sff(0x100).unwrap(), 8));
    assert_eq!(
        (engine.cycle, engine.delay),
        (Some(10_000_000), Some(2_000_000))
    );
    assert_eq!(engine.comment, "Sent by the engine.");
    let [speed, gear, temperature, level] = &engine.signals[..] else {
        panic!("{engine:?}")
    };
    assert_eq!(
        (speed.layout.start, speed.layout.order),
        (7, ByteOrder::Motorola)
    );
    assert_eq!(
        (&*speed.unit, &*speed.comment),
        ("rpm", "Of the crankshaft.")
    );
    assert_eq!(speed.range.1.to_f64(), 16343.75);
    assert_eq!(speed.timeouts[0].after, 500_000_000);
    assert_eq!(gear.name_of(RawValue::Unsigned(7)), Some("reverse"));
    assert_eq!(
        (temperature.line, temperature.kind),
        (23, SignalKind::Signed)
    );
    assert_eq!(level.kind, SignalKind::Float32);
    let [switch, pressure, flow, deep] = &selected.signals[..] else {
        panic!("{selected:?}")
    };
    assert_eq!(selected.id, CanId::eff(0x123_4567).unwrap());
    assert_eq!(
        switch.name_of(RawValue::Unsigned(0x1A)),
        Some("Second page")
    );
    assert_eq!(
        [&*pressure.name, &*flow.name, &*deep.name],
        ["Pressure", "Flow_rate", "Depth"]
    );
    let value = selected.read(2, &[0x1A, 5, 0, 0, 0, 0, 0, 0]);
    assert_eq!(value, SignalState::Value(RawValue::Unsigned(5)));
    assert_eq!(
        selected.read(1, &[0x1A, 5, 0, 0, 0, 0, 0, 0]),
        SignalState::Switched
    );
    let ids = [group, other].map(|message| message.id.number());
    assert_eq!((ids, &*other.name), ([0x200, 0x201], "Group"));
}

#[test]
fn what_cannot_be_read_is_named() {
    let file = |text: &str| read(format!("FormatVersion=6.0\n{text}").as_bytes()).unwrap();
    for (text, words) in [
        (
            "nonsense\n",
            "2: not a statement of a PEAK SYM; it is left out",
        ),
        (
            "Enum=E(0=1)\n",
            "2: Enum: a value is not written as in 1=\"name\"; it is left out",
        ),
        ("Sig=A\n", "2: Sig: a name and a type are expected"),
        ("Sig=A B 8\n", "2: Sig: B is not one of the {ENUMS}"),
        ("Sig=A unsigned x\n", "2: Sig: `x` is not a number of bits"),
        (
            "Sig=A unsigned 8 /f:x\n",
            "2: Sig: /f:x is not a decimal number",
        ),
        (
            "[M]\nID=1h\nSig=A 0\n",
            "4: Sig: A is not one of the {SIGNALS}",
        ),
        (
            "[M]\nID=1h\nVar=A unsigned 0\n",
            "4: Var: no place, such as 0,8",
        ),
        (
            "[M]\nID=1h\nVar=A unsigned 70000,8\n",
            "4: Var: its start bit is in no payload",
        ),
        (
            "[M]\nID=1h\nVar=A unsigned 0,65\n",
            "4: signal A of M: 65 bits: a signal has 1 to 64 bits",
        ),
        (
            "[M]\nID=1h\nVar=A unsigned 60,8\n",
            "4: signal A of M: it ends in byte 9 of 8",
        ),
        (
            "[M]\nID=1h\nMux=A 0,8\n",
            "4: Mux: a name, a place such as 0,8 and a value",
        ),
        (
            "[M]\nID=1h\nMux=A 0,8 x\n",
            "4: Mux: `x` is not a value of a switch",
        ),
        (
            "[M]\nID=1h\nCycleTime=x\n",
            "4: CycleTime: `x` is not a time: above 0, and up to 11 days; it is left out",
        ),
        ("[M]\nID=1h\nTimeout=-1\n", "4: Timeout: `-1` is not a time"),
        (
            "[M]\nID=1h\nMinInterval=1e99 // x\n",
            "4: MinInterval: `1e99` is not a time",
        ),
        (
            "[M]\nID=1h\nOther=1\n",
            "4: Other: the key is not known; it is left out",
        ),
    ] {
        let found = file(text);
        let words_of: Vec<String> = found
            .warnings
            .iter()
            .map(|one| format!("{}: {}", one.line, one.problem))
            .collect();
        assert!(
            words_of.len() == 1 && words_of[0].starts_with(words),
            "{text}: {words_of:?}"
        );
    }
    let found = file("[M]\nID=1h\nCycleTime=0\nTimeout=0\n");
    assert!(
        found.warnings.is_empty() && found.messages[0].cycle.is_none(),
        "{found:?}"
    );
    for (text, words) in [
        ("[M]\n", "the symbol has no ID"),
        ("[M]\nID=1\n", "`1` is not a valid ID"),
        ("[M]\nID=800h\n", "`800h` is not a valid ID"),
        (
            "[M]\nID=0h-7FFFh\nType=Extended\n",
            "0h-7FFFh has no IDs, or more than 2048",
        ),
        ("[M]\nID=2h-1h\n", "2h-1h has no IDs"),
        ("[M]\nID=1h\nLen=x\n", "`x` is not a valid length"),
    ] {
        let found = file(text);
        let error = &found.impossible[0].error;
        assert!(
            error.line == 2 && error.problem.starts_with(words),
            "{error}"
        );
    }
    for (text, words) in [
        ("", "line 1, column 1: a PEAK SYM begins with"),
        (
            "\nFormatVersion=3.0 // x\n",
            "line 2, column 1: version 3.0 is not read",
        ),
        ("[M]\n", "line 1, column 1: a PEAK SYM begins with"),
    ] {
        let error = format!("{}", read(text.as_bytes()).unwrap_err());
        assert!(error.starts_with(words), "{error}");
    }
}

/// Each prefix of a file is read, once it has its version.
#[test]
fn a_file_can_end_anywhere() {
    let first = FILE.find('\n').unwrap();
    for end in 0..FILE.len() {
        if let Some(text) = FILE.get(..end) {
            let found = read(text.as_bytes());
            assert!(found.is_ok() || end < first, "{end}: {found:?}");
        }
    }
}

/// Version 5.0 has other words for enumerations and lengths.
#[test]
fn the_version_before_is_read() {
    let text = "FormatVersion=5.0 // x\nTitle=\"t\"\n{ENUMS}\nenum Foo(0=\"foo\",\n 1=\"bar\")\n\
        {SEND}\n[M]\nID=1h\nDLC=2\nVar=v unsigned 0,8 /e:Foo\n";
    let found = read(text.as_bytes()).unwrap();
    assert!(found.warnings.is_empty(), "{found:?}");
    let message = &found.messages[0];
    assert_eq!(message.len, 2);
    assert_eq!(
        message.signals[0].name_of(RawValue::Unsigned(1)),
        Some("bar")
    );
}

/// Each of these files is short, and its messages would need more memory than any computer has.
#[test]
fn a_file_with_too_many_signals_is_refused_with_its_place() {
    let refused = |text: &str| {
        let error = read(format!("FormatVersion=6.0\n{text}").as_bytes()).unwrap_err();
        format!("{error}")
    };
    let many = "line 4, column 1: more than 1000000 messages and signals: divide the file into several \
        databases";
    let texts = "more than 512 MiB of names and comments of signals: divide the file into several \
        databases";
    // A message with a range of IDs, again and again.
    let message = "[M]\nID=0h-7FFh\n";
    let found = refused(&message.repeat(1000));
    assert_eq!(found, many.replace("line 4", "line 978"));
    // The same with signals in it.
    let message = format!("[M]\nID=0h-7FFh\n{}", "Var=v bit 0,1\n".repeat(1000));
    let found = refused(&message);
    assert_eq!(found, many.replace("line 4", "line 491"));
    // An enumeration that each signal has.
    let values: Vec<String> = (0..20_000).map(|raw| format!("{raw}=\"n\"")).collect();
    let signals = "Sig=v 0\n".repeat(20_000);
    let shared = format!(
        "Enum=E({})\nSig=v unsigned 8 /e:E\n[M]\nID=1h\n{signals}",
        values.join(",")
    );
    let found = refused(&shared);
    assert!(found.ends_with(texts), "{found}");
    // A comment that each signal has.
    let comment = "c".repeat(1 << 20);
    let shared = format!("Sig=v unsigned 8 // {comment}\n[M]\nID=1h\n{signals}");
    let found = refused(&shared);
    assert_eq!(found, format!("line 516, column 1: {texts}"));
    // Signals of no message need memory, too.
    let found = refused(&"Sig=v bit\n".repeat(1_000_001));
    assert_eq!(found, many.replace("line 4", "line 1000002"));
}

/// The messages of a range of IDs are one definition: what it has twice is reported once.
#[test]
fn doubles_of_a_range_are_reported_once() {
    let text = "FormatVersion=6.0\n[A]\nID=100h-1FFh\nVar=v unsigned 0,8\nVar=v unsigned 8,8 /max:300\n\
        [B]\nID=180h-27Fh\n[C]\nID=27Fh\n[A]\nID=300h-3FFh\n";
    let found = read(text.as_bytes()).unwrap();
    assert_eq!(found.messages.len(), 3 * 256 + 1);
    let words = |all: &[crate::DatabaseWarning]| -> Vec<String> {
        let each = all.iter();
        each.map(|one| format!("{}: {}", one.line, one.problem))
            .collect()
    };
    assert_eq!(
        words(&found.doubtful()),
        [
            "5: signal v of A: line 4 has a signal of this name, too",
            "6: B has 128 IDs of other messages, the first one 180 of A in line 2: their frames are \
             taken as those of the other messages",
            "8: C has the ID 27F of B in line 6: its frames are taken as B",
            "10: line 2 has a message A, too",
        ]
    );
    assert_eq!(
        words(&found.check()),
        [
            "5: signal v of A: its maximum 300 is above 255, the highest value that its 8 bits can have"
        ]
    );
}
