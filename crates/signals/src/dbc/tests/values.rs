//! Values in payloads: multiplexer switches, and the vectors of another program.

use super::one;
use crate::dbc::read;
use crate::{RawValue, SignalState};
use alloc::format;
use alloc::string::ToString as _;
use alloc::vec::Vec;

/// Extended multiplexing: a switch within a switch, ranges, and a circle.
#[test]
fn switches_can_be_nested() {
    let file = "BO_ 1 M: 8 A\n SG_ S M : 0|8@1+ (1,0) [0|0] \"\" A\n \
        SG_ X m2M : 8|4@1+ (1,0) [0|0] \"\" A\n SG_ X5 m5 : 16|8@1+ (1,0) [0|0] \"\" A\n";
    let statements = "SG_MUL_VAL_ 1 X S 2-2;\nSG_MUL_VAL_ 1 X5 X 5-7, 9-9;\n";
    let found = read(format!("{file}\n{statements}").as_bytes()).unwrap();
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let message = &found.messages[0];
    let value = |payload: &[u8]| message.read(2, payload);
    let six = SignalState::Value(RawValue::Unsigned(6));
    assert_eq!(value(&[2, 0x35, 6]), six);
    assert_eq!(value(&[2, 0x39, 6]), six);
    assert_eq!(value(&[2, 0x38, 6]), SignalState::Switched);
    assert_eq!(value(&[1, 0x35, 6]), SignalState::Switched);
    assert_eq!(value(&[2, 0x35]), SignalState::TooShort);
    assert_eq!(message.decode(&[2, 0x38, 6]).count(), 2);
    let circle = "SG_MUL_VAL_ 1 X X5 2-2;\nSG_MUL_VAL_ 1 X5 X 5-7;\n";
    let found = read(format!("{file}\n{circle}").as_bytes()).unwrap();
    assert_eq!(found.messages[0].signals.len(), 1);
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    assert!(found.warnings[0].problem.contains("depend on one another"));
}

/// The layouts and values were compared with those of cantools 45.1.
#[test]
fn values_are_those_of_another_program() {
    const P: &str = "3930F0CFA5C37F1E";
    const F: &str = "0000C8C2C2C80000";
    const D: &str = "6D25CF734C49A1DD273E4D8FAB5F5BDB8D1099EC05E8FDC7C1D734777648AB73\
        BDE201825045E4DA32DA5E96796B9D3078E6452F2969CCCDC2710C83869ECB79";
    for (place, scale, payload, raw, physical) in [
        ("0|16@1+", "(0.01,0)", P, "12345", "123.45"),
        ("16|12@1-", "(0.1,-40)", P, "-16", "-41.6"),
        ("30|1@1+", "(1,0)", P, "1", "1"),
        ("39|10@0+", "(0.25,0)", P, "663", "165.75"),
        ("45|9@0-", "(-0.5,10)", P, "27", "-3.5"),
        ("52|5@0+", "(1,0)", P, "31", "31"),
        ("59|4@0+", "(1,0)", P, "14", "14"),
        (
            "7|64@0-",
            "(1,0)",
            "8000000000000001",
            "-9223372036854775807",
            "-9223372036854775807",
        ),
        (
            "3|57@1+",
            "(1,0)",
            "0123456789ABCDEF",
            "142344360928257120",
            "142344360928257120",
        ),
        ("0|32@1-", "(1,0)", F, "-100", "-100"),
        ("39|32@0-", "(1,0)", F, "-100", "-100"),
        (
            "100|62@0-",
            "(1,0)",
            D,
            "1638949311454720984",
            "1638949311454720984",
        ),
    ] {
        let bytes: Vec<u8> = (0..payload.len() / 2)
            .map(|i| u8::from_str_radix(&payload[2 * i..2 * i + 2], 16).unwrap())
            .collect();
        let float = match payload {
            F => "SIG_VALTYPE_ 1 s : 1;\n",
            _ => "",
        };
        let len = bytes.len();
        let text = format!("BO_ 1 M: {len} A\n SG_ s : {place} {scale} [0|0] \"\" A\n\n{float}");
        let message = one(&text);
        let SignalState::Value(value) = message.read(0, &bytes) else {
            panic!("{place}")
        };
        assert_eq!(value.to_string(), raw, "{place}");
        let signal = &message.signals[0];
        assert_eq!(signal.physical(value).to_string(), physical, "{place}");
    }
}
