use super::*;
use engine::{PortRow, RouteRow};
use gateway::KernelPart;

fn stats(at_ns: u64, received: u64, taken: u64) -> GatewayStats {
    let mut stats = GatewayStats::default();
    stats.process.at_ns = at_ns;
    let mut port = PortRow {
        name: "p".into(),
        ..PortRow::default()
    };
    port.count.received = received;
    port.count.tx.held = 3;
    port.count.tx.expired = received / 10;
    port.count.rx.overrun = received / 10;
    stats.process.ports = vec![port];
    let mut route = RouteRow {
        name: "r".into(),
        ..RouteRow::default()
    };
    route.count.taken = taken;
    stats.process.routes = vec![route];
    stats.interfaces = vec![InterfaceRow {
        port: "k".into(),
        in_kernel: true,
        sent: Some(taken),
        ..InterfaceRow::default()
    }];
    stats.kernel = vec![KernelPart {
        how: "bpf".into(),
        restored: 0,
        routes: vec![KernelRow {
            name: "fast".into(),
            sent: taken,
            ..KernelRow::default()
        }],
    }];
    stats
}

#[test]
fn a_rate_is_what_came_by_the_time_that_it_took() {
    let rates = GatewayRates::between(
        &stats(1, 10, 5),
        &stats(2, 110, 6),
        Duration::from_millis(500),
    );
    let port = &rates.ports[0];
    assert_eq!((port.received, port.sent), (Some(200.0), Some(0.0)));
    assert_eq!(
        (port.lost, port.held),
        (Some(40.0), Some(3)),
        "expired and overrun"
    );
    assert_eq!(rates.routes[0].taken, Some(2.0));
    let kernel = &rates.ports[1];
    assert_eq!(
        (kernel.sent, kernel.received, kernel.held),
        (Some(2.0), None, None)
    );
    let route = &rates.routes[1];
    assert_eq!(
        (route.by.as_str(), route.sent, route.taken),
        ("bpf", Some(2.0), None)
    );
    let json = rates.json();
    assert_eq!(json["over_ns"], 500_000_000);
    assert_eq!(json["ports"][0]["received"], 200.0);
    assert_eq!(json["ports"][1]["received"], Value::Null);
}

#[test]
fn what_is_not_known_is_not_guessed() {
    let second = Duration::from_secs(1);
    // Another gateway, a route that is new, a counter that started anew, no time.
    let restarted = GatewayRates::between(&stats(9, 10, 5), &stats(8, 20, 6), second);
    assert_eq!(restarted.ports[0].received, None);
    let new = GatewayRates::between(&GatewayStats::default(), &stats(8, 20, 6), second);
    assert_eq!((new.ports[0].received, new.routes[0].taken), (None, None));
    let anew = GatewayRates::between(&stats(1, 20, 5), &stats(2, 10, 6), second);
    assert_eq!(
        (anew.ports[0].received, anew.routes[0].taken),
        (None, Some(1.0))
    );
    let no_time = GatewayRates::between(&stats(1, 10, 5), &stats(2, 20, 6), Duration::ZERO);
    assert_eq!(no_time.ports[0].received, None);
}

#[test]
fn rates_in_words() {
    let all = [
        None,
        Some(0.0),
        Some(0.04),
        Some(9.94),
        Some(9.96),
        Some(12345.6),
    ];
    assert_eq!(all.map(words), ["?", "·", "0.0", "9.9", "10", "12346"]);
}

/// One process port on a classic or FD controller, one port of the kernel, at one moment.
fn wired(bits: u64, data_bits: u64, frames: u64, data_bitrate: Option<u32>) -> GatewayStats {
    let mut stats = stats(1, 0, 0);
    let count = &mut stats.process.ports[0].count;
    (count.rx.bits, count.tx.bits) = (bits / 2, bits - bits / 2);
    count.rx.data_bits = data_bits;
    let interface = |port: &str, in_kernel| InterfaceRow {
        port: port.into(),
        in_kernel,
        received: Some(frames),
        sent: Some(0),
        received_bytes: Some(8 * frames),
        sent_bytes: Some(0),
        bitrate: Some(500_000),
        data_bitrate,
        ..InterfaceRow::default()
    };
    stats.interfaces = vec![interface("p", false), interface("k", true)];
    stats
}

#[test]
fn a_load_is_the_higher_of_two_lower_bounds() {
    let second = Duration::from_secs(1);
    let loads = |before: &GatewayStats, now: &GatewayStats| {
        let rates = GatewayRates::between(before, now, second);
        (rates.ports[0].load, rates.ports[1].load)
    };
    let zero = wired(0, 0, 0, None);
    // The gateway saw 100 000 bits of frames; the interface had 500 frames of 8 bytes.
    let now = wired(100_000, 0, 500, None);
    assert_eq!(loads(&zero, &now), (Some(0.2), Some(0.111)));
    // Most frames are filtered by the kernel.
    let now = wired(1_000, 0, 500, None);
    assert_eq!(loads(&zero, &now), (Some(0.111), Some(0.111)));
    // With a data phase, the interface's counters are not enough.
    let zero = wired(0, 0, 0, Some(2_000_000));
    let now = wired(50_000, 200_000, 500, Some(2_000_000));
    assert_eq!(loads(&zero, &now), (Some(0.2), None));
    let rates = GatewayRates::between(&zero, &now, second);
    assert!(rates.has_loads());
    assert_eq!(rates.json()["ports"][0]["load"], 0.2);
    assert_eq!(percent(rates.ports[0].load), "20");
    // Without a bit rate it is not known.
    let rates = GatewayRates::between(&stats(1, 0, 0), &stats(2, 1, 1), second);
    assert!(!rates.has_loads());
    assert_eq!(rates.json()["ports"][0]["load"], Value::Null);
}
