//! python-can's multicast: bytes that python-can 4.6.1 sent, and what goes around.

use crate::common::{any_frame, frame, hex};
use frame::Frame;
use net::multicast::{MulticastReader, MulticastWriter};
use net::{DatagramFault, DatagramReader, DatagramWriter, NotWritten};
use proptest::prelude::*;

/// `123#11223344` at 1.5 s.
const SENT: &str = "8ba974696d657374616d70cb3ff8000000000000ae6172626974726174696f6e5f6964cd0123\
    ae69735f657874656e6465645f6964c2af69735f72656d6f74655f6672616d65c2ae69735f6572726f725f6672616d65\
    c2a76368616e6e656cc0a3646c6304a464617461c40411223344a569735f6664c2ae626974726174655f737769746368\
    c2b56572726f725f73746174655f696e64696361746f72c2";

fn read(datagram: &[u8]) -> Result<Frame, DatagramFault> {
    let mut reader = MulticastReader::default();
    assert_eq!(reader.check(datagram)?, None);
    let mut at = 0;
    let frame = Frame::from_view(reader.next(datagram, &mut at).unwrap().frame).unwrap();
    assert!(reader.next(datagram, &mut at).is_none());
    Ok(frame)
}

fn written(frame: &Frame, unix: u64) -> Vec<u8> {
    let mut out = Vec::new();
    MulticastWriter.push(&frame.view(), unix, &mut out).unwrap();
    let again = MulticastWriter.push(&frame.view(), unix, &mut out);
    assert_eq!(again, Err(NotWritten::Full), "one frame a datagram");
    MulticastWriter.finish(&mut out);
    out
}

#[test]
fn bytes_are_those_of_python_can() {
    let bytes = hex(SENT);
    assert_eq!(read(&bytes), Ok(frame("123#11223344")));
    assert_eq!(written(&frame("123#11223344"), 1_500_000_000), bytes);
}

/// Returns a map of these pairs, each as hex.
fn map(pairs: &[&str]) -> Vec<u8> {
    let mut bytes = vec![0x80 | pairs.len() as u8];
    bytes.extend(pairs.iter().flat_map(|pair| hex(pair)));
    bytes
}

const ID: &str = "ae6172626974726174696f6e5f6964";
const DATA: &str = "a464617461";
const DLC: &str = "a3646c63";
const IS_FD: &str = "a569735f6664";
const IS_REMOTE: &str = "af69735f72656d6f74655f6672616d65";
const IS_EXTENDED: &str = "ae69735f657874656e6465645f6964";
const IS_RX: &str = "a569735f7278";

#[test]
fn keys_that_are_left_out_have_the_defaults_of_a_message() {
    assert_eq!(read(&map(&[])), Ok(frame("00000000#")));
    let id = format!("{ID}cd0123");
    let data = format!("{DATA}c40111");
    assert_eq!(read(&map(&[&id, &data])), Ok(frame("00000123#11")));
    let rx = format!("{IS_RX}c3");
    assert_eq!(read(&map(&[&rx, &id])), Ok(frame("00000123#")));
    // An FD frame of 10 bytes is padded, as on the wire.
    let fd = format!("{IS_FD}c3");
    let ten = format!("{DATA}c40a{}", "11".repeat(10));
    let padded = format!("00000123##0{}0000", "11".repeat(10));
    assert_eq!(read(&map(&[&id, &fd, &ten])), Ok(frame(&padded)));
}

#[test]
fn faults() {
    let id = format!("{ID}cd0123");
    let cases = [
        (vec![], "a value ends early"),
        (vec![0xC0], "it is not a map"),
        (map(&["a3616263c0"]), "a key that messages do not have"),
        (map(&[&id, &id]), "a key for the second time"),
        (map(&[&format!("{ID}c3")]), "a value of the wrong type"),
        (
            map(&[&format!("{ID}ff")]),
            "an identifier that is too large",
        ),
        (
            map(&[&format!("{ID}ce20000000")]),
            "an identifier that is too large",
        ),
        (
            map(&[&format!("{ID}cd0800"), &format!("{IS_EXTENDED}c2")]),
            "an identifier that is too large",
        ),
        (
            map(&[&format!("{DLC}02"), &format!("{DATA}c40111")]),
            "`dlc` is not the length of `data`",
        ),
        (
            map(&[&format!("{DATA}c409{}", "11".repeat(9))]),
            "a length that the frame cannot have",
        ),
        (
            map(&[&format!("{IS_REMOTE}c3"), &format!("{IS_FD}c3")]),
            "a remote frame with data, or of another kind as well",
        ),
        (
            map(&[&format!("{DATA}d90111")]),
            "a value of the wrong type",
        ),
        (
            map(&[&format!("{DATA}91c0")]),
            "a value of a type that messages do not have",
        ),
        (map(&[&format!("{DATA}c6ffffffff11")]), "a value ends early"),
        (hex("dfffffffff"), "a value ends early"),
        (hex("8000"), "bytes follow the map"),
    ];
    for (bytes, what) in cases {
        assert_eq!(
            read(&bytes).map_err(|fault| fault.what),
            Err(what),
            "{bytes:02x?}"
        );
    }
    assert!(read(&[0; 4097]).is_err());
}

proptest! {
    #[test]
    fn frames_go_around(sent in any_frame(), unix in any::<u32>()) {
        let bytes = written(&sent, u64::from(unix) * 1000);
        prop_assert_eq!(read(&bytes), Ok(sent));
        for cut in 0..bytes.len() {
            prop_assert!(read(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn error_frames_go_around(class in 0..=0x1FFF_FFFF_u32, data in any::<[u8; 8]>()) {
        let id = frame::CanId::from_raw(frame::CanId::ERR_FLAG | class);
        let sent = Frame::classic(id, &data).unwrap();
        prop_assert_eq!(read(&written(&sent, 0)), Ok(sent));
    }
}
