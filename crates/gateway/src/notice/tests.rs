use super::*;

fn one_of_each() -> Vec<Notice> {
    let text = String::new;
    let link = |now| Notice::Link {
        port: "a".into(),
        interface: Some("can7".into()),
        before: LinkState::Up,
        now,
        source: LinkSource::Netlink,
    };
    vec![
        Notice::Ready {
            pid: 1,
            control: None,
            metrics: None,
            ports: vec![],
            not_up: vec![],
            routes: vec![],
        },
        Notice::PortsUp {
            ports: vec!["a".into()],
        },
        link(LinkState::BusOff),
        Notice::PortFailed {
            port: text(),
            why: text(),
        },
        Notice::PortRecovered { port: text() },
        Notice::FramesLost {
            port: text(),
            frames: None,
            why: text(),
        },
        Notice::OffloadTaken {
            data_path: text(),
            routes: 1,
            words: text(),
        },
        Notice::OffloadChanged {
            data_path: text(),
            routes: 1,
            words: text(),
        },
        Notice::OffloadGivenUp {
            data_path: text(),
            why: text(),
        },
        Notice::OffloadFailed {
            data_path: text(),
            why: text(),
        },
        Notice::RoutesMoved {
            data_path: text(),
            why: text(),
            routes: vec![],
            remarks: vec![],
        },
        Notice::OffloadRestored {
            data_path: text(),
            restored: 1,
            within_ms: 1000,
        },
        Notice::InterfacesMissing { interfaces: vec![] },
        Notice::Reloaded {
            routes: 1,
            continued: 1,
            kept: vec![],
            opened: vec![],
            closed: vec![],
            changes: RouteChanges::default(),
            remarks: vec![],
        },
        Notice::NotReloaded {
            why: text(),
            as_before: true,
        },
        Notice::Realtime { priority: 50 },
        Notice::NotRealtime {
            priority: 50,
            why: text(),
        },
        Notice::NotLocked { why: text() },
        Notice::NoControl { why: text() },
        Notice::NotNotified { why: text() },
        Notice::WaitFailed {
            what: "frames",
            why: text(),
        },
        Notice::PortRemarks {
            remarks: vec!["a: waits".into(), "b: waits".into()],
        },
        Notice::Ending {
            reason: EndReason::Signal,
        },
    ]
}

#[test]
fn each_event_has_the_same_name_everywhere() {
    let all = one_of_each();
    let events: Vec<&str> = all.iter().map(Notice::event).collect();
    assert_eq!(events, Notice::EVENTS);
    for notice in all {
        let json = serde_json::to_value(&notice).unwrap();
        assert_eq!(json["event"], notice.event());
        assert!(!notice.to_string().contains('\n'), "one line: {notice}");
    }
}

#[test]
fn bus_off_and_its_end_are_reported_with_what_to_do() {
    let link = |before, now| Notice::Link {
        port: "body".into(),
        interface: Some("can7".into()),
        before,
        now,
        source: LinkSource::Socket,
    };
    let off = link(LinkState::Up, LinkState::BusOff);
    assert_eq!(off.level(), NoticeLevel::Warning);
    assert_eq!(
        off.to_string(),
        "port body: interface can7 is bus-off: frames for it are not sent until the controller \
         is restarted (`ip link set can7 type can restart`, or `restart-ms`)"
    );
    // `ip` does not know a controller that cangate drives on its own.
    let own = Notice::Link {
        port: "body".into(),
        interface: None,
        before: LinkState::Up,
        now: LinkState::BusOff,
        source: LinkSource::Socket,
    };
    assert_eq!(
        own.to_string(),
        "port body: is bus-off: frames for it are not sent until the controller is restarted \
         (key `restart` of a `direct` port)"
    );
    let up = link(LinkState::BusOff, LinkState::Up);
    assert_eq!(up.level(), NoticeLevel::Info);
    assert_eq!(
        up.to_string(),
        "port body: interface can7 is up again (it was bus-off)"
    );
}
