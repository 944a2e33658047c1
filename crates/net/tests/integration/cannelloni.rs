//! cannelloni: bytes that cannelloni 2.1.2 sent, and what goes around.

use crate::common::{any_frame, frame, hex};
use frame::Frame;
use net::cannelloni::{
    CannelloniReader, CannelloniSession, CannelloniWriter, GREETING, HEADER, MAX_DATAGRAM,
};
use net::{DatagramReader, DatagramWriter, NotWritten, StreamEnd, StreamSession, StreamStep};
use proptest::prelude::*;

/// Datagrams that cannelloni 2.1.2 sent on a vcan interface (captured by tcpdump), by the frames
/// that candump showed there.
fn captured() -> Vec<(Frame, &'static str)> {
    vec![
        (frame("123#11223344"), "0200000001 00000123 04 11223344"),
        (
            frame("1ABCDEF0#0102030405060708"),
            "0200010001 9abcdef0 08 0102030405060708",
        ),
        (frame("7FF#"), "0200020001 000007ff 00"),
        (frame("123#R"), "0200030001 40000123 00"),
        (frame("123#R5"), "0200040001 40000123 05"),
        (
            frame("123##1112233445566778899AABBCC"),
            "0200050001 00000123 8c 05 112233445566778899aabbcc",
        ),
        (frame("123##3AABB"), "0200060001 00000123 82 07 aabb"),
        (
            frame("1ABCDEF0##0DEADBEEF"),
            "0200070001 9abcdef0 84 04 deadbeef",
        ),
    ]
}

/// Returns the frames of a datagram; `Err` is the place of the fault.
fn read(datagram: &[u8]) -> Result<(u8, Vec<Frame>), usize> {
    let mut reader = CannelloniReader;
    let sequence = reader.check(datagram).map_err(|fault| fault.at)?;
    let (mut at, mut frames) = (0, Vec::new());
    while let Some(frame) = reader.next(datagram, &mut at) {
        frames.push(Frame::from_view(frame.frame).unwrap());
    }
    assert_eq!(at.max(HEADER), datagram.len());
    Ok((sequence.unwrap().short, frames))
}

#[test]
fn datagrams_are_those_of_cannelloni() {
    let mut writer = CannelloniWriter::default();
    for (n, (frame, bytes)) in captured().into_iter().enumerate() {
        let bytes = hex(bytes);
        assert_eq!(read(&bytes), Ok((n as u8, vec![frame])));
        let mut out = Vec::new();
        writer.push(&frame.view(), 0, &mut out).unwrap();
        writer.finish(&mut out);
        assert_eq!(out, bytes);
    }
    // 64 bytes, and a raw DLC of 13, which the protocol does not carry.
    let long = Frame::fd(frame("123#").id(), 1, &[7; 64]).unwrap();
    let mut out = Vec::new();
    writer.push(&long.view(), 0, &mut out).unwrap();
    assert_eq!(out[HEADER..HEADER + 6], hex("00000123 c0 05"));
    let raw = frame("123#1122334455667788_D");
    assert_eq!(
        read(&hex("0200090001 00000123 08 1122334455667788"))
            .unwrap()
            .1[0],
        {
            let mut plain = raw;
            plain = plain.with_len8_dlc(0);
            plain
        }
    );
}

/// A sender with a kernel before 6.1 does not set FDF in the flags.
#[test]
fn fdf_may_be_missing() {
    let with = read(&hex("0200060001 00000123 82 07 aabb"));
    assert_eq!(read(&hex("0200060001 00000123 82 03 aabb")), with);
}

#[test]
fn faults_are_named_with_their_place() {
    let cases = [
        ("", 0),
        ("02000000", 4),
        ("0100000001 00000123 00", 0),
        ("0201000001 00000123 00", 1),
        ("0200000002 00000123 00", 10),
        ("0200000001 00000123 01", 10),
        ("0200000001 00000123 00 00", 10),
        // 9 bytes in a classic frame, 9 and 65 in FD; the flag 08; a remote FD frame; an error
        // frame; an identifier of 12 bits.
        ("0200000001 00000123 09 112233445566778899", 5),
        ("0200000001 00000123 89 00 112233445566778899", 5),
        ("0200000001 00000123 c1 00", 5),
        ("0200000001 00000123 81 08 11", 5),
        ("0200000001 40000123 81 00 11", 5),
        ("0200000001 20000040 08 0000000000000000", 5),
        ("0200000001 00000800 00", 5),
        // The second frame is wrong, so the first one is left out, too.
        ("0200000002 00000123 00 00000123 09", 10),
    ];
    for (bytes, at) in cases {
        assert_eq!(read(&hex(bytes)), Err(at), "{bytes}");
    }
    assert_eq!(read(&hex("0200050000")), Ok((5, vec![])));
}

#[test]
fn a_datagram_fits_into_a_packet() {
    let mut writer = CannelloniWriter::default();
    let long = Frame::fd(frame("123#").id(), 0, &[7; 64]).unwrap();
    let (mut out, mut count) = (Vec::new(), 0);
    while writer.push(&long.view(), 0, &mut out).is_ok() {
        count += 1;
    }
    assert_eq!(
        writer.push(&long.view(), 0, &mut out),
        Err(NotWritten::Full)
    );
    assert_eq!(count, (MAX_DATAGRAM - HEADER) / 70);
    writer.finish(&mut out);
    assert_eq!(read(&out).unwrap().1.len(), count);
    let error = Frame::classic(frame::CanId::from_raw(0x2000_0040), &[0; 8]).unwrap();
    assert_eq!(
        writer.push(&error.view(), 0, &mut out),
        Err(NotWritten::Unsupported)
    );
}

/// Takes all units of a stream; returns the frames, the end, and the number of bytes left.
fn take_all(
    session: &mut impl StreamSession,
    input: &[u8],
) -> (Vec<Frame>, Option<StreamEnd>, usize) {
    let (mut rest, mut frames) = (input, Vec::new());
    loop {
        match session.take(rest, &mut Vec::new()) {
            StreamStep::More => return (frames, None, rest.len()),
            StreamStep::Used(used) => rest = &rest[used..],
            StreamStep::Frame(used, frame) => {
                frames.push(frame);
                rest = &rest[used..];
            }
            StreamStep::End(end) => return (frames, Some(end), rest.len()),
            step => panic!("{step:?}"),
        }
    }
}

/// The stream that cannelloni 2.1.2 sent over TCP.
#[test]
fn the_stream_is_that_of_cannelloni() {
    let stream = hex(
        "43414e4e454c4c4f4e497631 000001230411223344 9abcdef0080102030405060708 000007ff00 \
         4000012305 000001238c05112233445566778899aabbcc 000001238207aabb 000000aa8004 000000bb0101",
    );
    let frames: Vec<Frame> = [
        "123#11223344",
        "1ABCDEF0#0102030405060708",
        "7FF#",
        "123#R5",
        "123##1112233445566778899AABBCC",
        "123##3AABB",
        "0AA##0",
        "0BB#01",
    ]
    .into_iter()
    .map(frame)
    .collect();
    let mut session = CannelloniSession::default();
    assert_eq!(take_all(&mut session, &stream), (frames.clone(), None, 0));
    assert!(session.is_open());
    let mut out = Vec::new();
    session.begin(&mut out);
    for frame in &frames {
        session.put(&frame.view(), 0, &mut out);
    }
    assert_eq!(out, stream);
}

#[test]
fn a_stream_of_another_protocol_ends_the_conversation() {
    let foreign = |bytes: &[u8]| {
        let (_, end, _) = take_all(&mut CannelloniSession::default(), bytes);
        matches!(end, Some(StreamEnd::Foreign(_)))
    };
    assert!(foreign(b"CANNELLONIv2"));
    assert!(foreign(b"< hi >"));
    assert!(!foreign(b"CANNELL"));
    let mut wrong = GREETING.to_vec();
    wrong.extend(hex("00000123 09"));
    assert!(foreign(&wrong));
}

proptest! {
    #[test]
    fn frames_go_around(frames in prop::collection::vec(any_frame(), 0..40), cut in any::<prop::sample::Index>()) {
        let mut writer = CannelloniWriter::default();
        let mut out = Vec::new();
        let mut fitting = Vec::new();
        for frame in &frames {
            if writer.push(&frame.view(), 0, &mut out).is_err() {
                break;
            }
            fitting.push(*frame);
        }
        writer.finish(&mut out);
        if !fitting.is_empty() {
            prop_assert_eq!(read(&out), Ok((0, fitting)));
            // A part of a datagram is a fault.
            let part = cut.index(out.len());
            prop_assert!(read(&out[..part]).is_err());
        }
        let mut stream = Vec::new();
        let mut session = CannelloniSession::default();
        session.begin(&mut stream);
        for frame in &frames {
            session.put(&frame.view(), 0, &mut stream);
        }
        // The stream in two parts, wherever they are divided, gives all frames.
        let part = cut.index(stream.len());
        let (mut found, end, left) = take_all(&mut session, &stream[..part]);
        prop_assert_eq!(end, None);
        let (rest, end, left) = take_all(&mut session, &stream[part - left..]);
        prop_assert_eq!((end, left), (None, 0));
        found.extend(rest);
        prop_assert_eq!(found, frames);
    }
}
