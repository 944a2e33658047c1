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
