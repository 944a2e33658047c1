//! IEEE 1722: bytes of COVESA's Open1722, and what goes around.

use crate::common::{any_frame, frame, hex};
use frame::{CanId, Frame, FrameBuf, FrameRef, Header, Kind, XlFields};
use net::ieee1722::{AcfReader, AcfWriter, DEFAULT_STREAM, MessageVersion};
use net::{DatagramNumber, DatagramReader, DatagramWriter, NotWritten};
use proptest::prelude::*;

const STREAM: u64 = 0x0011_2233_4455_0001;

/// Returns the frames of a datagram as candump writes them; `Err` is the place of the fault.
fn read(reader: &mut AcfReader, datagram: &[u8]) -> Result<(Option<u8>, Vec<String>), usize> {
    let sequence = reader.check(datagram).map_err(|fault| fault.at)?;
    let (mut at, mut frames) = (0, Vec::new());
    while let Some(frame) = reader.next(datagram, &mut at) {
        frames.push(frame.frame.to_string());
    }
    Ok((sequence.map(|number| number.short), frames))
}

fn read_all(text: &str) -> Result<(Option<u8>, Vec<String>), usize> {
    read(&mut AcfReader::new(DEFAULT_STREAM, None), &hex(text))
}

/// Datagrams that Open1722's `acf-can-bridge --fd` sent for frames on its interface. With this
/// option, it sends classic frames as FD frames.
#[test]
fn datagrams_of_the_bridge_are_read() {
    let cases = [
        (
            "123##011223344",
            "00000000 82801400 aabbccddeeff0001 02052200 18eb567624b4928c 00000123 11223344",
        ),
        (
            "1ABCDEF0##00102030405060708",
            "00000001 82801801 aabbccddeeff0001 02062a00 18eb56762f46b55e 1abcdef0 0102030405060708",
        ),
        (
            "7FF##0",
            "00000002 82801002 aabbccddeeff0001 02042200 18eb5676379e022a 000007ff",
        ),
        (
            "123##1112233445566778899AABBCC",
            "00000004 82801c04 aabbccddeeff0001 02072600 18eb567647f1591a 00000123 112233445566778899aabbcc",
        ),
        (
            "123##3AABB",
            "00000005 82801405 aabbccddeeff0001 0205a700 18eb56764fa7ab32 00000123 aabb0000",
        ),
    ];
    for (text, bytes) in cases {
        let sequence = hex(bytes)[3];
        let frame = frame(text).to_string();
        assert_eq!(
            read_all(bytes),
            Ok((Some(sequence), vec![frame])),
            "{bytes}"
        );
    }
    // TSCF with two messages, classic: four bytes, and a remote frame of length 3.
    let two = "00000000 05800000 aabbccddeeff0001 00000000 00000000 00280000 \
               02052000 18eb57b1332b687c 00000123 11223344 02057000 18eb57b133306052 00000124 00000000";
    let frames = vec!["123#11223344".to_owned(), "124#R3".to_owned()];
    assert_eq!(read_all(two), Ok((Some(0), frames)));
}

/// Messages that libopen1722 wrote.
#[test]
fn messages_of_every_type_are_read_and_written() {
    let tscf = "00000000 05810700 0011223344550001 89abcdef 00000000 00140000 \
                02052003 0102030405060708 00000123 11223344";
    let mut reader = AcfReader::new(STREAM, None);
    assert_eq!(
        read(&mut reader, &hex(tscf)),
        Ok((Some(7), vec!["123#11223344".to_owned()]))
    );
    let xl = |flags: u8| {
        let header = Header::new(Kind::Xl, CanId::sff(0x242).unwrap(), 6).unwrap();
        let fields = XlFields {
            vcid: 0xCD,
            sdt: 3,
            af: 0xDEAD_BEEF,
        };
        FrameRef::new(
            header.with_flags(flags).with_xl(fields),
            &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66],
        )
        .unwrap()
    };
    let frames = ["1ABCDEF0#112233", "123##1112233", "7FF##21122334455"].map(frame);
    let [brief, v2, brief_v2] = frames.each_ref().map(Frame::view);
    use MessageVersion::{V1, V2};
    let cases = [
        (V1, true, 3, brief, "04034803 1abcdef0 11223300"),
        (
            V2,
            false,
            0x123,
            v2,
            "42056123 0102030405060708 c0000123 11223300",
        ),
        (
            V2,
            true,
            0x123,
            brief_v2,
            "4404c123 600007ff 1122334455000000",
        ),
        (
            V2,
            false,
            5,
            xl(1),
            "2208a005 0102030405060708 cd030a42 deadbeef 00000000 1122334455660000",
        ),
        (
            V2,
            true,
            5,
            xl(0),
            "24068005 cd030242 deadbeef 00000000 1122334455660000",
        ),
    ];
    for (version, is_brief, bus, frame, bytes) in cases {
        let mut writer = AcfWriter::new(STREAM, version, bus, is_brief);
        let mut out = Vec::new();
        writer
            .push(&frame, 0x0102_0304_0506_0708, &mut out)
            .unwrap();
        writer.finish(&mut out);
        assert_eq!(out[16..], hex(bytes), "{frame}");
        assert_eq!(out[..8], [0, 0, 0, 0, 0x82, 0x80, out.len() as u8 - 16, 0]);
        let mut reader = AcfReader::new(STREAM, Some(bus));
        assert_eq!(
            read(&mut reader, &out),
            Ok((Some(0), vec![frame.to_string()]))
        );
        // Another bus, another stream.
        for mut reader in [
            AcfReader::new(STREAM, Some(bus ^ 1)),
            AcfReader::new(1, None),
        ] {
            let (_, frames) = read(&mut reader, &out).unwrap();
            assert_eq!((frames.len(), reader.passed_over()), (0, 1));
        }
    }
}

#[test]
fn faults_are_named_with_their_place() {
    let begin = "00000000 8280";
    let stream = "aabbccddeeff0001";
    let cases = [
        (String::new(), 0),
        ("00000000 82".to_owned(), 5),
        (format!("00000000 83800000 {stream}"), 4),
        (format!("00000000 82900000 {stream}"), 5),
        (format!("00000000 82000000 {stream}"), 5),
        (format!("{begin}0100 {stream}"), 16),
        (format!("{begin}0000 {stream} 00"), 17),
        // No length; too long; an identifier of 12 bits; 9 bytes; 9 bytes of FD; more padding than
        // data; a remote FD frame; a message without an identifier.
        (format!("{begin}0400 {stream} 04000000"), 16),
        (format!("{begin}0800 {stream} 04030000 00000123"), 16),
        (format!("{begin}0800 {stream} 04020000 00000800"), 16),
        (
            format!("{begin}1400 {stream} 0405c000 00000123 112233445566778899000000"),
            16,
        ),
        (
            format!("{begin}1400 {stream} 0405c200 00000123 112233445566778899000000"),
            16,
        ),
        (format!("{begin}0800 {stream} 0402c000 00000123"), 16),
        (format!("{begin}0800 {stream} 04021200 00000123"), 16),
        (format!("{begin}0400 {stream} 04010000"), 16),
        (
            format!("{begin}0c00 {stream} 04020000 00000123 04010000"),
            24,
        ),
    ];
    for (bytes, at) in cases {
        assert_eq!(read_all(&bytes), Err(at), "{bytes}");
    }
    // An XL frame in a message; then its first segment, and its last one.
    let xl =
        |last: &str| format!("{begin}1400 {stream} 24050000 00000242 00000000 {last} 11223344");
    assert!(read_all(&xl("00000000")).is_ok());
    assert!(
        read_all(&xl("00070000")).is_ok(),
        "the number of a transaction"
    );
    assert_eq!(read_all(&xl("00071000")), Err(16));
    assert_eq!(read_all(&xl("00070001")), Err(16));
    // Messages of other types are passed over; BRS of a classic frame is ignored.
    let others = format!("{begin}1000 {stream} f0020000 00000000 04020500 00000123");
    assert_eq!(read_all(&others), Ok((Some(0), vec!["123#".to_owned()])));
    assert_eq!(
        read_all(&format!("{begin}0000 {stream}")),
        Ok((Some(0), vec![]))
    );
}

#[test]
fn what_the_version_cannot_express_is_refused() {
    let header = Header::new(Kind::Xl, CanId::sff(1).unwrap(), 2048).unwrap();
    let data = [0; 2048];
    let long = FrameRef::new(header, &data).unwrap();
    let short = FrameRef::new(header.with_len(2000).unwrap(), &data).unwrap();
    let mut v1 = AcfWriter::new(1, MessageVersion::V1, 0, true);
    let mut v2 = AcfWriter::new(1, MessageVersion::V2, 0, true);
    let mut out = Vec::new();
    assert_eq!(v1.push(&short, 0, &mut out), Err(NotWritten::Unsupported));
    assert_eq!(v2.push(&long, 0, &mut out), Err(NotWritten::Unsupported));
    assert_eq!(v2.push(&short, 0, &mut out), Ok(()));
    assert_eq!(v2.push(&short, 0, &mut out), Err(NotWritten::Full));
    v2.finish(&mut out);
    assert_eq!(
        read(&mut AcfReader::new(1, None), &out).unwrap().1,
        [short.to_string()]
    );
}

proptest! {
    #[test]
    fn frames_go_around(
        frames in prop::collection::vec(any_frame(), 1..30),
        v2 in any::<bool>(),
        brief in any::<bool>(),
        bus in 0..32_u16,
    ) {
        let version = if v2 { MessageVersion::V2 } else { MessageVersion::V1 };
        let mut writer = AcfWriter::new(STREAM, version, bus, brief);
        let mut out = Vec::new();
        let mut fitting = Vec::new();
        for frame in &frames {
            match writer.push(&frame.view(), 5, &mut out) {
                Ok(()) => fitting.push(frame.to_string()),
                Err(error) => {
                    prop_assert_eq!(error, NotWritten::Full);
                    break;
                }
            }
        }
        writer.finish(&mut out);
        let mut reader = AcfReader::new(STREAM, Some(bus));
        prop_assert_eq!(read(&mut reader, &out), Ok((Some(0), fitting)));
        for cut in 0..out.len() {
            prop_assert!(read(&mut reader, &out[..cut]).is_err());
        }
    }

    #[test]
    fn xl_frames_go_around(
        priority in 0..=0x7FF_u32, data in prop::collection::vec(any::<u8>(), 1..2000),
        bits in 0..4_u8, vcid: u8, sdt: u8, af: u32, brief: bool,
    ) {
        let header = Header::new(Kind::Xl, CanId::sff(priority).unwrap(), data.len()).unwrap();
        let header = header.with_flags(bits).with_xl(XlFields { vcid, sdt, af });
        let sent = FrameRef::new(header, &data).unwrap();
        let mut out = Vec::new();
        let mut writer = AcfWriter::new(STREAM, MessageVersion::V2, 2047, brief);
        prop_assert_eq!(writer.push(&sent, 5, &mut out), Ok(()));
        writer.finish(&mut out);
        let mut reader = AcfReader::new(STREAM, Some(2047));
        let number = DatagramNumber { short: 0, long: Some(0) };
        prop_assert_eq!(reader.check(&out), Ok(Some(number)));
        let mut found = FrameBuf::new();
        let next = reader.next(&out, &mut 0).unwrap();
        prop_assert_eq!(next.stamp, (!brief).then_some(5));
        found.set(next.frame);
        prop_assert_eq!(found.view(), sent);
    }
}
