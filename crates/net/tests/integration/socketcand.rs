//! socketcand: elements that socketcand 0.6.1 and python-can 4.6.1 sent, and what goes around.

use crate::common::{classic, fd, frame, remote};
use net::socketcand::{SocketcandClient, SocketcandServer, carries, is_bus_name};
use net::{StreamEnd, StreamSession, StreamStep};
use proptest::prelude::*;

/// Takes the first unit; returns the step and the answer.
fn take(session: &mut impl StreamSession, input: &str) -> (StreamStep, String) {
    let mut answer = Vec::new();
    let step = session.take(input.as_bytes(), &mut answer);
    (step, String::from_utf8(answer).unwrap())
}

fn raw_server() -> SocketcandServer {
    let mut server = SocketcandServer::default();
    let mut out = Vec::new();
    server.begin(&mut out);
    assert_eq!(out, b"< hi >");
    let (step, _) = take(&mut server, "< open vcan0 >");
    assert_eq!(step, StreamStep::Open(14, "vcan0".to_owned()));
    assert!(!server.is_open());
    out.clear();
    server.answer_open(true, &mut out);
    assert_eq!(out, b"< ok >");
    let (step, answer) = take(&mut server, "< rawmode >");
    assert_eq!((step, &*answer), (StreamStep::Used(11), "< ok >"));
    assert!(server.is_open());
    server
}

fn open_client() -> SocketcandClient {
    let mut client = SocketcandClient::new("vcan0");
    let (_, answer) = take(&mut client, "< hi >");
    assert_eq!(answer, "< open vcan0 >");
    let (_, answer) = take(&mut client, "< ok >");
    assert_eq!(answer, "< rawmode >");
    assert!(!client.is_open());
    take(&mut client, "< ok >");
    assert!(client.is_open());
    client
}

/// The elements that the daemon sent for frames on its interface.
#[test]
fn elements_are_those_of_socketcand() {
    let cases = [
        ("123#AABB", 371_622, "< frame 123 1795624011.371622 AABB >"),
        (
            "1ABCDEF0#0102030405060708",
            666_409,
            "< frame 1ABCDEF0 1795624011.666409 0102030405060708 >",
        ),
        ("7FF#", 99_454, "< frame 7FF 1795624011.099454  >"),
        (
            "20000040#0000000000000000",
            5,
            "< error 040 1795624011.000005 >",
        ),
    ];
    let (mut server, mut client) = (raw_server(), open_client());
    for (text, us, element) in cases {
        let frame = frame(text);
        let mut out = Vec::new();
        server.put(
            &frame.view(),
            1_795_624_011_000_000_000 + us * 1000,
            &mut out,
        );
        assert_eq!(String::from_utf8(out).unwrap(), element);
        let (step, _) = take(&mut client, element);
        assert_eq!(step, StreamStep::Frame(element.len(), frame));
    }
}

/// The elements that python-can sent; those for remote and FD frames are not valid.
#[test]
fn a_client_sends_as_python_can_does() {
    let cases = [
        ("123#11223344", "< send 123 4 11 22 33 44 >"),
        (
            "1ABCDEF0#0102030405060708",
            "< send 1ABCDEF0 8 1 2 3 4 5 6 7 8 >",
        ),
        ("7FF#", "< send 7FF 0  >"),
    ];
    for (text, element) in cases {
        let frame = frame(text);
        let mut out = Vec::new();
        open_client().put(&frame.view(), 0, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), element);
        let (step, answer) = take(&mut raw_server(), element);
        assert_eq!(step, StreamStep::Frame(element.len(), frame));
        assert_eq!(answer, "");
    }
    // Eight digits are an extended identifier, whatever its value.
    let (step, _) = take(&mut raw_server(), "< send 00000123 1 ff >");
    assert_eq!(step, StreamStep::Frame(22, frame("00000123#FF")));
    for wrong in [
        "< send 123 5  >",
        "< send 123 C 0 1 2 3 4 5 6 7 8 9 a b >",
        "< send 123 9 1 2 3 4 5 6 7 8 9 >",
        "< send 123 2 1 >",
        "< send 123 1 1 2 >",
        "< send 123 1 123 >",
        "< send 123 1 g >",
        "< send 800 0 >",
        "< send 1234 0 >",
        "< send 20000000 0 >",
        "< send 123 >",
        "< send >",
    ] {
        let (step, answer) = take(&mut raw_server(), wrong);
        assert_eq!(step, StreamStep::Malformed(wrong.len()), "{wrong}");
        assert_eq!(answer, "", "a client such as python-can ends at an answer");
    }
}

#[test]
fn a_server_answers_as_the_daemon_does() {
    let mut server = SocketcandServer::default();
    let (step, answer) = take(&mut server, "< send 123 0 >");
    assert_eq!(step, StreamStep::Malformed(14));
    assert_eq!(answer, "< error unknown command >");
    let (step, answer) = take(&mut server, "< echo >< echo >");
    assert_eq!((step, &*answer), (StreamStep::Used(8), "< echo >"));
    assert_eq!(take(&mut server, "< list >").0, StreamStep::List(8));
    let mut out = Vec::new();
    server.answer_list(&["can0".to_owned(), "body".to_owned()], &mut out);
    assert_eq!(out, b"< interfaces can0 body >");
    out.clear();
    assert_eq!(
        take(&mut server, "< open x >").0,
        StreamStep::Open(10, "x".to_owned())
    );
    server.answer_open(false, &mut out);
    assert_eq!(out, b"< error could not open bus >");
    // Behind `open`, there is no list any more.
    let (step, answer) = take(&mut raw_server(), "< list >");
    assert_eq!(step, StreamStep::Malformed(8));
    assert_eq!(answer, "< error unknown command >");
    // A name that cannot be one is no bus.
    let long = format!("< open {} >", "x".repeat(40));
    assert_eq!(
        take(&mut server, &long).0,
        StreamStep::Open(long.len(), String::new())
    );
    assert!(is_bus_name("can0") && !is_bus_name("") && !is_bus_name("a b") && !is_bus_name("a>"));
}

#[test]
fn parts_and_garbage() {
    let mut server = raw_server();
    assert_eq!(take(&mut server, "< send 123").0, StreamStep::More);
    assert_eq!(take(&mut server, " \n<").0, StreamStep::Used(2));
    assert_eq!(
        take(&mut server, "garbage< echo >").0,
        StreamStep::Malformed(7)
    );
    assert_eq!(
        take(&mut server, "< send 12< echo >").0,
        StreamStep::Malformed(9)
    );
    let long = format!("< {}", "x".repeat(250));
    assert!(matches!(
        take(&mut server, &long).0,
        StreamStep::End(StreamEnd::Foreign(_))
    ));
}

#[test]
fn a_client_ends_at_a_server_that_refuses() {
    let mut client = SocketcandClient::new("nowhere");
    take(&mut client, "< hi >");
    let (step, _) = take(&mut client, "< error could not open bus >");
    assert!(matches!(step, StreamStep::End(StreamEnd::Refused(_))));
    let (step, _) = take(&mut SocketcandClient::new("x"), "SSH-2.0 < x >");
    assert_eq!(step, StreamStep::Malformed(8));
    let (step, _) = take(&mut SocketcandClient::new("x"), "< x >");
    assert!(matches!(step, StreamStep::End(StreamEnd::Foreign(_))));
    let (step, _) = take(&mut open_client(), "< error unknown command >");
    assert_eq!(step, StreamStep::Rejected(25));
    for wrong in [
        "< frame 123 1 11 >",
        "< frame 123 1.5 1 >",
        "< frame 123 1.5 112233445566778899 >",
    ] {
        assert_eq!(
            take(&mut open_client(), wrong).0,
            StreamStep::Malformed(wrong.len())
        );
    }
}

proptest! {
    #[test]
    fn frames_go_around(sent in classic(), us in 0..4_000_000_000_000_000_u64) {
        let mut out = Vec::new();
        raw_server().put(&sent.view(), us * 1000, &mut out);
        let step = open_client().take(&out, &mut Vec::new());
        prop_assert_eq!(step, StreamStep::Frame(out.len(), sent));
        out.clear();
        open_client().put(&sent.view(), 0, &mut out);
        let step = raw_server().take(&out, &mut Vec::new());
        prop_assert_eq!(step, StreamStep::Frame(out.len(), sent));
    }

    #[test]
    fn other_frames_are_not_carried(frame in prop_oneof![fd(), remote()]) {
        prop_assert!(!carries(&frame.view()));
        let mut out = Vec::new();
        raw_server().put(&frame.view(), 0, &mut out);
        open_client().put(&frame.view(), 0, &mut out);
        prop_assert!(out.is_empty());
    }
}
