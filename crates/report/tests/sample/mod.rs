//! Made-up data that looks like a run on the embedded bus.

use cangate_report::run::{BusRow, FrameAccount, IdNames, RouteRow, RunData};
use frame::CanId;
use probe::{BusLoad, FrameRecord, IncomingFrame, RunDescription, RunResults, SentCopy, Status};

/// Returns a repeatable number for an index.
fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 27)
}

pub(crate) fn data(frames: u64) -> RunData {
    let names = [
        "powertrain to body",
        "brakes, checksummed",
        "battery, 10 Hz",
        "diagnostics",
    ];
    let mut records = Vec::new();
    let mut loads = [BusLoad::new(100_000_000), BusLoad::new(100_000_000)];
    for n in 0..frames {
        let end = 1_000_000 + n * 640_000 + mixed(n) % 200_000;
        let route = (mixed(n) % 10).min(3) as u16;
        let len = [8u16, 2, 4, 1][usize::from(route)];
        let duration = (47 + 8 * u64::from(len) + mixed(n + 7) % 12) * 2_000;
        let wait = match mixed(n + 13) % 100 {
            0..60 => mixed(n + 1) % 8_000,
            60..97 => mixed(n + 1) % 230_000,
            _ => mixed(n + 1) % (400_000 + 300_000 * u64::from(route)),
        };
        let status = match mixed(n + 99) % 200 {
            0 => Status::DroppedByRate,
            1 => Status::DroppedByRule,
            2..6 => Status::NoRoute,
            _ => Status::Delivered,
        };
        let out = end + 6_000 + wait + duration;
        loads[0].add(end - duration, end);
        let delivered = status == Status::Delivered;
        if delivered {
            loads[1].add(out - duration, out);
        }
        records.push(FrameRecord {
            tag: n,
            route: (status != Status::NoRoute).then_some(route),
            incoming: Some(IncomingFrame {
                port: 0,
                id: CanId::from_raw(0x10 * (1 + u32::from(route))),
                kind: Some(frame::Kind::Classic),
                len,
                end,
            }),
            outgoing: delivered.then_some(SentCopy {
                port: 1,
                id: CanId::from_raw(0x400 + 0x10 * u32::from(route)),
                kind: Some(frame::Kind::Classic),
                len,
                end: out,
                duration,
            }),
            status,
            processing: Some(
                90 + mixed(n + 3) % 60
                    + if mixed(n + 5).is_multiple_of(500) {
                        4_000
                    } else {
                        0
                    },
            ),
            accesses: None,
        });
    }
    let elapsed = 1_000_000 + frames * 640_000;
    let results = RunResults {
        description: RunDescription {
            title: "cangate demo: two buses, four routes".into(),
            version: "0.1.0".into(),
            command: "cangate demo --seed 1 --out out".into(),
            seed: 1,
            config: "[[port]]\nname = \"front\"\n\n[[route]]\nname = \"powertrain to body\"\nfrom = \"front\"\nto = [\"rear\"]\n".into(),
            traffic: "SAE class C message set (Tindell, Burns 1994), 17 messages of 6 nodes".into(),
            bit_rates: "front 500 kbit/s, rear 500 kbit/s".into(),
            time_base: "bus time: virtual, exact to 1 ns, the same on every machine".into(),
            stamp: "end of frame: the last of its seven EOF bits".into(),
            blind_spots: "interrupts, scheduling and drivers: the embedded bus has none".into(),
            more: vec![("Host".into(), "made up".into())],
        },
        routes: names.map(str::to_owned).to_vec(),
        ports: vec!["front".into(), "rear".into()],
        records,
        ..RunResults::default()
    };
    let of = |route: usize, status: Status| {
        let hit = |r: &&FrameRecord| r.route == Some(route as u16) && r.status == status;
        results.records.iter().filter(hit).count() as u64
    };
    let routes = names.iter().enumerate().map(|(i, name)| {
        let (out, rate, rule) = (
            of(i, Status::Delivered),
            of(i, Status::DroppedByRate),
            of(i, Status::DroppedByRule),
        );
        RouteRow {
            name: (*name).to_owned(),
            text: "from front to rear, ID + 3F0".into(),
            taken: out + rate + rule,
            out,
            stopped: vec![("by rate".into(), rate), ("by rule".into(), rule)],
        }
    });
    let routes: Vec<RouteRow> = routes.collect();
    let parts = results
        .fates()
        .into_iter()
        .map(|(s, n)| (s.to_string(), n))
        .collect();
    let bus = |name: &str, frames, load: &BusLoad| {
        BusRow {
            name: name.into(),
            bit_rate: "500 kbit/s".into(),
            frames,
            ..BusRow::default()
        }
        .with_load(load, elapsed)
    };
    let delivered = routes.iter().map(|r| r.out).sum();
    RunData {
        names: IdNames::default(),
        time: "bus time (virtual)".into(),
        waiting_only: false,
        accounts: vec![FrameAccount {
            title: "frames received from front".into(),
            total: frames,
            parts,
        }],
        buses: vec![
            bus("front", frames, &loads[0]),
            bus("rear", delivered, &loads[1]),
        ],
        notes: vec![],
        routes,
        results,
    }
}
