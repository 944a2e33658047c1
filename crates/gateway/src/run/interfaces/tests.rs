use super::*;
use engine::{PortRow, RxCounters, TxCounters};

fn link(index: u32, kind: &str, received: u64) -> NetLink {
    NetLink {
        index,
        name: "can0".to_owned(),
        can: true,
        up: true,
        running: true,
        kind: kind.to_owned(),
        counters: LinkCounters {
            received,
            ..LinkCounters::default()
        },
        ..NetLink::default()
    }
}

fn watched(in_kernel: bool) -> PortInterfaces {
    PortInterfaces(vec![WatchedPort {
        port: "in".to_owned(),
        interface: "can0".to_owned(),
        finder: None,
        in_kernel,
        filtered: true,
        unknown: None,
        base: None,
        reported: LinkState::Up,
    }])
}

fn counted(received: u64, rx: RxCounters, sent: u64) -> CounterSnapshot {
    let count = PortCount {
        received,
        rx,
        tx: TxCounters {
            sent,
            ..TxCounters::default()
        },
        ..PortCount::default()
    };
    let row = PortRow {
        name: "in".to_owned(),
        count,
        failure: None,
    };
    CounterSnapshot {
        ports: vec![row],
        ..CounterSnapshot::default()
    }
}

fn reading(link: NetLink) -> Reading {
    Ok([link].into_iter().collect())
}

/// Returns the row of an interface that counted 100 frames before, and has the counters `link` now.
fn row_of(first: &str, link: NetLink, snapshot: &CounterSnapshot) -> InterfaceRow {
    let mut interfaces = watched(false);
    interfaces.start_counting_at(&reading(self::link(1, first, 100)), None);
    interfaces.rows(&reading(link), snapshot).remove(0)
}

#[test]
fn what_the_interface_had_and_the_socket_did_not_get_was_not_asked_for() {
    let none = RxCounters::default();
    // 600 came, 256 of them here.
    let row = row_of("can", link(1, "can", 700), &counted(256, none, 50));
    assert_eq!((row.received, row.not_asked_for), (Some(600), Some(344)));
    assert_eq!(row.not_asked_for_unknown, None);
    // A vcan counts the frames that this gateway sent on it, too.
    let row = row_of("vcan", link(1, "vcan", 750), &counted(256, none, 50));
    assert_eq!(row.not_asked_for, Some(344));
    // Frames that were lost, unreadable or dropped on purpose had been asked for.
    let mut rx = RxCounters {
        overrun: 10,
        malformed: 1,
        ..none
    };
    rx.faults.dropped = 5;
    rx.faults.duplicated = 2;
    let row = row_of("can", link(1, "can", 700), &counted(242, rx, 0));
    assert_eq!(row.not_asked_for, Some(344));
    // Frames of local programs come to the socket and are not counted by the interface.
    let rx = RxCounters { local: 20, ..none };
    let row = row_of("can", link(1, "can", 700), &counted(276, rx, 0));
    assert_eq!(row.not_asked_for, Some(344));
}

#[test]
fn what_cannot_be_told_is_named() {
    let nothing = CounterSnapshot::default();
    let unknown = |row: InterfaceRow| {
        assert_eq!(row.not_asked_for, None);
        row.not_asked_for_unknown.unwrap()
    };
    assert_eq!(
        unknown(row_of("can", link(2, "can", 700), &nothing)),
        REPLACED
    );
    let rows = watched(false).rows(&reading(link(1, "can", 5)), &nothing);
    assert_eq!(unknown(rows[0].clone()), NOT_THERE);
    let rows = watched(false).rows(&Err("no netlink".to_owned()), &nothing);
    assert_eq!(
        (unknown(rows[0].clone()).as_str(), rows[0].state),
        ("no netlink", None)
    );
}

#[test]
fn a_port_that_stays_goes_on_counting_and_a_new_one_begins() {
    let mut interfaces = watched(false);
    interfaces.start_counting_at(&reading(link(1, "can", 100)), None);
    // The machine that runs the test has no interface of this name: only a port that stays has a
    // base.
    let mut next = watched(false);
    next.0[0].filtered = false;
    interfaces.replace(next, None);
    let base = interfaces.0[0].base.as_ref().unwrap();
    assert_eq!(base.counters.received, 100);
    assert!(
        interfaces.0[0].filtered,
        "what was filtered before is still told"
    );
    let mut next = watched(false);
    next.0[0].interface = "no-such-if".to_owned();
    interfaces.replace(next, None);
    assert!(interfaces.0[0].base.is_none());
}

#[test]
fn a_link_of_the_kernels_routes_is_reported_when_it_changes() {
    let mut interfaces = watched(true);
    let at = |link: Option<NetLink>| -> NetLinks { link.into_iter().collect() };
    let mut state = |link: Option<NetLink>| match interfaces.take_changes(&at(link)).as_slice() {
        [] => None,
        [Notice::Link { before, now, .. }] => Some((*before, *now)),
        other => panic!("{other:?}"),
    };
    let up = || link(1, "can", 0);
    assert_eq!(state(Some(up())), None);
    let down = NetLink { up: false, ..up() };
    assert_eq!(
        state(Some(down.clone())),
        Some((LinkState::Up, LinkState::Down))
    );
    assert_eq!(state(Some(down)), None);
    assert_eq!(state(None), Some((LinkState::Down, LinkState::Gone)));
    let off = NetLink {
        running: false,
        state: Some(ControllerState::Started(ErrorState::BusOff)),
        ..up()
    };
    assert_eq!(state(Some(off)), Some((LinkState::Gone, LinkState::BusOff)));
    let passive = NetLink {
        state: Some(ControllerState::Started(ErrorState::Passive)),
        ..up()
    };
    assert_eq!(
        state(Some(passive)),
        Some((LinkState::BusOff, LinkState::ErrorPassive))
    );
    assert_eq!(
        state(Some(up())),
        Some((LinkState::ErrorPassive, LinkState::Up))
    );
}
