use super::*;
use crate::socketcan::Io;
use config::{Document, Source};

fn read(text: &str) -> (Option<PortSpec>, Vec<String>) {
    let source = Source::new("t", text);
    let mut found = Diagnostics::new();
    let document = Document::parse(&source, &mut found);
    let mut root = document.root();
    let ports = root.table("ports", "ports", &mut found).unwrap();
    let (name, value) = ports.all().remove(0);
    let table = value.table("port", &mut found).unwrap();
    let spec = PortSpec::parse(&name, table, &mut found);
    let messages = found.list().iter().map(|d| d.message.clone()).collect();
    (spec, messages)
}

fn good(text: &str) -> PortKind {
    let (spec, messages) = read(text);
    assert_eq!(messages, [""; 0]);
    spec.unwrap().kind
}

fn bad(text: &str) -> Vec<String> {
    read(text).1
}

#[test]
fn defaults() {
    assert_eq!(
        good("[ports.can0]\nkind = 'socketcan'"),
        PortKind::SocketCan(SocketCanSpec {
            interface: "can0".into(),
            fd: true,
            xl: false,
            queue: 128,
            receive_buffer: None,
            io: Io::Mmsg,
        })
    );
    assert_eq!(
        good("[ports.body]\nkind = 'bus'"),
        PortKind::Bus(BusSpec {
            bus: "body".into(),
            bitrate: 500_000,
            data_bitrate: None,
            queue: 10,
            mailboxes: 3,
        })
    );
    assert_eq!(
        good("[ports.l]\nkind = 'log'\nread = '-'"),
        PortKind::Log(LogSpec {
            read: Some(Place::Standard),
            write: None,
            interface: None,
            pace: Pace::Original,
        })
    );
}

#[test]
fn every_key() {
    assert_eq!(
        good(
            "[ports.p]\nkind = 'socketcan'\ninterface = 'can1'\nfd = false\nxl = true\nqueue = 5\n\
             receive_buffer = 65536\nio = 'read-write'"
        ),
        PortKind::SocketCan(SocketCanSpec {
            interface: "can1".into(),
            fd: false,
            xl: true,
            queue: 5,
            receive_buffer: Some(65_536),
            io: Io::ReadWrite,
        })
    );
    assert_eq!(
        good(
            "[ports.p]\nkind = 'bus'\nbus = 'b'\nbitrate = '125k'\ndata_bitrate = '2M'\nqueue = 1\n\
             mailboxes = 32"
        ),
        PortKind::Bus(BusSpec {
            bus: "b".into(),
            bitrate: 125_000,
            data_bitrate: Some(2_000_000),
            queue: 1,
            mailboxes: 32,
        })
    );
    assert_eq!(
        good("[ports.p]\nkind = 'log'\nread = 'a.log'\nwrite = '-'\ninterface = 'can0'\npace = 2"),
        PortKind::Log(LogSpec {
            read: Some(Place::File("a.log".into())),
            write: Some(Place::Standard),
            interface: Some("can0".into()),
            pace: Pace::Factor(2.0),
        })
    );
    assert_eq!(
        good("[ports.p]\nkind = 'log'\nread = 'a'\npace = 'fast'"),
        PortKind::Log(LogSpec {
            read: Some(Place::File("a".into())),
            write: None,
            interface: None,
            pace: Pace::Fast,
        })
    );
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("[ports.p]\nqueue = 1", "port `p` needs `kind`"),
        ("[ports.p]\nkind = 'busses'", "`kind` cannot be `busses`"),
        (
            "[ports.p]\nkind = 'log'",
            "port `p` needs `read` or `write`",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\nwrite = 'x'",
            "this is the log that is read",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\npace = 0",
            "a pace is from 0.000001 to 1000000",
        ),
        (
            "[ports.p]\nkind = 'log'\nread = 'x'\npace = nan",
            "`pace` must be a number",
        ),
        (
            "[ports.p]\nkind = 'log'\nwrite = 'x'\npace = 'fast'",
            "`pace` says how fast a log is read, and nothing is read here",
        ),
        (
            "[ports.p]\nkind = 'socketcan'\ninterface = '1234567890123456'",
            "this is no name of an interface",
        ),
        (
            "[ports.p]\nkind = 'socketcan'\ninterface = 'a b'",
            "this is no name of an interface",
        ),
        (
            "[ports.a234567890123456]\nkind = 'socketcan'",
            "port `a234567890123456` needs `interface`",
        ),
        (
            "[ports.p]\nkind = 'bus'\nbitrate = 4999",
            "`bitrate` must be from 5 kbit/s to 1 Mbit/s",
        ),
        (
            "[ports.p]\nkind = 'bus'\nbitrate = '1.1M'",
            "`bitrate` must be from 5 kbit/s to 1 Mbit/s",
        ),
        (
            "[ports.p]\nkind = 'bus'\ndata_bitrate = '250k'",
            "the data phase cannot be slower than the arbitration phase",
        ),
        (
            "[ports.p]\nkind = 'bus'\nmailboxes = 0",
            "`mailboxes` must be from 1 to 32",
        ),
        (
            "[ports.p]\nkind = 'bus'\nqueue = 65537",
            "`queue` must be from 1 to 65536",
        ),
        (
            "[ports.p]\nkind = 'bus'\nfd = true",
            "port `p` has no key `fd`",
        ),
        (
            "[ports.'a b']\nkind = 'bus'",
            "a port's name cannot hold ' '",
        ),
        ("[ports.'']\nkind = 'bus'", "a port's name cannot be empty"),
    ];
    for (text, message) in cases {
        assert_eq!(bad(text), [message], "{text}");
    }
}
