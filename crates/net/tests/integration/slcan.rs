//! slcan: lines of python-can and of Lawicel's manual, and what goes around.

use crate::common::{any_frame, frame};
use frame::{Frame, flags};
use net::slcan::{SlcanClient, SlcanServer};
use net::{StreamEnd, StreamSession, StreamStep};
use proptest::prelude::*;

/// Takes all units; returns the frames, the answers, and the number of malformed units.
fn take_all(session: &mut impl StreamSession, mut input: &[u8]) -> (Vec<Frame>, Vec<u8>, usize) {
    let (mut frames, mut answer, mut malformed) = (Vec::new(), Vec::new(), 0);
    loop {
        let used = match session.take(input, &mut answer) {
            StreamStep::More => return (frames, answer, malformed),
            StreamStep::Used(used) => used,
            StreamStep::Malformed(used) | StreamStep::Rejected(used) => {
                malformed += 1;
                used
            }
            StreamStep::Frame(used, frame) => {
                frames.push(frame);
                used
            }
            step => panic!("{step:?}"),
        };
        input = &input[used..];
    }
}

fn open_server() -> SlcanServer {
    let mut server = SlcanServer::default();
    // What python-can 4.6.1 sends at the start.
    let (frames, answer, malformed) = take_all(&mut server, b"C\rS6\rO\r");
    assert_eq!(
        (frames, &answer[..], malformed),
        (vec![], &b"\r\r\r"[..], 0)
    );
    server
}

#[test]
fn lines_are_those_of_python_can() {
    let cases = [
        ("123#1122", "t12321122\r"),
        ("1ABCDEF0#0102030405060708", "T1ABCDEF080102030405060708\r"),
        ("123#R5", "r1235\r"),
        ("00000123#R", "R000001230\r"),
        (
            "123##0112233445566778899AABBCC",
            "d1239112233445566778899AABBCC\r",
        ),
        (
            "123##1112233445566778899AABBCC",
            "b1239112233445566778899AABBCC\r",
        ),
    ];
    for (text, line) in cases {
        let expected = frame(text);
        let mut server = open_server();
        let (frames, answer, malformed) = take_all(&mut server, line.as_bytes());
        assert_eq!((frames, malformed), (vec![expected], 0), "{line}");
        let taken = if text.len() > 8 && text.as_bytes()[8] == b'#' {
            "Z\r"
        } else {
            "z\r"
        };
        assert_eq!(answer, taken.as_bytes(), "{line}");
        let mut out = Vec::new();
        server.put(&expected.view(), 0, &mut out);
        assert_eq!(out, line.as_bytes());
        let mut client = SlcanClient::default();
        assert_eq!(take_all(&mut client, &out).0, [expected]);
    }
}

#[test]
fn commands_are_answered() {
    let mut server = open_server();
    let cases: [(&[u8], &[u8], usize); 9] = [
        (b"V\r", b"V1013\r", 0),
        (b"N\r", b"N0001\r", 0),
        (b"F\r", b"F00\r", 0),
        (b"\r\r", b"\r\r", 0),
        (b"Y2\rs031C\r", b"\r\r", 0),
        (b"M00000000\r", b"\x07", 1),
        (b"t1239\r", b"\x07", 1),
        (
            b"t12311\rt1232112\rt800112\rT200000000\rtxyz0\rd123\rS\r",
            &[7; 7],
            7,
        ),
        (b"C\rt1230\rL\rt1230\r", b"\r\x07\r\x07", 2),
    ];
    for (input, answer, malformed) in cases {
        assert_eq!(
            take_all(&mut server, input),
            (vec![], answer.to_vec(), malformed),
            "{}",
            String::from_utf8_lossy(input)
        );
    }
    assert!(server.is_open(), "for listening");
}

/// Milliseconds of a minute, in four hex digits (Lawicel's manual).
#[test]
fn stamps_are_written_where_a_program_asks_for_them() {
    let mut server = open_server();
    take_all(&mut server, b"Z1\r");
    let mut out = Vec::new();
    server.put(
        &frame("123#11").view(),
        60_000_000_000 + 59_999_000_000,
        &mut out,
    );
    assert_eq!(out, b"t123111EA5F\r");
    let mut client = SlcanClient::default();
    assert_eq!(take_all(&mut client, b"t123111EA5F\r").0, [frame("123#11")]);
    // A stamp has four digits; a program sends none.
    assert_eq!(take_all(&mut client, b"t123111EA5\r").2, 1);
    assert_eq!(take_all(&mut server, b"t123111EA5F\r").2, 1);
}

#[test]
fn a_client_opens_the_adapter() {
    let mut out = Vec::new();
    SlcanClient::new(Some(500_000)).begin(&mut out);
    assert_eq!(out, b"C\rS6\rO\r");
    out.clear();
    SlcanClient::new(None).begin(&mut out);
    assert_eq!(out, b"C\rO\r");
    let mut client = SlcanClient::default();
    assert_eq!(
        take_all(&mut client, b"\r\rz\r\x07V1013\rt1230\r"),
        (vec![frame("123#")], vec![], 1)
    );
}

#[test]
fn a_line_without_an_end_ends_the_conversation() {
    let step = open_server().take(&[b't'; 300], &mut Vec::new());
    assert!(matches!(step, StreamStep::End(StreamEnd::Foreign(_))));
    // A long line is as bad with an end, so that it does not matter how it was divided.
    let mut long = vec![b't'; 300];
    long.push(b'\r');
    let step = open_server().take(&long, &mut Vec::new());
    assert!(matches!(step, StreamStep::End(StreamEnd::Foreign(_))));
    let step = SlcanClient::default().take(&[b't'; 300], &mut Vec::new());
    assert!(matches!(step, StreamStep::End(StreamEnd::Foreign(_))));
}

proptest! {
    #[test]
    fn frames_go_around(sent in any_frame(), stamps in any::<bool>()) {
        let mut server = open_server();
        take_all(&mut server, if stamps { b"Z1\r" } else { b"Z0\r" });
        let mut out = Vec::new();
        server.put(&sent.view(), 1_234_567_890, &mut out);
        // There is no ESI.
        let without_esi = if sent.kind() == frame::Kind::Fd {
            Frame::fd(sent.id(), sent.header().flags() & flags::BRS, sent.data()).unwrap()
        } else {
            sent
        };
        prop_assert_eq!(take_all(&mut SlcanClient::default(), &out), (vec![without_esi], vec![], 0));
        for cut in 0..out.len() {
            let step = SlcanClient::default().take(&out[..cut], &mut Vec::new());
            prop_assert_eq!(step, StreamStep::More);
        }
        out.clear();
        SlcanClient::default().put(&sent.view(), 0, &mut out);
        let (frames, _, malformed) = take_all(&mut server, &out);
        prop_assert_eq!((frames, malformed), (vec![without_esi], 0));
    }
}
