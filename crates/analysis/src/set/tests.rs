use super::*;
use crate::Arrival;
use alloc::borrow::ToOwned;
use alloc::string::ToString;
use frame::{Kind, flags};

const SET: &str = r#"
[buses.body]
bitrate = "500k"
data_bitrate = "2M"
errors = "10ms"

[nodes.gateway]
mailboxes = 3

[[messages]]
id = "100"
name = "speed"
node = "gateway"
period = "10ms"
jitter = "2ms"
distance = "1ms"
deadline = "5ms"
data = "0011223344556677"
mask = "FFFFFFFF00000000"

[[messages]]
id = "18FEF100"
node = "engine"
period = "20ms"
len = 8

[[messages]]
id = "200"
kind = "fd"
brs = false
period = "20ms"
len = 64
"#;

fn mistakes(text: &str) -> Vec<String> {
    let found = load(&SourceText::new("set.toml", text)).unwrap_err();
    let each = found.iter().map(|d| {
        let at = text.get(d.span.clone()).unwrap_or_default();
        let at = at.lines().next().unwrap_or_default();
        format!("{} | {at} | {}", d.message, d.hint)
    });
    each.collect()
}

#[test]
fn a_list_of_distances_is_a_curve() {
    let message = |keys: &str| {
        format!("[buses.a]\nbitrate = \"500k\"\n[[messages]]\nid = \"100\"\nlen = 8\n{keys}\n")
    };
    let keys = "distances = [\"5ms\", \"38ms\", \"80ms\"]\ndeadline = \"5ms\"";
    let set = load(&SourceText::new("set.toml", message(keys))).unwrap();
    let arrival = set.buses[0].messages[0].arrival;
    let list = [5_000_000, 38_000_000, 80_000_000];
    assert_eq!(arrival, Arrival::curve(&list).unwrap());
    assert_eq!(arrival.earliest(4), 85_000_000);
    for (keys, words) in [
        ("distances = []\ndeadline = \"1ms\"", "an empty list"),
        (
            "distances = [\"5ms\", \"4ms\"]\ndeadline = \"1ms\"",
            "3 releases span at least 10000000 ns",
        ),
        (
            "distances = [\"0ms\", \"0ms\"]\ndeadline = \"1ms\"",
            "all distances are 0",
        ),
        ("distances = \"5ms\"\ndeadline = \"1ms\"", "a list such as"),
        ("distances = [\"5ms\", 7]\ndeadline = \"1ms\"", "time"),
        ("distances = [\"5ms\"]", "needs `deadline`"),
        (
            "distances = [\"5ms\"]\ndeadline = \"1ms\"\noffset = \"1ms\"",
            "an offset with `distances`",
        ),
        (
            "distances = [\"5ms\"]\ndeadline = \"1ms\"\nperiod = \"5ms\"",
            "`distances` and `period` both",
        ),
        (
            "distances = [\"5ms\"]\ndeadline = \"1ms\"\njitter = \"5ms\"",
            "`distances` and `jitter` both",
        ),
    ] {
        let found = mistakes(&message(keys));
        assert!(
            found.len() == 1 && found[0].contains(words),
            "{words}: {found:?}"
        );
    }
    let many = format!(
        "distances = [{}]\ndeadline = \"1ms\"",
        "\"1ms\", ".repeat(9)
    );
    let found = mistakes(&message(&many));
    assert!(
        found.iter().any(|m| m.contains("9 distances: at most")),
        "{found:?}"
    );
    let found = mistakes(&message("curve = [\"5ms\"]\nperiod = \"5ms\""));
    assert!(found.iter().any(|m| m.contains("distances")), "{found:?}");
}

#[test]
fn a_set_is_read() {
    let set = load(&SourceText::new("set.toml", SET)).unwrap();
    let [bus] = &set.buses[..] else {
        panic!("{set:?}")
    };
    assert_eq!(bus.rate.to_string(), "500k/2M");
    assert_eq!((bus.errors, bus.joins), (Some(10_000_000), 2_000));
    let nodes: Vec<(&str, SendOrder)> = bus
        .nodes
        .iter()
        .map(|n| (n.name.as_str(), n.order))
        .collect();
    let three = SendOrder::Mailboxes(core::num::NonZeroU8::new(3).unwrap());
    let others = [
        ("engine", SendOrder::Priority),
        ("of 200", SendOrder::Priority),
    ];
    assert_eq!(nodes, [&[("gateway", three)], &others[..]].concat());
    let [speed, temperature, fd] = &bus.messages[..] else {
        panic!("{bus:?}")
    };
    assert_eq!(
        (speed.name.as_str(), speed.node, speed.deadline),
        ("speed", 0, 5_000_000)
    );
    let arrival = speed.arrival;
    let times = (arrival.period(), arrival.jitter(), arrival.distance());
    assert_eq!(times, (10_000_000, 2_000_000, 1_000_000));
    assert_eq!(
        (speed.shape.bit(11), speed.shape.bit(32)),
        (Some(true), None)
    );
    assert!(temperature.shape.header().id().is_eff() && temperature.shape.is_free());
    assert_eq!(temperature.deadline, 20_000_000, "its period");
    let header = fd.shape.header();
    assert_eq!(
        (header.kind(), header.len(), header.flags()),
        (Kind::Fd, 64, 0)
    );
    let brs = SET.replace("brs = false\n", "");
    let set = load(&SourceText::new("set.toml", brs)).unwrap();
    assert_eq!(set.buses[0].messages[2].shape.header().flags(), flags::BRS);
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = r#"
[buses.body]
speed = "500k"
[[messages]]
id = "1000"
cycle = "10ms"
len = 9
[[messages]]
id = "100"
period = "0ms"
data = "00"
mask = "FFFF"
phase = "1ms"
"#;
    let found = mistakes(text);
    for words in [
        "has no key `speed` | speed | did you mean `bitrate`?",
        "an ID has three or eight digits, `1000` has 4",
        "has no key `cycle` | cycle | did you mean `period`?",
        "`len` must be from 0 to 8",
        "a period of 0",
        "`mask` has 2 bytes, `data` has 1",
        "has no key `phase` | phase | did you mean `offset`?",
    ] {
        assert!(
            found.iter().any(|line| line.contains(words)),
            "{words}: {found:#?}"
        );
    }
    assert_eq!(found.len(), 7, "{found:#?}");
}

#[test]
fn an_offset_is_below_the_period_and_to_others_of_the_node() {
    let offset = |node: &str, offset: &str| {
        let times = "period = \"10ms\"\njitter = \"2ms\"\n";
        SET.replace(
            &format!("node = \"gateway\"\n{times}"),
            &format!("{node}{times}offset = {offset}\n"),
        )
    };
    let read = |text: String| load(&SourceText::new("set.toml", text)).unwrap();
    let node = "node = \"gateway\"\n";
    let given = |text: &str| read(offset(node, text)).buses[0].messages[0].offset;
    assert_eq!(given("\"0ns\""), Some(0));
    assert_eq!(given("\"9999us\""), Some(9_999_000));
    assert_eq!(read(SET.to_owned()).buses[0].messages[0].offset, None);
    for (node, text, words) in [
        (
            node,
            "\"10ms\"",
            "an offset that is not below the period | \"10ms\" |",
        ),
        (
            node,
            "\"1h\"",
            "an offset that is not below the period | \"1h\" |",
        ),
        (node, "2", "offset"),
        (
            "",
            "\"1ms\"",
            "has a node of its own | \"1ms\" | add `node`",
        ),
    ] {
        let found = mistakes(&offset(node, text));
        assert!(
            found.len() == 1 && found[0].contains(words),
            "{words}: {found:#?}"
        );
    }
}

#[test]
fn buses_and_nodes_must_be_there_and_agree() {
    let two = "[buses.a]\nbitrate = '500k'\n[buses.b]\nbitrate = '500k'\n";
    let message = "[[messages]]\nid = '100'\nperiod = '1ms'\nlen = 8\n";
    let says = |text: &str, words: &str| {
        let found = mistakes(text);
        assert!(
            found.len() == 1 && found[0].contains(words),
            "{words}: {found:#?}"
        );
    };
    says(&format!("{two}{message}"), "on which one?");
    says(
        &format!("{two}{message}bus = 'aa'\n"),
        "there is no bus `aa`",
    );
    let node = "[nodes.n]\nbus = 'a'\n";
    says(
        &format!("{two}{node}{message}node = 'n'\nbus = 'b'\n"),
        "on another bus",
    );
    says(
        &format!("{two}{message}bus = 'a'\n{message}bus = 'a'\n"),
        "has this ID",
    );
    says(
        &format!("{two}{message}bus = 'a'\nkind = 'fd'\n"),
        "no data bit rate",
    );
    says(message, "the file needs `buses`");
    says(two, "the file needs `messages`");
    assert!(
        load(&SourceText::new(
            "s",
            format!("{two}{message}bus = 'a'\n{message}bus = 'b'\n")
        ))
        .is_ok()
    );
}

#[test]
fn nodes_need_time_to_fill_their_mailboxes() {
    let set = |node: &str| SET.replace("mailboxes = 3", node);
    let of = |node: &str| {
        let loaded = load(&SourceText::new("set.toml", set(node))).unwrap();
        loaded.buses[0].nodes[0].refill
    };
    let refill = |time, every| Some(crate::BufferRefill { time, every });
    assert_eq!(of("mailboxes = 3"), None);
    assert_eq!(of("mailboxes = 1\nrefill = \"20us\""), refill(20_000, 1));
    let seldom = "mailboxes = 3\nrefill = \"20us\"\nrefill_every = 382";
    assert_eq!(of(seldom), refill(20_000, 382));
    for (node, expected) in [
        ("refill = \"20us\"", "`refill` without `mailboxes`"),
        (
            "mailboxes = 3\nrefill_every = 2",
            "`refill_every` without `refill`",
        ),
        (
            "mailboxes = 3\nrefill = \"20us\"\nrefill_every = 0",
            "refill_every",
        ),
        ("mailboxes = 3\nrefill = 20", "refill"),
    ] {
        let found = mistakes(&set(node));
        assert!(
            found.iter().any(|m| m.contains(expected)),
            "{node}: {found:?}"
        );
    }
}
