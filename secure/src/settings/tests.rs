//! Mistakes in files of settings, and the document.

use super::*;
use crate::datagram::record::LONGEST;

fn mistakes(text: &str) -> String {
    let source = SourceText::new("secure.toml", text);
    let mut found = Diagnostics::new();
    assert_eq!(load(&source, &mut found), None, "{text}");
    config::render(&source, found.list(), false)
}

const PEER: &str = "identity = \"v1\"\nkey = \"v1.psk\"\nplain = \"127.0.0.1:2\"\n\
                    gateway = \"127.0.0.1:3\"\n";
const FILES: &str = "authority = \"ca.pem\"\ncertificate = \"a.pem\"\nkey = \"a.key\"\n";

#[test]
fn files_are_read() {
    let text = format!(
        "[[udp]]\nname = \"a\"\nlisten = \"0.0.0.0:1\"\nallow = \"192.0.2.0/24\"\n\
         [[udp.peers]]\n{PEER}[[udp]]\nname = \"b\"\nconnect = \"host.example:1\"\n\
         identity = \"v2\"\nkey = \"v2.psk\"\nplain = \"[::1]:2\"\ngateway = \"[::1]:3\"\n\
         [[tcp]]\nname = \"c\"\nlisten = \"[::]:1\"\ngateway = \"127.0.0.1:5\"\n{FILES}\
         [[tcp]]\nname = \"d\"\nplain = \"127.0.0.1:6\"\nconnect = \"[2001:db8::1]:1\"\n\
         authority = \"ca.pem\"\nclient_certificates = \"none\"\n"
    );
    let source = SourceText::new("secure.toml", text);
    let mut found = Diagnostics::new();
    let settings = load(&source, &mut found);
    let settings = settings.unwrap_or_else(|| panic!("{:?}", found.list()));
    assert_eq!((settings.udp.len(), settings.tcp.len()), (2, 2));
    assert_eq!(settings.udp[0].peers[0].identity, "v1");
    assert_eq!(settings.udp[1].limits().longest, LONGEST);
    let limits = settings.udp[0].limits();
    assert!(limits.allows("192.0.2.7".parse().unwrap()));
    assert!(limits.allows("::ffff:192.0.2.7".parse().unwrap()));
    assert!(!limits.allows("192.0.3.7".parse().unwrap()));
}

#[test]
fn mistakes_name_their_place_and_their_cure() {
    let udp = "[[udp]]\nname = \"a\"\n";
    let connect = format!("{udp}connect = \"h:1\"\n");
    let tcp = "[[tcp]]\nname = \"a\"\n";
    for (text, place, message, cure) in [
        (String::new(), "", "`udp`", "[[tcp]] for connections"),
        (
            format!("{connect}{PEER}lisen = 1"),
            ":8:1",
            "`lisen`",
            "`listen`",
        ),
        (
            format!("{connect}{PEER}psk = \"x\""),
            ":8:1",
            "`psk`",
            "`key`",
        ),
        (
            format!("{udp}{PEER}"),
            ":2:8",
            "either `listen` or `connect`",
            "the other one connects",
        ),
        (
            format!("{udp}listen = \"0.0.0.0:1\"\n"),
            ":1:",
            "`peers`",
            "[[udp.peers]]",
        ),
        (
            format!("{udp}listen = \"0.0.0.0:1\"\n{PEER}"),
            ":4:1",
            "`identity`",
            "",
        ),
        (
            format!("{connect}{PEER}timeout = \"0s\""),
            ":8:11",
            "not between 1 s",
            "\"5s\"",
        ),
        (
            format!("{connect}{PEER}longest = 20000"),
            ":8:11",
            "16384",
            "",
        ),
        (
            format!("{connect}{PEER}allow = \"192.0.2.7/24\""),
            ":8:9",
            "bits after its prefix",
            "\"192.0.2.0/24\"",
        ),
        (
            format!("{connect}{PEER}allow = [\"host\"]"),
            ":8:10",
            "not a range",
            "192.0.2.7",
        ),
        (
            connect.clone() + &PEER.replace("127.0.0.1:2", "0.0.0.0:2"),
            ":6:9",
            "0.0.0.0:2 is not on the loopback interface",
            "exposed = true",
        ),
        (
            format!(
                "{udp}listen = \"0.0.0.0:1\"\n[[udp.peers]]\n{PEER}[[udp.peers]]\n{}",
                PEER.replace(":2", ":4")
            ),
            ":10:12",
            "another peer has the identity `v1`",
            "with its own key",
        ),
        (
            format!("{connect}{PEER}{connect}{PEER}"),
            ":9:8",
            "another link",
            "another name",
        ),
        (
            format!("{tcp}listen = \"0.0.0.0:1\"\n{FILES}"),
            ":1:",
            "`gateway`",
            "the `listen` of",
        ),
        (
            format!("{tcp}{FILES}"),
            ":2:8",
            "either `listen` and `gateway`",
            "",
        ),
        (
            format!("{tcp}plain = \"127.0.0.1:1\"\nconnect = \"h:1\"\nauthority = \"x\"\n"),
            ":1:",
            "`certificate`",
            "docs/secure.md",
        ),
        (
            format!("{tcp}connect = \"h\"\n"),
            ":3:11",
            "`h` is not a host",
            "HOST:PORT",
        ),
    ] {
        let found = mistakes(&text);
        for part in [place, message, cure] {
            assert!(found.contains(part), "{part:?} is not in:\n{found}");
        }
    }
}

#[test]
fn an_exposed_gateway_is_a_choice() {
    let plain = PEER.replace("127.0.0.1", "192.0.2.1");
    let text = format!("[[udp]]\nname = \"a\"\nconnect = \"h:1\"\nexposed = true\n{plain}");
    let source = SourceText::new("secure.toml", text);
    assert!(load(&source, &mut Diagnostics::new()).is_some());
}

/// docs/secure.md has each key with its default and its meaning.
#[test]
fn the_document_has_the_keys() {
    let document = include_str!("../../../docs/secure.md");
    let keys = UdpKeys::key_specs()
        .into_iter()
        .chain(PeerKeys::key_specs())
        .chain(TcpKeys::key_specs());
    let missing: Vec<String> = keys
        .map(|key| key.row())
        .filter(|row| !document.contains(row))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/secure.md has not these rows:\n{}",
        missing.join("\n")
    );
}
