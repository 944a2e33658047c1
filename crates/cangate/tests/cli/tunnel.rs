//! Two gateways with a stream of IEEE 1722 between them, through a relay that loses, doubles and
//! swaps datagrams.

use crate::gateway::{Gateway, frames, row};
use crate::{cangate, root, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

pub(crate) fn free_udp() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

/// Numbers from a seed (SplitMix64, Steele et al. 2014).
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *seed;
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// A relay: what it has lost and doubled, and whether it passes everything on.
#[derive(Default)]
struct SeededRelay {
    passes: AtomicBool,
    ends: AtomicBool,
    lost: AtomicU64,
    doubled: AtomicU64,
}

impl SeededRelay {
    fn run(&self, socket: &UdpSocket, to: SocketAddr) {
        let tick = Duration::from_millis(5);
        socket.set_read_timeout(Some(tick)).unwrap();
        let (mut seed, mut buffer) = (1722, [0; 2048]);
        let mut kept: Option<Vec<u8>> = None;
        let mut is_first = true;
        while !self.ends.load(SeqCst) {
            let Ok(len) = socket.recv(&mut buffer) else {
                continue;
            };
            let datagram = &buffer[..len];
            // A report has 84 bytes, and datagrams of these tests have another length.
            let is_report = len == 84;
            let fate = match self.passes.load(SeqCst) || is_report {
                true => 99,
                // Nothing would show its loss.
                false if is_first => 1,
                false => next(&mut seed) % 20,
            };
            is_first &= is_report;
            let pass = |datagram: &[u8]| socket.send_to(datagram, to).unwrap();
            match fate {
                0 => {
                    self.lost.fetch_add(1, SeqCst);
                    continue;
                }
                1 => {
                    self.doubled.fetch_add(1, SeqCst);
                    pass(datagram);
                    pass(datagram);
                }
                // It arrives behind the next one.
                2 | 3 if kept.is_none() => {
                    kept = Some(datagram.to_vec());
                    continue;
                }
                _ => {
                    pass(datagram);
                }
            }
            kept.take().into_iter().for_each(|kept| {
                pass(&kept);
            });
        }
    }
}

/// Ends a relay also when the test fails, so that the failure is reported.
struct RelayEnd<'r>(&'r SeededRelay);

impl Drop for RelayEnd<'_> {
    fn drop(&mut self) {
        self.0.ends.store(true, SeqCst);
    }
}

fn count(stats: &Value, port: &str, half: &str, counter: &str) -> u64 {
    row(&stats["ports"], port)[half][counter]
        .as_u64()
        .unwrap_or(0)
}

/// The end of a tunnel, with its routes.
fn end(listen: SocketAddr, connect: SocketAddr, route: &str) -> String {
    format!(
        "[ports.net]\nkind = \"ieee1722\"\nlisten = \"{listen}\"\nconnect = \"{connect}\"\nreports = \"100ms\"\n\
         [[routes]]\n{route}\n"
    )
}

#[test]
fn every_frame_between_two_gateways_has_one_fate() {
    let relay = UdpSocket::bind("127.0.0.1:0").unwrap();
    let between = relay.local_addr().unwrap();
    let there = free_udp();
    let fates = SeededRelay::default();
    let mut near = Gateway::start(&end(free_udp(), between, "from = \"in\"\nto = \"net\""));
    let far = Gateway::start(&end(there, between, "from = \"net\"\nto = \"out\""));
    std::thread::scope(|scope| {
        let _end = RelayEnd(&fates);
        scope.spawn(|| fates.run(&relay, there));
        let all: Vec<String> = (0..1500).map(|n| format!("123#{n:08X}")).collect();
        for chunk in all.chunks(3) {
            let chunk: Vec<&str> = chunk.iter().map(String::as_str).collect();
            near.feed(&chunk);
            // Without a pause, all frames would share a few datagrams.
            std::thread::sleep(Duration::from_micros(200));
        }
        near.until("all frames have left", |near| {
            count(&near.stats(), "net", "tx", "sent") == 1500
        });
        // Statements of the near side pass now, and show what the last datagrams were.
        fates.passes.store(true, SeqCst);
        let sum = |stats: &Value| {
            count(stats, "net", "rx", "datagrams") + count(stats, "net", "rx", "missing")
        };
        let near = near.stats();
        far.until("every datagram and every frame has a fate", |far| {
            let far = far.stats();
            let received = row(&far["ports"], "net")["received"].as_u64().unwrap();
            let frames = received + count(&far, "net", "rx", "lost");
            sum(&far) == count(&near, "net", "tx", "datagrams") && frames == 1500
        });
    });
    let stats = far.stats();
    let get = |counter| count(&stats, "net", "rx", counter);
    assert_eq!(get("missing"), fates.lost.load(SeqCst), "{stats}");
    assert_eq!(get("repeated"), fates.doubled.load(SeqCst), "{stats}");
    assert!(get("lost") > 0 && get("overtaken") > 0, "{stats}");
    assert_eq!(get("malformed"), 0, "{stats}");
    let received = row(&stats["ports"], "net")["received"].as_u64().unwrap();
    far.signal("TERM");
    let (_, log) = far.end();
    let came = frames(&log);
    let distinct: BTreeSet<_> = came.iter().collect();
    assert_eq!((came.len() as u64, distinct.len()), (received, came.len()));
}

/// Returns the gateway files of a section of docs/gateway-toml.md.
fn files(section: &str) -> Vec<String> {
    let document = std::fs::read_to_string(root().join("docs/gateway-toml.md")).unwrap();
    let (_, section) = document.split_once(section).unwrap();
    let section = section.split("\n###").next().unwrap();
    let blocks = section.split("```toml\n").skip(1);
    let files = blocks.map(|block| block.split("```").next().unwrap());
    files.map(str::to_owned).collect()
}

/// Returns a file of the document with other addresses, and with the streams of [`Gateway`] instead
/// of the CAN interface.
fn adapted(file: &str, addresses: [SocketAddr; 2]) -> String {
    let (_, tunnel) = file.split_once("[ports.other]").unwrap();
    let tunnel = tunnel
        .replace("192.0.2.1:17220", &addresses[0].to_string())
        .replace("192.0.2.7:17220", &addresses[1].to_string())
        .replace("from = \"can0\"", "from = \"in\"")
        .replace("to = \"can0\"", "to = \"out\"")
        // A machine under load is no network, and the log's stamps are old.
        .replace("max_age = \"100ms\"", "late = \"send\"")
        .replace("keep_stamp = true", "keep_stamp = false")
        .replace("reports = \"1s\"", "reports = \"100ms\"");
    format!("[ports.other]{tunnel}")
}

/// The two files of the document are valid without a warning, and two gateways with them exchange
/// frames in both directions: all arrive, those of each ID in their order.
#[test]
fn the_two_gateways_of_the_document_exchange_frames() {
    let files = files("#### Between two gateways");
    assert_eq!(files.len(), 2);
    for file in &files {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, file).unwrap();
        assert_eq!(stderr(cangate().arg("check").arg(&path), 0), "");
        let words = stdout(cangate().arg("check").arg(&path), 0);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("frames are handed on 20ms after their stamps"),
            "{words}"
        );
    }
    let addresses = [free_udp(), free_udp()];
    let mut gateways = [0, 1].map(|at| Gateway::start(&adapted(&files[at], addresses)));
    let ids = ["050", "123", "200", "1ABCDEF0"];
    let sent: Vec<String> = (0..400)
        .map(|n| format!("{}#{n:04X}", ids[n % ids.len()]))
        .collect();
    for chunk in sent.chunks(20) {
        let chunk: Vec<&str> = chunk.iter().map(String::as_str).collect();
        for gateway in &mut gateways {
            gateway.feed(&chunk);
        }
    }
    // While both are there: the first of them ends below.
    for gateway in &gateways {
        gateway.until("a round trip is known", |gateway| {
            count(&gateway.stats(), "other", "rx", "round_trip") > 0
        });
    }
    for gateway in gateways {
        gateway.until("all frames have come", |gateway| {
            row(&gateway.stats()["ports"], "other")["received"] == 400
        });
        let stats = gateway.stats();
        for counter in ["missing", "expired", "behind", "refused", "waiting"] {
            assert_eq!(count(&stats, "other", "rx", counter), 0, "{stats}");
        }
        gateway.signal("TERM");
        let (_, log) = gateway.end();
        let came = frames(&log);
        for id in ids {
            let of = |frames: &[&str]| -> Vec<String> {
                let own = frames.iter().filter(|frame| frame.starts_with(id));
                own.map(|frame| (*frame).to_owned()).collect()
            };
            let sent: Vec<&str> = sent.iter().map(String::as_str).collect();
            assert_eq!(of(&came), of(&sent));
        }
    }
}

/// A gateway that sends presentation times, and one that goes by them. The network between them is
/// a witness of the times, and marks them as certain, because this machine's clock need not be
/// synchronised.
#[test]
fn two_gateways_agree_on_presentation_times() {
    const FRAMES: usize = 300;
    const MAX_TRANSIT: u64 = 300_000_000;
    let relay = UdpSocket::bind("127.0.0.1:0").unwrap();
    let between = relay.local_addr().unwrap();
    let there = free_udp();
    let file = |listen, key: &str, route: &str| {
        format!(
            "[ports.net]\nkind = \"ieee1722\"\nlisten = \"{listen}\"\nconnect = \"{between}\"\n{key}\n\
             timescale = \"utc\"\n[[routes]]\n{route}\n"
        )
    };
    let sends = "max_transit = \"300ms\"\npack = \"1ms\"";
    let near = file(free_udp(), sends, "from = \"in\"\nto = \"net\"");
    let far = file(
        there,
        "delay = \"presentation\"",
        "from = \"net\"\nto = \"out\"",
    );
    let (mut near, far) = (Gateway::start(&near), Gateway::start(&far));
    let fates = SeededRelay::default();
    let sent: Vec<String> = (0..FRAMES).map(|n| format!("123#{n:04X}")).collect();
    std::thread::scope(|scope| {
        let _end = RelayEnd(&fates);
        scope.spawn(|| {
            relay
                .set_read_timeout(Some(Duration::from_millis(5)))
                .unwrap();
            let mut buffer = [0; 2048];
            while !fates.ends.load(SeqCst) {
                let Ok(len) = relay.recv(&mut buffer) else {
                    continue;
                };
                // TSCF, with a time that is that of the earliest stamp, which is the first one.
                assert_eq!(buffer[4..6], [0x05, 0x81]);
                let time = u32::from_be_bytes(buffer[16..20].try_into().unwrap());
                let stamp = u64::from_be_bytes(buffer[32..40].try_into().unwrap());
                assert_eq!(time, (stamp + MAX_TRANSIT) as u32);
                buffer[7] = 0;
                relay.send_to(&buffer[..len], there).unwrap();
            }
        });
        for chunk in sent.chunks(10) {
            let chunk: Vec<&str> = chunk.iter().map(String::as_str).collect();
            near.feed(&chunk);
        }
        far.until("all frames have come", |far| {
            row(&far.stats()["ports"], "net")["received"] == FRAMES
        });
    });
    let stats = far.stats();
    for counter in [
        "unstamped",
        "expired",
        "behind",
        "refused",
        "waiting",
        "malformed",
    ] {
        assert_eq!(count(&stats, "net", "rx", counter), 0, "{stats}");
    }
    far.signal("TERM");
    let (_, log) = far.end();
    assert_eq!(frames(&log), sent);
}

/// Two streams between the same two addresses, each with a port at both ends.
#[test]
fn two_buses_share_one_address() {
    let addresses = [free_udp(), free_udp()];
    let ports = |listen: SocketAddr, connect: SocketAddr, routes: &str| {
        let port = |name: &str, stream: u64| {
            format!(
                "[ports.{name}]\nkind = \"ieee1722\"\nlisten = \"{listen}\"\n\
                 connect = \"{connect}\"\nstream = \"{stream:016X}\"\ndelay = \"5ms\"\n"
            )
        };
        format!("{}{}{routes}", port("one", 1), port("two", 2))
    };
    let [a, b] = addresses;
    let there = "[[routes]]\nfrom = \"in\"\nto = [\"one\", \"two\"]\n";
    let here = "[[routes]]\nfrom = [\"one\", \"two\"]\nto = \"out\"\n";
    let mut near = Gateway::start(&ports(a, b, there));
    let far = Gateway::start(&ports(b, a, here));
    let sent: Vec<String> = (0..300).map(|n| format!("123#{n:04X}")).collect();
    for chunk in sent.chunks(10) {
        let chunk: Vec<&str> = chunk.iter().map(String::as_str).collect();
        near.feed(&chunk);
    }
    far.until("all frames have come by both ports", |far| {
        let stats = far.stats();
        let came = |name| row(&stats["ports"], name)["received"] == 300;
        came("one") && came("two")
    });
    let stats = far.stats();
    for port in ["one", "two"] {
        assert_eq!(count(&stats, port, "rx", "missing"), 0, "{stats}");
    }
    far.signal("TERM");
    let (_, log) = far.end();
    let mut came = frames(&log);
    came.sort_unstable();
    came.dedup();
    assert_eq!(came, sent.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Three gateways in a circle, each of which hands on all frames of a tunnel to its other tunnel: a
/// frame reaches the two other gateways by both ways, and comes to its end.
#[test]
fn a_circle_of_three_gateways_ends() {
    let ends: Vec<SocketAddr> = (0..6).map(|_| free_udp()).collect();
    let tunnel = |name: &str, listen: usize, connect: usize| {
        let (listen, connect) = (ends[listen], ends[connect]);
        format!(
            "[ports.{name}]\nkind = \"ieee1722\"\nlisten = \"{listen}\"\nconnect = \"{connect}\"\nreports = \"100ms\"\n"
        )
    };
    // Each gateway has the ends `2n`, which leads to the next gateway, and `2n + 1`.
    let mut gateways = [0, 1, 2].map(|at| {
        let (next, before) = ((at + 1) % 3, (at + 2) % 3);
        let ports = tunnel("next", 2 * at, 2 * next + 1) + &tunnel("back", 2 * at + 1, 2 * before);
        let routes = [
            ("in", "[\"next\", \"back\"]"),
            ("next", "[\"back\", \"out\"]"),
            ("back", "[\"next\", \"out\"]"),
        ];
        let routes = routes.map(|(from, to)| format!("[[routes]]\nfrom = \"{from}\"\nto = {to}\n"));
        Gateway::start(&(ports + &routes.join("")))
    });
    let all: Vec<String> = (0..50).map(|n| format!("123#{n:08X}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    gateways[0].feed(&all);
    // By each way, a frame comes to both others and back to the first one, which drops it.
    let of = |gateway: &Gateway, half: &str, counter: &str| {
        let stats = gateway.stats();
        ["next", "back"].map(|port| count(&stats, port, half, counter))
    };
    gateways[0].until("all frames came back", |first| {
        of(first, "rx", "returned") == [50, 50]
    });
    for gateway in &gateways[1..] {
        assert_eq!(of(gateway, "tx", "sent"), [50, 50]);
        assert_eq!(of(gateway, "rx", "returned"), [0, 0]);
    }
    let logs = gateways.map(|gateway| {
        gateway.signal("TERM");
        let (output, log) = gateway.end();
        let words = [output.stdout, output.stderr].concat();
        (
            String::from_utf8_lossy(&words).into_owned(),
            frames(&log).len(),
        )
    });
    assert_eq!(logs.each_ref().map(|(_, frames)| *frames), [0, 100, 100]);
    let remark = "frames that had passed this gateway before came back and were dropped";
    assert!(logs[0].0.contains(remark), "{}", logs[0].0);
}
