//! `cangate timing`.

use crate::{cangate, stderr, stdout};
use serde_json::Value;

/// A frame and its known values: bits with intermission, stuff bits, CRC, bits of the data phase.
/// Worked out by hand and by other programs before cangate existed, from ISO 11898-1:2015.
const KNOWN: [(&str, u64, u64, u64, u64); 12] = [
    ("123#", 48, 1, 0x6858, 0),
    ("123#0011223344556677", 113, 2, 0x0BD4, 0),
    ("555#CCCCCCCCCCCCCCCC", 112, 1, 0x3C10, 0),
    ("000#0000000000000000", 127, 16, 0x145B, 0),
    ("1FFFFFFF#FFFFFFFFFFFFFFFF", 149, 18, 0x1B69, 0),
    ("12345678#DEADBEEFCAFE0123", 136, 5, 0x45AF, 0),
    ("123##10011223344556677", 128, 2, 0x36AC, 98),
    ("123##0", 63, 1, 0x515A, 0),
    ("000##10000000000000000", 141, 15, 0x10243, 109),
    ("7FF##1*64:FF", 684, 105, 0xF6D3D, 652),
    ("12345678##1*20:AB", 246, 0, 0x1C48CF, 197),
    ("1FFFFFFF##3*64:F0", 732, 134, 0xE4E6E, 677),
];

/// Replaces `ID##F*N:XX` by N bytes XX; the short form keeps the table readable.
fn spelled_out(frame: &str) -> String {
    match frame.split_once('*') {
        Some((start, repeated)) => {
            let (count, byte) = repeated.split_once(':').unwrap();
            format!("{start}{}", byte.repeat(count.parse().unwrap()))
        }
        None => frame.to_owned(),
    }
}

/// Nanoseconds per bit: arbitration at 500 kbit/s, data at 2 Mbit/s.
const ARBITRATION: u64 = 2_000;
const DATA: u64 = 500;

#[test]
fn known_frames_have_their_known_lengths() {
    let frames: Vec<String> = KNOWN.iter().map(|known| spelled_out(known.0)).collect();
    let out = stdout(cangate().args(["timing", "--json"]).args(&frames), 0);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), KNOWN.len());
    for (line, (frame, bits, stuff, crc, data)) in lines.into_iter().zip(KNOWN) {
        let json: Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["bits"], bits, "{frame}");
        assert_eq!(json["stuff_bits"], stuff, "{frame}");
        assert_eq!(json["data_phase_bits"], data, "{frame}");
        let printed = u64::from_str_radix(json["crc"].as_str().unwrap(), 16);
        assert_eq!(printed, Ok(crc), "{frame}");
        let duration = (bits - data) * ARBITRATION + data * DATA;
        assert_eq!(json["duration_ns"], duration, "{frame}");
        assert_eq!(
            json["duration_without_intermission_ns"],
            duration - 3 * ARBITRATION,
            "{frame}"
        );
    }
}

#[test]
fn bit_rates_can_be_chosen() {
    let json = |rates: &[&str]| -> Value {
        let arguments = ["timing", "--json", "123##10011223344556677"];
        serde_json::from_str(&stdout(cangate().args(arguments).args(rates), 0)).unwrap()
    };
    assert_eq!(
        json(&["--bitrate", "1M", "--data-bitrate", "8M"])["duration_ns"],
        (128 - 98) * 1_000 + 98 * 125
    );
    assert_eq!(
        json(&["--bitrate", "125000", "--data-bitrate", "500k"])["duration_ns"],
        (128 - 98) * 8_000 + 98 * 2_000
    );
}

#[test]
fn text_has_the_same_content() {
    let out = stdout(cangate().args(["timing", "123#0011223344556677"]), 0);
    assert!(
        out.contains("113") && out.to_uppercase().contains("BD4"),
        "{out}"
    );
}

#[test]
fn what_is_no_frame_is_refused_with_its_column() {
    let err = stderr(cangate().args(["timing", "123#DEADB"]), 2);
    assert!(err.contains("123#DEADB"), "{err}");
    assert!(
        err.contains("10"),
        "the second digit is missing in column 10: {err}"
    );
    let err = stderr(cangate().args(["timing", "123#", "--bitrate", "fast"]), 2);
    assert!(err.contains("fast"), "{err}");
}

#[test]
fn a_length_without_a_dlc_is_timed_as_it_is_sent_and_the_user_is_warned() {
    let nine = "123##1112233445566778899";
    let out = stdout(cangate().args(["timing", nine]), 0);
    assert!(out.contains("12 bytes on the wire"), "{out}");
    let json = |frame: &str| -> Value {
        serde_json::from_str(&stdout(cangate().args(["timing", "--json", frame]), 0)).unwrap()
    };
    let (given, filled) = (json(nine), json("123##1112233445566778899000000"));
    assert_eq!(given["payload_bytes"], 12);
    for key in ["bits", "crc", "duration_ns"] {
        assert_eq!(given[key], filled[key], "{key}");
    }
}
