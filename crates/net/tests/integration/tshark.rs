//! Checks the datagrams of IEEE 1722 with tshark, Wireshark's program for the command line. It
//! knows the messages of version 1.

use crate::common::frame;
use frame::Kind;
use net::ieee1722::{AcfWriter, DEFAULT_STREAM, MessageVersion, PORT};
use net::{DatagramWriter, FrameTrail, PresentationTime};
use std::path::Path;
use std::process::Command;

/// The fields that are requested for each datagram, in this order.
const FIELDS: [&str; 21] = [
    "ieee1722.encapsulation_sequence_num",
    "ntscf.seqnum",
    "ntscf.data_len",
    "ntscf.stream_id",
    "tscf.seqnum",
    "tscf.data_len",
    "tscf.stream_id",
    "tscf.flags.tv",
    "tscf.flags.tu",
    "tscf.avtp_timestamp",
    "acf-can.bus_id",
    "acf-can.message_timestamp",
    "can.id",
    "can.flags.xtd",
    "can.flags.rtr",
    "acf-can.flags.fdf",
    "canfd.flags.brs",
    "canfd.flags.esi",
    "can.len",
    "data.data",
    "_ws.expert.message",
];

const STAMP: u64 = 0x0102_0304_0506_0708;

/// Returns a file of type pcap with IPv4 packets (link type 228), each with a datagram.
fn pcap(datagrams: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, 228] {
        file.extend(word.to_le_bytes());
    }
    for datagram in datagrams {
        let (udp, all) = (8 + datagram.len(), 28 + datagram.len());
        for word in [0, 0, all as u32, all as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend([0x45, 0]);
        file.extend((all as u16).to_be_bytes());
        // No fragments, UDP, no checksum, from 127.0.0.1 to itself.
        file.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        for number in [PORT, PORT, udp as u16, 0] {
            file.extend(number.to_be_bytes());
        }
        file.extend(datagram);
    }
    file
}

/// Returns the lines of tshark; `None` where there is no tshark.
fn tshark(file: &Path) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(file)
        .args(["-T", "fields", "-E", "separator=|"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let Ok(output) = command.output() else {
        eprintln!("SKIPPED because there is no tshark: `cargo xtask setup` installs it");
        return None;
    };
    let (text, errors) = (
        output.stdout,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{errors}");
    Some(
        String::from_utf8(text)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn tshark_reads_the_same() {
    compare(&[], None);
}

/// TSCF, with times that are certain and uncertain.
#[test]
fn tshark_reads_presentation_times() {
    for is_uncertain in [false, true] {
        let low = 0x89AB_CDEF;
        compare(&[], Some(PresentationTime { low, is_uncertain }));
    }
}

/// tshark names the message of a trail user-defined, and goes on with the frame behind it.
#[test]
fn tshark_reads_frames_behind_a_trail() {
    compare(&[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88], None);
}

/// Compares datagrams whose frames have a trail of these bytes, or none, and that have a
/// presentation time, or are NTSCF.
fn compare(trail: &[u8], time: Option<PresentationTime>) {
    let frames = [
        "123#11223344",
        "1ABCDEF0#0102030405060708",
        "7FF#",
        "123#R",
        "00000123#R3",
        "123##0AABB",
        "123##1112233445566778899AABBCC",
        "1ABCDEF0##3112233",
        "7FF##2",
    ]
    .map(frame);
    for brief in [false, true] {
        let mut writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 3, brief);
        if time.is_some() {
            writer = writer.with_presentation();
        }
        let datagrams = frames.each_ref().map(|frame| {
            let mut out = Vec::new();
            if !trail.is_empty() {
                writer.push_trail(FrameTrail::from_bytes(trail).unwrap(), &mut out);
            }
            writer.push(&frame.view(), STAMP, &mut out).unwrap();
            writer.finish(&mut out);
            if let Some(time) = time {
                writer.present(time, &mut out);
            }
            out
        });
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.pcap");
        std::fs::write(&file, pcap(&datagrams)).unwrap();
        let Some(lines) = tshark(&file) else { return };
        assert_eq!(lines.len(), frames.len());
        for (number, (line, frame)) in lines.iter().zip(&frames).enumerate() {
            let bits = frame.header();
            let fd = frame.kind() == Kind::Fd;
            // A remote frame has as many zero bytes as its length.
            let bytes = if bits.is_rtr() {
                &[0; 8][..frame.len()]
            } else {
                frame.data()
            };
            let hex = |bytes: &[u8]| -> String {
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            };
            let mut len = (if brief { 8 } else { 16 }) + frame.len().next_multiple_of(4);
            let mut data = vec![hex(bytes)];
            if !trail.is_empty() {
                data.insert(0, format!("7401{}", hex(trail)));
                data.retain(|data| !data.is_empty());
                len += 4 + trail.len();
            }
            let flag = |shown: bool, set: bool| {
                if shown {
                    u8::from(set).to_string()
                } else {
                    String::new()
                }
            };
            let header = format!("{number}|{len}|{DEFAULT_STREAM:#018x}");
            let header = match time {
                None => format!("{header}||||||"),
                Some(time) => {
                    let uncertain = u8::from(time.is_uncertain);
                    let low = time.low;
                    format!("|||{header}|0x01|{uncertain}|{low:#010x}")
                }
            };
            let expected = [
                format!("{number:#010x}"),
                header,
                "3".to_owned(),
                if brief {
                    String::new()
                } else {
                    format!("{STAMP:#018x}")
                },
                format!("{:#010x}", frame.id().number()),
                flag(true, frame.id().is_eff()),
                flag(!fd, bits.is_rtr()),
                flag(true, fd),
                flag(fd, bits.is_brs()),
                flag(fd, bits.is_esi()),
                frame.len().to_string(),
                data.join(","),
                String::new(),
            ];
            assert_eq!(*line, expected.join("|"), "{frame}");
        }
    }
}
