//! The checks before anything is changed, and the messages of errors.

mod plan;
mod wire;

use super::desired::DesiredRules;
use super::wire::{ECHO, GatewayJob, SAME_PORT};
use super::{Error, KernelLimits, KernelVersion, NetLink, RefusalReason, survey};
use route::{Action, Crc8Profile, KernelPort, Modify, ModifyOp, PortId, Route, Routes};

fn interfaces() -> Vec<Option<KernelPort>> {
    ["can0", "can1"]
        .map(|name| Some(KernelPort::new(name)))
        .to_vec()
}

fn classic(name: &str) -> Route {
    let mut route = Route::new(name, vec![PortId(0)], vec![PortId(1)]);
    route.matching.kinds.fd = false;
    route.matching.kinds.xl = false;
    route
}

#[test]
fn each_route_is_answered_for() {
    let mut drops = classic("drops");
    drops.drop = true;
    let mut sums = classic("sums");
    let or = Modify {
        op: ModifyOp::Or,
        id: None,
        len: Some(0),
        flags: None,
        data: None,
    };
    sums.actions = vec![
        Action::Modify(or),
        Action::Crc8(route::Crc8 {
            from: 0,
            to: -2,
            result: -1,
            init: 0,
            final_xor: 0,
            table: [0; 256],
            profile: Crc8Profile::None,
        }),
    ];
    let routes = Routes {
        routes: vec![classic("plain"), drops, sums],
        ..Routes::default()
    };
    let of = |version, max_hops| {
        let limits = KernelLimits {
            version: Some(version),
            max_hops,
            hidden_marks: true,
        };
        survey(&routes, &interfaces(), &[], &limits)
            .into_iter()
            .map(|why| why.map(|why| why.why))
            .collect::<Vec<_>>()
    };
    let new = of(KernelVersion(7, 3, 0), Some(1));
    assert_eq!(new[0], None);
    assert_eq!(
        new[1].as_deref(),
        Some("it drops frames, and a rule only forwards")
    );
    assert_eq!(new[2], None);
    assert!(
        of(KernelVersion(6, 1, 20), Some(1))[2]
            .as_ref()
            .unwrap()
            .contains("CVE-2026-31570")
    );
    let more = Routes {
        max_hops: 3,
        ..routes.clone()
    };
    let limits = KernelLimits {
        version: Some(KernelVersion(7, 3, 0)),
        max_hops: Some(2),
        hidden_marks: true,
    };
    let why = survey(&more, &interfaces(), &[], &limits)[0]
        .clone()
        .unwrap()
        .to_string();
    assert!(
        why.starts_with("route `plain`: the gateway allows 3 hops"),
        "{why}"
    );
}

#[test]
fn an_echo_that_other_rules_would_take_is_refused() {
    let mut there = classic("there");
    there.echo = true;
    let mut back = classic("back");
    std::mem::swap(&mut back.from, &mut back.to);
    let limits = KernelLimits {
        version: Some(KernelVersion(7, 3, 0)),
        max_hops: Some(2),
        hidden_marks: true,
    };
    let mut routes = Routes {
        max_hops: 2,
        routes: vec![there, back],
        ..Routes::default()
    };
    let why = survey(&routes, &interfaces(), &[], &limits);
    assert!(
        why[0]
            .as_ref()
            .unwrap()
            .why
            .contains("for can1 would also take"),
        "{why:?}"
    );
    assert_eq!(why[1], None);
    routes.routes[0].hop_limit = Some(1);
    assert_eq!(survey(&routes, &interfaces(), &[], &limits), [None, None]);
    routes.routes[0].hop_limit = None;
    routes.max_hops = 1;
    assert_eq!(survey(&routes, &interfaces(), &[], &limits), [None, None]);
}

/// A vcan echoes regardless of the route's setting.
#[test]
fn a_vcan_that_other_rules_begin_at_is_refused_with_several_hops() {
    let mut back = classic("back");
    std::mem::swap(&mut back.from, &mut back.to);
    let mut routes = Routes {
        max_hops: 2,
        routes: vec![classic("there"), back],
        ..Routes::default()
    };
    let limits = KernelLimits {
        version: Some(KernelVersion(7, 3, 0)),
        max_hops: Some(2),
        hidden_marks: true,
    };
    let there = [link("can1", 4, "vcan")];
    let why = survey(&routes, &interfaces(), &there, &limits);
    let output = &why[0].as_ref().unwrap().why;
    assert!(output.contains("a vcan always echoes: set `hop_limit = 1`"));
    assert_eq!(why[1], None);
    let there = [link("can1", 4, "vxcan")];
    let none = [None, None];
    assert_eq!(survey(&routes, &interfaces(), &there, &limits), none);
    routes.max_hops = 1;
    let there = [link("can1", 4, "vcan")];
    assert_eq!(survey(&routes, &interfaces(), &there, &limits), none);
}

fn link(name: &str, index: u32, kind: &str) -> NetLink {
    NetLink {
        index,
        name: name.to_owned(),
        can: true,
        kind: kind.to_owned(),
        ..NetLink::default()
    }
}

/// Flags without which can-gw would drop frames without counting them, or send them to no receiver.
#[test]
fn jobs_send_what_routes_promise() {
    let limits = KernelLimits {
        version: Some(KernelVersion(7, 3, 0)),
        max_hops: Some(1),
        hidden_marks: true,
    };
    let mut itself = classic("itself");
    itself.to = vec![PortId(0)];
    itself.allow_same_port = true;
    let routes = Routes {
        routes: vec![classic("there"), itself],
        ..Routes::default()
    };
    let desired = DesiredRules::new(&routes, &interfaces(), &[], &limits).unwrap();
    let flags = |kind: &str| -> Vec<(u32, u32, u16)> {
        let links = [link("can0", 3, "can"), link("can1", 4, kind)];
        let (jobs, missing) = desired.resolve(&links.into_iter().collect());
        assert!(missing.is_empty());
        let ends = |job: &GatewayJob| (job.source, job.destination, job.flags);
        jobs.iter().map(|(_, job)| ends(job)).collect()
    };
    assert_eq!(flags("can"), [(3, 4, SAME_PORT), (3, 3, SAME_PORT)]);
    assert_eq!(flags("vxcan"), flags("can"));
    assert_eq!(flags("vcan")[0], (3, 4, SAME_PORT | ECHO));
}

#[test]
fn errors_name_the_cure() {
    let errno = rustix::io::Errno::NODEV;
    let refused = Error::Refused {
        route: "speed".into(),
        rule: "-s can0 -d can7".into(),
        why: RefusalReason::Interface,
        source: errno.into(),
    };
    assert_eq!(
        refused.to_string(),
        "route `speed`: can-gw refuses the rule `-s can0 -d can7`: an interface of it is \
         missing or is not a CAN interface (`ip -br link` shows them)"
    );
    for (error, word) in [
        (Error::NoModule, "modprobe can-gw"),
        (Error::NoPermission, "CAP_NET_ADMIN"),
        (
            Error::Busy {
                instance: "g".into(),
                pid: Some(7),
            },
            "process 7 holds",
        ),
        (
            Error::MaxHops {
                wanted: 3,
                module: 1,
            },
            "modprobe can-gw max_hops=3",
        ),
        (Error::TooMany(70_000), "70000 rules of can-gw"),
    ] {
        assert!(error.to_string().contains(word), "{error}");
    }
}
