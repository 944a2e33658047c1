//! Reads the files with a small independent reader that implements only the format's description.

use super::*;
use frame::FrameBuf;

/// Returns the blocks, each with its type and its content.
fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let (kind, len) = (word(0), word(4) as usize);
        assert!(len.is_multiple_of(4), "whole words");
        assert_eq!(
            word(len - 4) as usize,
            len,
            "the length stands at both ends"
        );
        found.push((kind, bytes[8..len - 4].to_vec()));
        bytes = &bytes[len..];
    }
    found
}

fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    while bytes.len() >= 4 {
        let half = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap());
        let (code, len) = (half(0), usize::from(half(2)));
        if code == 0 {
            assert_eq!((len, bytes.len()), (0, 4), "the end stands at the end");
            break;
        }
        found.push((code, bytes[4..4 + len].to_vec()));
        bytes = &bytes[4 + len.next_multiple_of(4)..];
    }
    found
}

fn parsed(text: &str) -> FrameBuf {
    let mut buf = FrameBuf::new();
    frame::text::parse_frame(text.as_bytes(), &mut buf).unwrap();
    buf
}

const QUEUE: &str = "the queue to the file was full";

#[test]
fn frames_as_the_link_type_has_them() {
    // The examples are written by hand from LINKTYPE_CAN_SOCKETCAN's description.
    let cases: [(&str, &[u8]); 6] = [
        ("123#DEAD", &[0, 0, 1, 0x23, 2, 0, 0, 0, 0xDE, 0xAD]),
        ("12345678#R5", &[0xD2, 0x34, 0x56, 0x78, 5, 0, 0, 0]),
        ("123##1AABB", &[0, 0, 1, 0x23, 2, 5, 0, 0, 0xAA, 0xBB]),
        (
            "20000080#0011223344556677",
            &[
                0x20, 0, 0, 0x80, 8, 0, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
            ],
        ),
        (
            "123#0011223344556677_F",
            &[
                0, 0, 1, 0x23, 8, 0, 0, 15, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
            ],
        ),
        (
            "45123#81:07:12345678#AA",
            &[
                0, 0x45, 1, 0x23, 0x81, 7, 1, 0, 0x78, 0x56, 0x34, 0x12, 0xAA,
            ],
        ),
    ];
    for (text, expected) in cases {
        let buf = parsed(text);
        let record = FrameEntry {
            stamp: 0x0123_4567_89AB_CDEF,
            interface: 4,
            name: "can4",
            direction: None,
            frame: buf.view(),
        };
        let mut out = Vec::new();
        let mut pcapng = PcapngWriter::default();
        pcapng.begin(&mut out);
        assert!(pcapng.frame(&record, &mut out));
        let found = blocks(&out);
        let kinds: Vec<u32> = found.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, PACKET]);
        assert_eq!(found[1].1[..2], 227_u16.to_ne_bytes());
        assert_eq!(
            options(&found[1].1[8..]),
            [(2, b"can4".to_vec()), (9, vec![9])]
        );
        let packet = &found[2].1;
        let word = |at: usize| u32::from_ne_bytes(packet[at..at + 4].try_into().unwrap());
        assert_eq!((word(0), word(4), word(8)), (0, 0x0123_4567, 0x89AB_CDEF));
        assert_eq!((word(12), word(16)), (expected.len() as u32, word(12)));
        assert_eq!(&packet[20..20 + expected.len()], expected, "{text}");
        assert_eq!(packet.len(), 20 + expected.len().next_multiple_of(4));
    }
}

#[test]
fn losses_stand_with_the_next_frame_and_in_the_statistics() {
    let buf = parsed("123#01");
    let record = |(interface, name), stamp, direction| FrameEntry {
        stamp,
        interface,
        name,
        direction: Some(direction),
        frame: buf.view(),
    };
    let loss = |interface, frames| LossEntry {
        stamp: 1,
        interface,
        frames,
        reason: QUEUE,
    };
    let mut out = Vec::new();
    let mut pcapng = PcapngWriter::default();
    pcapng.begin(&mut out);
    pcapng.loss(&loss(Some((1, "can1")), 7), &mut out);
    pcapng.loss(&loss(None, 5), &mut out);
    assert!(pcapng.frame(&record((0, "can0"), 10, Direction::Sent), &mut out));
    assert!(pcapng.frame(&record((1, "can1"), 20, Direction::Received), &mut out));
    pcapng.end(&mut out);
    let found = blocks(&out);
    let packets: Vec<_> = found.iter().filter(|b| b.0 == PACKET).collect();
    let first = options(&packets[0].1[32..]);
    assert_eq!(first[0], (2, OUTBOUND.to_ne_bytes().to_vec()));
    let (code, text) = &first[1];
    assert!(*code == 1 && text.starts_with(b"5 frames of any interface"));
    let second = options(&packets[1].1[32..]);
    let number = |n: u64| n.to_ne_bytes().to_vec();
    assert_eq!(
        second,
        [(2, INBOUND.to_ne_bytes().to_vec()), (4, number(7))]
    );
    let statistics: Vec<_> = found.iter().filter(|b| b.0 == STATISTICS).collect();
    // can1 was written first, because its loss was.
    let counted = |n: usize| options(&statistics[n].1[12..]);
    assert_eq!(counted(0)[..2], [(4, number(1)), (7, number(0))]);
    assert_eq!(counted(1)[..2], [(4, number(8)), (7, number(7))]);
}

#[test]
fn with_one_interface_every_loss_is_its_own_and_a_section_can_begin_again() {
    let buf = parsed("123#01");
    let mut out = Vec::new();
    let mut pcapng = PcapngWriter::default();
    for _ in 0..2 {
        pcapng.begin(&mut out);
        let record = FrameEntry {
            stamp: 9,
            interface: 0,
            name: "can0",
            direction: None,
            frame: buf.view(),
        };
        assert!(pcapng.frame(&record, &mut out));
        let loss = LossEntry {
            stamp: 9,
            interface: None,
            frames: 3,
            reason: QUEUE,
        };
        pcapng.loss(&loss, &mut out);
        pcapng.end(&mut out);
    }
    let found = blocks(&out);
    let kinds: Vec<u32> = found.iter().map(|(kind, _)| *kind).collect();
    let section = [SECTION, INTERFACE, PACKET, STATISTICS];
    assert_eq!(kinds, [section, section].concat());
    for (kind, body) in &found {
        if *kind == STATISTICS {
            let lost = options(&body[12..]);
            assert_eq!(lost[1], (7, 3_u64.to_ne_bytes().to_vec()));
        }
    }
}
