//! Trails: the gateways that frames have passed, in the datagrams of IEEE 1722.

use crate::common::{any_frame, frame, hex};
use frame::FrameBuf;
use net::ieee1722::{AcfReader, AcfWriter, DEFAULT_STREAM, MessageVersion};
use net::{DatagramReader as _, DatagramWriter as _, FrameTrail, NotWritten};
use proptest::prelude::*;

fn writer() -> AcfWriter {
    AcfWriter::new(DEFAULT_STREAM, MessageVersion::V1, 0, true).with_trails()
}

fn stations(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_be_bytes()).collect()
}

/// Returns the frames of a datagram with their trails.
fn read(datagram: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut reader = AcfReader::new(DEFAULT_STREAM, None);
    reader.check(datagram).unwrap();
    let (mut at, mut found) = (0, Vec::new());
    while let Some(frame) = reader.next(datagram, &mut at) {
        found.push((frame.frame.to_string(), frame.trail.bytes().to_vec()));
    }
    found
}

/// The bytes, and a datagram with frames of several trails and of none.
#[test]
fn a_trail_goes_with_its_frames() {
    let (one, two) = (stations(&[0x1122_3344_5566_7788]), stations(&[7, 8]));
    let (mut writer, mut out) = (writer(), Vec::new());
    let frames = ["123#11", "124#22", "125#33"].map(frame);
    writer.push_trail(FrameTrail::from_bytes(&one).unwrap(), &mut out);
    writer.push(&frames[0].view(), 0, &mut out).unwrap();
    writer.push_trail(FrameTrail::from_bytes(&two).unwrap(), &mut out);
    writer.push(&frames[1].view(), 0, &mut out).unwrap();
    writer.push(&frames[2].view(), 0, &mut out).unwrap();
    writer.finish(&mut out);
    let begin = "00000000 82804400 aabbccddeeff0001 f0037401 1122334455667788 0403c000 00000123";
    assert_eq!(out[..hex(begin).len()], hex(begin));
    let expected = [("123#11", &one), ("124#22", &two), ("125#33", &two)];
    let expected = expected.map(|(text, trail)| (text.to_owned(), trail.clone()));
    assert_eq!(read(&out), expected);
    // The same reader begins the next datagram without a trail.
    let mut reader = AcfReader::new(DEFAULT_STREAM, None);
    let (mut plain, mut at) = (Vec::new(), 0);
    writer.push(&frames[0].view(), 0, &mut plain).unwrap();
    writer.finish(&mut plain);
    while reader.next(&out, &mut at).is_some() {}
    let found = reader.next(&plain, &mut 0).unwrap();
    assert!(found.trail.is_empty());
    assert_eq!(reader.passed_over(), 0);
}

#[test]
fn stations_are_found() {
    let bytes = stations(&[7, 0x0708, u64::MAX]);
    let trail = FrameTrail::from_bytes(&bytes).unwrap();
    assert_eq!(trail.len(), 3);
    assert_eq!(trail.stations().collect::<Vec<_>>(), [7, 0x0708, u64::MAX]);
    assert!(FrameTrail::from_bytes(&bytes[1..]).is_none());
    let most = stations(&[1; FrameTrail::MAX_STATIONS]);
    assert!(FrameTrail::from_bytes(&most).is_some());
    assert!(FrameTrail::from_bytes(&stations(&[1; 17])).is_none());
}

/// A trail with a part of a station, or with too many, is a fault of the datagram; messages of
/// other layouts are passed over.
#[test]
fn wrong_trails_are_faults() {
    let head = |len: u8| format!("00000000 8280{len:02x}00 aabbccddeeff0001 ");
    let fault = |text: &str| {
        let mut reader = AcfReader::new(DEFAULT_STREAM, None);
        reader.check(&hex(text)).err().map(|fault| fault.at)
    };
    assert_eq!(fault(&format!("{}f0027401 00000001", head(8))), Some(16));
    assert_eq!(
        fault(&format!("{}f0037401 0000000100000001", head(12))),
        None
    );
    let long = format!("f0237401 {}", "00".repeat(17 * 8));
    assert_eq!(fault(&format!("{}{long}", head(140))), Some(16));
    for other in [
        "f0027402 00000001",
        "f0026301 00000001",
        "f2027401 00000001",
    ] {
        assert_eq!(fault(&format!("{}{other}", head(8))), None);
    }
}

/// A long XL frame has a datagram of its own, behind its trail, as far as the length reaches.
#[test]
fn an_xl_frame_has_room_beside_its_trail() {
    use frame::{CanId, FrameRef, Header, Kind};
    let mut writer = AcfWriter::new(DEFAULT_STREAM, MessageVersion::V2, 0, true).with_trails();
    let bytes = stations(&[7, 8]);
    let trail = FrameTrail::from_bytes(&bytes).unwrap();
    let payload = vec![0x55; 2048];
    for (len, fits) in [(2008, true), (2009, false)] {
        let header = Header::new(Kind::Xl, CanId::from_raw(5), len).unwrap();
        let frame = FrameRef::new(header, &payload[..len]).unwrap();
        let mut out = Vec::new();
        writer.push_trail(trail, &mut out);
        let pushed = writer.push(&frame, 0, &mut out);
        assert_eq!(
            pushed,
            if fits {
                Ok(())
            } else {
                Err(NotWritten::Unsupported)
            }
        );
        if fits {
            writer.finish(&mut out);
            assert_eq!(read(&out)[0].1, bytes);
        }
    }
}

proptest! {
    /// The datagram has as many frames as the writer states to have room for, each with a trail.
    #[test]
    fn there_is_room_for_trails(frames in proptest::collection::vec(any_frame(), 1..40)) {
        let (mut writer, mut out) = (writer(), Vec::new());
        let mut sent = Vec::new();
        for (number, frame) in frames.iter().enumerate() {
            if writer.room(&out) == 0 {
                break;
            }
            let bytes = stations(&[number as u64; FrameTrail::MAX_STATIONS]);
            let trail = FrameTrail::from_bytes(&bytes).unwrap();
            writer.push_trail(trail, &mut out);
            let mut kept = FrameBuf::new();
            kept.set(frame.view());
            prop_assert_eq!(writer.push(&frame.view(), 0, &mut out), Ok(()));
            sent.push(bytes);
        }
        writer.finish(&mut out);
        let found: Vec<Vec<u8>> = read(&out).into_iter().map(|(_, trail)| trail).collect();
        prop_assert_eq!(found, sent);
    }
}
