//! Words that users of other tools write in a gateway file, and the hints for them: the place of
//! the word, and the key that is meant.

use config::{Diagnostic, SourceText};
use port::PortKinds;

/// Two valid ports and a valid route, so that no other mistake is reported.
const PORTS: &str = "[ports.a]\nkind = 'socketcan'\n[ports.b]\nkind = 'bus'\n";
const ROUTE: &str = "[[routes]]\nfrom = 'a'\nto = 'b'\n";

/// Returns the reported mistakes: the text at the place, and the hint.
fn reported(text: &str) -> Vec<(String, String)> {
    let source = SourceText::new("t", text);
    let found = match gateway::config::load(&source, &PortKinds::standard()) {
        Ok((_, warnings)) => panic!("{text} is taken, with {warnings:?}"),
        Err(found) => found,
    };
    let report = |d: Diagnostic| (text[d.span].to_owned(), d.hint);
    found.into_iter().map(report).collect()
}

/// Checks that the file has one mistake: this word, with this text in its hint.
fn one(text: &str, word: &str, hint: &str) {
    let all = reported(text);
    let [(at, notices)] = all.as_slice() else {
        panic!("{text}\n{all:?}");
    };
    assert_eq!(at, word, "{text}");
    assert!(notices.contains(hint), "{text}\n{notices}");
}

#[test]
fn tables_under_another_name() {
    let ports = "[port.engine]\nkind = 'bus'\n[port.body]\nkind = 'bus'\n\
                 [[routes]]\nfrom = 'engine'\nto = 'body'\n";
    one(ports, "port", "did you mean [ports.engine], [ports.body]?");
    for word in [
        "interface",
        "interfaces",
        "buses",
        "channels",
        "device",
        "can",
    ] {
        let text = ports.replace("port.", &format!("{word}."));
        one(&text, word, "[ports.engine]");
    }
    // One of them is correct.
    let text = "[ports.a]\nkind = 'bus'\n[port.b]\nkind = 'bus'\n".to_owned() + ROUTE;
    one(&text, "port", "did you mean [ports.b]?");
    let text = "[a]\nkind = 'bus'\n[ports.b]\nkind = 'bus'\n".to_owned() + ROUTE;
    one(&text, "a", "did you mean [ports.a]?");
    for word in ["route", "rule", "rules", "routing", "forward"] {
        let text = PORTS.to_owned() + &ROUTE.replace("routes", word);
        one(&text, word, "did you mean [[routes]]?");
    }
    for word in ["gateways", "options", "general", "global", "settings"] {
        let text = format!("[{word}]\nmatch = 'first'\n{PORTS}{ROUTE}");
        one(&text, word, "did you mean [gateway]?");
    }
}

#[test]
fn what_else_is_wrong_under_another_name_is_found() {
    let text = "[port.a]\nkind = 'bus'\nbitrat = 5\n[ports.b]\nkind = 'bus'\n[[route]]\nfrom = 'a'\n\
                tp = 'b'\n";
    let words: Vec<_> = reported(text).into_iter().map(|(at, _)| at).collect();
    assert!(words.contains(&"port".to_owned()), "{words:?}");
    assert!(words.contains(&"bitrat".to_owned()), "{words:?}");
    assert!(words.contains(&"route".to_owned()), "{words:?}");
    assert!(words.contains(&"tp".to_owned()), "{words:?}");
}

#[test]
fn keys_at_the_top_of_the_file() {
    for (line, word, hint) in [
        ("offload = 'auto'\n", "offload", "it is a key of [gateway]"),
        ("max_hops = 2\n", "max_hops", "it is a key of [gateway]"),
        ("limit = 5\n", "limit", "under [[routes]]"),
        ("filter = '123'\n", "filter", "under [[routes]]"),
    ] {
        one(&format!("{line}{PORTS}{ROUTE}"), word, hint);
    }
}

#[test]
fn keys_of_the_gateway() {
    for (word, hint) in [
        ("mode", "`match`"),
        ("hops", "`max_hops`"),
        ("socket", "`control`"),
        ("priority", "`realtime`"),
        ("mlock", "`lock_memory`"),
        ("bpf", "`offload`"),
    ] {
        one(
            &format!("[gateway]\n{word} = 'x'\n{PORTS}{ROUTE}"),
            word,
            hint,
        );
    }
}

#[test]
fn keys_of_ports() {
    let port = |kind: &str, word: &str, hint: &str| {
        let text = format!("[ports.a]\nkind = '{kind}'\n{word} = 'x'\n[ports.b]\nkind = 'bus'\n");
        one(&(text + ROUTE), word, hint);
    };
    for (word, hint) in [
        ("channel", "did you mean `interface`?"),
        ("device", "did you mean `interface`?"),
        ("iface", "did you mean `interface`?"),
        ("baudrate", "did you mean `bitrate`?"),
        ("dbitrate", "did you mean `data_bitrate`?"),
        ("can_filters", "under [[routes]]"),
        ("tx_queue_len", "did you mean `txqueuelen`?"),
        ("rcvbuf", "did you mean `receive_buffer`?"),
        ("canfd", "did you mean `fd`?"),
        ("canxl", "did you mean `xl`?"),
    ] {
        port("socketcan", word, hint);
    }
    for (word, hint) in [
        ("channel", "did you mean `bus`?"),
        ("baudrate", "did you mean `bitrate`?"),
        ("dbitrate", "did you mean `data_bitrate`?"),
        ("txqueuelen", "did you mean `queue`?"),
        ("tx_buffers", "did you mean `mailboxes`?"),
    ] {
        port("bus", word, hint);
    }
    for (word, hint) in [
        (
            "file",
            "did you mean `read`? To write a log: `write = \"FILE\"`",
        ),
        ("output", "did you mean `write`?"),
    ] {
        port("log", word, hint);
    }
}

#[test]
fn kinds_of_ports() {
    let with = |lines: &str| format!("[ports.a]\n{lines}\n[ports.b]\nkind = 'bus'\n{ROUTE}");
    for word in ["type", "bustype", "driver", "backend"] {
        one(
            &with(&format!("{word} = 'can'")),
            word,
            "did you mean `kind`?",
        );
    }
    for (word, kind) in [
        ("vcan", "socketcan"),
        ("SocketCAN", "socketcan"),
        ("udp_multicast", "multicast"),
        ("virtual", "bus"),
        ("candump", "log"),
    ] {
        let hint = format!("did you mean `{kind}`?");
        one(
            &with(&format!("kind = '{word}'")),
            &format!("'{word}'"),
            &hint,
        );
    }
    // As in python-can.
    let text = with("interface = 'socketcan'\nchannel = 'can0'");
    one(&text, "'socketcan'", "write `kind = \"socketcan\"`");
}

#[test]
fn keys_of_routes() {
    for (word, hint) in [
        (
            "rate",
            "did you mean `limit`? For example `limit = \"100/s\"`",
        ),
        ("rate-limit", "did you mean `limit`?"),
        ("Rate", "did you mean `limit`?"),
        ("can_id", "did you mean `id`?"),
        ("arbitration_id", "did you mean `id`?"),
        ("mask", "`id = \"123:7FF\"`"),
        ("is_extended_id", "Eight digits"),
        ("can_filters", "did you mean `filter`?"),
        ("dlc", "did you mean `length`?"),
        ("data", "did you mean `payload`?"),
        ("remote", "did you mean `rtr`?"),
        ("is_error_frame", "did you mean `error`?"),
        ("type", "did you mean `kind`?"),
        ("is_fd", "`kind = \"fd\"`"),
        ("deny", "`drop = true`"),
        ("ttl", "did you mean `hop_limit`?"),
        ("loopback", "did you mean `echo`?"),
        ("timestamp", "did you mean `keep_stamp`?"),
        ("iif_tx_ok", "did you mean `allow_same_port`?"),
        ("modify", "did you mean `do`?"),
        ("set", "write `do = [{ set = … }]`"),
        ("crc8", "write `do = [{ crc8 = … }]`"),
        ("map_id", "write `do = [{ map_id = … }]`"),
        ("label", "did you mean `name`?"),
    ] {
        one(&format!("{PORTS}{ROUTE}{word} = 'x'\n"), word, hint);
    }
    // The correct key is there, too.
    let text = format!("{PORTS}{ROUTE}limit = '5/s'\nrate = 5\n");
    one(&text, "rate", "`limit` is already set");
}

#[test]
fn ports_of_a_route_under_another_name_are_not_reported_as_missing() {
    for word in ["source", "src", "input", "iif", "ingress"] {
        let text = PORTS.to_owned() + &ROUTE.replace("from", word);
        one(&text, word, "did you mean `from`?");
    }
    for word in ["destination", "dst", "output", "oif", "egress"] {
        let text = PORTS.to_owned() + &ROUTE.replace("to =", &format!("{word} ="));
        one(&text, word, "did you mean `to`?");
    }
}

#[test]
fn a_limit_that_is_a_number() {
    let text = format!("{PORTS}{ROUTE}limit = 5\n");
    one(&text, "5", "write `limit = \"5/s\"`");
    for word in ["frames", "hz", "count"] {
        let text = format!("{PORTS}{ROUTE}limit = {{ {word} = 5 }}\n");
        one(&text, word, "did you mean `rate`?");
    }
    let text = format!("{PORTS}{ROUTE}limit = {{ rate = '5/s', bucket = 5 }}\n");
    one(&text, "bucket", "did you mean `burst`?");
}
