//! Made-up experiments that look like the lab's: kernels, loads, traffic, losses. None of it was
//! measured, and every title states this.

use frame::CanId;
use probe::{FrameRecord, IncomingFrame, RunDescription, RunResults, SentCopy, Status};

/// A repeatable stream of numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

const KERNELS: [&str; 7] = ["5.10", "6.1", "6.1-rt", "6.12", "6.12-rt", "7.3", "7.3-rt"];
const LOADS: [&str; 3] = ["none", "cpu", "eth-rx"];
const TRAFFIC: [&str; 3] = ["oneatatime", "load:50", "flood"];
/// Gateway, filters, modify, and the latency that they add, ns.
const GATEWAYS: [(&str, &str, &str, u64); 12] = [
    ("cangw", "none", "none", 0),
    ("cangw", "sff:2048", "none", 200),
    ("cangw", "list:80", "none", 4_000),
    ("cangw", "list:512", "none", 26_000),
    ("cangw", "list:2048", "none", 110_000),
    ("cangw", "none", "copy", 1_400),
    ("cangw", "none", "and", 1_600),
    ("cangw", "none", "xor", 1_600),
    ("cangw", "none", "crc8", 2_100),
    ("user:read-write", "none", "none", 70_000),
    ("user:read-write", "list:2048", "none", 71_000),
    ("user:read-write", "none", "crc8", 71_500),
];

/// Returns the settings of the `n`th experiment: name and value.
fn settings(n: u64, frames: u64) -> Vec<(String, String)> {
    let pick = |n: u64, from: &[&str]| from[(n as usize) % from.len()].to_owned();
    let (gateway, filters, modify, _) = GATEWAYS[(n / 63) as usize % GATEWAYS.len()];
    let real = n % 97 == 96;
    let pairs = [
        ("kernel", pick(n % 7, &KERNELS)),
        ("bench", pick(n / 5, &["kvaser", "timed"])),
        ("gateway", gateway.to_owned()),
        ("traffic", pick(n / 21, &TRAFFIC)),
        ("load", pick(n / 7, &LOADS)),
        ("payload", pick(n / 11, &["2", "4", "8"])),
        ("filters", filters.to_owned()),
        ("modify", modify.to_owned()),
        ("hops", "0".to_owned()),
        ("cpu", pick(n / 13, &["pc", "board"])),
        ("frames", frames.to_string()),
        ("seed", n.to_string()),
        ("clock", if real { "real" } else { "virtual" }.to_owned()),
        ("qemu", "made up".to_owned()),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

/// Returns the `n`th experiment of a matrix that was not measured.
pub(crate) fn experiment(n: u64, frames: u64) -> RunResults {
    let mut dice = Dice(n);
    let more = settings(n, frames);
    let get = |key: &str| {
        more.iter()
            .find(|m| m.0 == key)
            .map_or("", |m| m.1.as_str())
    };
    let kernel = n % 7;
    let rt = if get("kernel").ends_with("-rt") {
        22_000
    } else {
        0
    };
    let board = if get("cpu") == "board" { 2 } else { 1 };
    let added = GATEWAYS[(n / 63) as usize % GATEWAYS.len()].3;
    let base = (16_000 + 1_500 * kernel + rt + added) * board;
    let payload: u64 = get("payload").parse().unwrap_or(4);
    let (flood, kvaser) = (get("traffic") == "flood", get("bench") == "kvaser");
    let overrun = flood && added > 50_000;
    let duration = (47 + 8 * payload + n % 9) * 2_000;
    let mut records = Vec::new();
    let (mut end, mut free, mut losing) = (5_000_000_u64, 0_u64, 0_u64);
    for tag in 0..frames {
        end += duration
            + match get("traffic") {
                "oneatatime" => duration + base + 20_000,
                "load:50" => duration,
                _ => 6_000,
            };
        let jitter = dice.below(2_500) + if dice.below(3) == 0 { 9_000 * board } else { 0 };
        let load = match (get("load"), dice.below(1_000)) {
            ("cpu", 0..300) => dice.below(120_000),
            ("eth-rx", 0..250) => dice.below(2_600_000),
            ("eth-rx", _) => dice.below(200_000),
            _ => 0,
        };
        let rare = if dice.below(5_000) == 0 {
            dice.below(400_000)
        } else {
            0
        };
        if losing == 0
            && dice.below(1_000)
                < if overrun {
                    220
                } else {
                    u64::from(flood && load > 1_000_000) * 30
                }
        {
            losing = 4;
        }
        let lost = losing > 0;
        losing = losing.saturating_sub(1);
        let out = (end + base + jitter + load + rare + duration).max(free);
        if !lost {
            free = out + 6_000;
        }
        let id = CanId::from_raw(0x123);
        let len = payload as u16;
        let outgoing = SentCopy {
            port: 1,
            id,
            kind: Some(frame::Kind::Classic),
            len,
            end: out,
            duration,
        };
        records.push(FrameRecord {
            tag,
            route: None,
            incoming: Some(IncomingFrame {
                port: 0,
                id,
                kind: Some(frame::Kind::Classic),
                len,
                end,
            }),
            outgoing: (!lost).then_some(outgoing),
            status: if lost {
                Status::Lost
            } else {
                Status::Delivered
            },
            processing: None,
            accesses: (kvaser && !lost).then(|| 34 + payload as u32 * 2 + dice.below(5) as u32),
        });
    }
    let real = get("clock") == "real";
    let time_base = if real {
        "real time of the host"
    } else {
        "virtual time of the guest, 2 ns an instruction"
    };
    RunResults {
        description: RunDescription {
            title: format!("MADE-UP TEST DATA {n}: nothing of it was measured"),
            version: "0.1.0".into(),
            command: format!("cargo run -p cangate-report --example many -- DIR # number {n}"),
            seed: n,
            traffic: format!("{}, {payload} bytes", get("traffic")),
            bit_rates: "500 kbit/s".into(),
            time_base: time_base.into(),
            stamp: "end of frame, in the interrupt handler".into(),
            blind_spots: "everything: it is made up".into(),
            config: String::new(),
            more,
        },
        routes: vec![],
        ports: vec!["can1".into(), "can2".into()],
        records,
        ..RunResults::default()
    }
}

/// Returns the name of the `n`th experiment's file, without folder.
pub(crate) fn name(n: u64) -> String {
    let more = settings(n, 0);
    let get = |key: &str| {
        more.iter()
            .find(|m| m.0 == key)
            .map_or("", |m| m.1.as_str())
            .replace(':', "-")
    };
    format!(
        "{n:03}-{}-{}-{}-{}",
        get("kernel"),
        get("gateway"),
        get("traffic"),
        get("load")
    )
}
