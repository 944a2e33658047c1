//! Made-up worst cases: only their appearance matters, not whether a bus could have them.

use cangate_report::bound::{
    BoundData, BusData, FrameSeen, MarginData, MeasuredMessage, MeasuredSource, MessageData,
    NodeData, OrderData, PartsData, TimeoutData,
};
use probe::{LatencyProfile, RunDescription};

/// Returns a repeatable number for an index.
fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 27)
}

/// Returns measurements of a message with this limit.
fn seen(n: u64, limit: u64) -> MeasuredMessage {
    let frames = 200 + mixed(n) % 2_000;
    let most = limit * (300 + mixed(n + 3) % 650) / 1000;
    let one = |k: u64| {
        let part = mixed(n * 1_000 + k) % 1000;
        i64::try_from(most * part * part / 1_000_000).unwrap_or(0)
    };
    let latencies: LatencyProfile = (0..frames).map(one).collect();
    let worst = latencies.values().last().copied().unwrap_or(0);
    MeasuredMessage {
        port: "to_body".to_owned(),
        limit,
        worst: Some(FrameSeen {
            tag: n,
            end: 1_000_000 * n,
            latency: worst,
        }),
        latencies,
        above: vec![],
    }
}

fn message(n: u64, priority: u64, of: u64) -> MessageData {
    let length = mixed(n) % 9;
    let bits = 47 + 8 * length + 10;
    let frame = bits * 2_000;
    let sent_on = n.is_multiple_of(3);
    let parts = PartsData {
        earlier: if sent_on {
            500_000 + mixed(n + 1) % 900_000
        } else {
            0
        },
        gateway: if sent_on { 50_000 } else { 0 },
        network: 0,
        jitter: if n % 5 == 1 {
            100_000 + mixed(n + 2) % 500_000
        } else {
            0
        },
        lower: if priority + 1 == of { 0 } else { 270_000 },
        ahead: if n % 7 == 2 { 240_000 } else { 0 },
        pauses: if n % 7 == 2 { 90_000 } else { 0 },
        higher: 230_000 * (priority % 40),
        errors: if n % 2 == 1 { 312_000 } else { 0 },
        frame,
        since: if n % 7 == 2 { 100_000 } else { 0 },
    };
    let names = [
        "engine speed",
        "wheel speed, front left and right",
        "",
        "door",
        "time",
    ];
    MessageData {
        id: format!("{:03X}", 0x80 + priority),
        name: names[(n % 5) as usize].to_owned(),
        node: ["engine", "brake", "door", "to_body"][(n % 4) as usize].to_owned(),
        bits: u32::try_from(bits).unwrap_or(0),
        frame,
        period: 10_000_000 << (n % 4),
        deadline: 10_000_000 << (n % 4),
        conditional: false,
        via: sent_on.then(|| format!("{:03X} of bus chassis, route all", 0x80 + priority)),
        seen: sent_on.then(|| seen(n, 300_000 + 230_000 * (priority % 40))),
        bound: Ok(parts),
        late: None,
    }
}

/// Returns buses with this many messages each; one deadline can be missed, and one message has no
/// bound.
pub(crate) fn data(buses: u64, messages: u64) -> BoundData {
    let bus = |bus: u64| BusData {
        name: [
            "body", "chassis", "drive", "comfort", "logger", "camera", "battery", "lamps",
        ][(bus % 8) as usize]
            .to_owned(),
        bit_rate: "500k".to_owned(),
        load: 0.31 + 0.05 * bus as f64,
        errors: None,
        nodes: vec![
            NodeData {
                name: "engine".to_owned(),
                order: OrderData::Assumed,
                filled: None,
                backlog: Some(4),
                room: None,
            },
            NodeData {
                name: "door".to_owned(),
                order: OrderData::Arrival(1),
                filled: Some("up to 20 µs to fill one".to_owned()),
                backlog: Some(2),
                room: None,
            },
            NodeData {
                name: "to_body".to_owned(),
                order: OrderData::Covered(32),
                filled: None,
                backlog: Some(7),
                room: Some(64),
            },
        ],
        messages: (0..messages)
            .map(|n| message(bus * messages + n, n, messages))
            .collect(),
    };
    let mut data = BoundData {
        title: "body.toml".to_owned(),
        buses: (0..buses).map(bus).collect(),
        notes: vec!["The gateway itself takes at most 50 µs.".to_owned()],
        margin: Some(MarginData {
            thousandths: Some(1_204),
            sentences: vec!["All messages may come at least 1.204 times as often.".to_owned()],
        }),
        tunnels: Vec::new(),
        timeouts: [
            Ok(48_500_000),
            Ok(61_250_000),
            Err("it is not periodic".to_owned()),
        ]
        .into_iter()
        .map(|longest| TimeoutData {
            message: "123 speed".to_owned(),
            node: "cluster".to_owned(),
            bus: "body".to_owned(),
            time: 60_000_000,
            losses: 1,
            conditional: longest == Ok(48_500_000),
            longest,
            source: "body.dbc, line 7, signal Speed".to_owned(),
        })
        .collect(),
        measured: Some(MeasuredSource {
            name: "results.parquet".to_owned(),
            description: RunDescription {
                time_base: "bus time (simulated, the same on every machine)".to_owned(),
                title: "cangate demo".to_owned(),
                ..RunDescription::default()
            },
            strange: 0,
            unbounded: 0,
        }),
        made: vec![("Command".to_owned(), "cangate bound body.toml".to_owned())],
    };
    if let Some(message) = data.buses[0].messages.get_mut(4) {
        message.deadline = 1_000_000;
    }
    if let Some(message) = data.buses[0].messages.get_mut(7) {
        message.bound = Err("with all higher-priority frames the bus load is 104.2 %".to_owned());
        message.seen = None;
    }
    data
}
