use super::*;
use crate::{bpf, cangw};
use proptest::collection::vec;
use proptest::prelude::*;
use route::{FrameMatch, KernelPort, PayloadPattern, RateLimit, Route, TriState};

const NAMES: [&str; 4] = ["can0", "can1", "vxcan0", "later0"];

/// can0 and can1 are hardware, vxcan0 is a virtual interface, later0 does not exist; the ports
/// after them are not interfaces.
fn machine() -> HostMachine {
    let there = |name: &str, kind: &str, index| bpf::Interface {
        name: name.to_owned(),
        index,
        can: true,
        mtu: 72,
        up: true,
        echo: true,
        kind: kind.to_owned(),
        ..bpf::Interface::default()
    };
    HostMachine {
        interfaces: vec![
            there("can0", "can", 3),
            there("can1", "can", 4),
            there("vxcan0", "vxcan", 5),
        ],
        bpf: Ok(()),
        can_gw: Ok(cangw::KernelLimits {
            version: Some(cangw::KernelVersion(6, 12, 30)),
            max_hops: Some(2),
            hidden_marks: true,
        }),
    }
}

fn interfaces() -> Vec<Option<KernelPort>> {
    let names = NAMES.iter().map(|name| Some(KernelPort::new(*name)));
    names.chain([None, None]).collect()
}

#[test]
fn only_one_path_runs_what_it_can_and_this_process_the_rest() {
    let routes = Routes {
        routes: vec![
            route("there", &[0], &[1]),
            route("later", &[0], &[3]),
            // The interface is a vcan in the second machine.
            route("virtual", &[1], &[2]),
            route("back", &[2], &[0]),
            route("log", &[1], &[4]),
        ],
        ..Routes::default()
    };
    let places = |machine: &HostMachine| {
        let choices = choose_only(DataPath::Bpf, &routes, &interfaces(), machine);
        let by_bpf = choices
            .iter()
            .map(|choice| choice.data_path == DataPath::Bpf);
        by_bpf.collect::<Vec<_>>()
    };
    // Not as with `choose`: a destination that is absent is waited for.
    assert_eq!(places(&machine()), [true, true, true, true, false]);
    let mut other = machine();
    for link in &mut other.interfaces {
        if link.name == "vxcan0" {
            link.kind = "vcan".to_owned();
        }
    }
    // What begins at the vcan stays with what goes there.
    assert_eq!(places(&other), [true, true, false, false, false]);
    let choices = choose_only(DataPath::Bpf, &routes, &interfaces(), &other);
    assert!(choices[2].because[0].1.contains("vcan"), "{choices:?}");
    assert!(choices[3].because[0].1.contains("must stay"), "{choices:?}");
    let none = choose_only(DataPath::Process, &routes, &interfaces(), &other);
    assert!(
        none.iter()
            .all(|choice| choice.data_path == DataPath::Process)
    );
}

fn route(name: &str, from: &[u16], to: &[u16]) -> Route {
    let ports = |ports: &[u16]| ports.iter().copied().map(PortId).collect();
    let mut route = Route::new(name, ports(from), ports(to));
    // can-gw has no rules for XL frames.
    route.matching.kinds.xl = matches!(from, [0 | 1]);
    route
}

/// Adds a condition that can-gw cannot check.
fn by_payload(mut route: Route) -> Route {
    route.matching = FrameMatch {
        payload: vec![PayloadPattern {
            at: 0,
            value: vec![1],
            mask: vec![0xFF],
        }],
        ..FrameMatch::default()
    };
    route
}

/// Adds an option that BPF does not have.
fn keeping_stamps(mut route: Route) -> Route {
    route.keep_stamp = true;
    route
}

fn paths(routes: Vec<Route>) -> Vec<DataPath> {
    let routes = Routes {
        routes,
        ..Routes::default()
    };
    let placed = choose(&routes, &interfaces(), &machine());
    placed.into_iter().map(|placed| placed.data_path).collect()
}

#[test]
fn each_route_runs_at_the_fastest_place() {
    let found = paths(vec![
        by_payload(route("payload", &[0], &[1])),
        keeping_stamps(route("stamps", &[1], &[0])),
        route("log", &[0], &[4]),
    ]);
    assert_eq!(found, [DataPath::Bpf, DataPath::CanGw, DataPath::Process]);
}

#[test]
fn what_would_overtake_stays_together() {
    let routes = Routes {
        routes: vec![
            route("plain", &[0], &[1]),
            keeping_stamps(by_payload(route("neither", &[0], &[1]))),
        ],
        ..Routes::default()
    };
    let placed = choose(&routes, &interfaces(), &machine());
    for placed in &placed {
        assert_eq!(placed.data_path, DataPath::Process);
    }
    let output = &placed[0].because;
    assert_eq!(output.len(), 2);
    assert_eq!(output[0].0, DataPath::Bpf);
    assert_eq!(output[0].1, "must stay with route `neither`");
    // To another interface it may run faster, unless one route decides for the other.
    let pair = |drop| {
        let mut neither = keeping_stamps(by_payload(route("neither", &[0], &[2])));
        if drop {
            neither.drop = true;
            neither.to.clear();
        }
        paths(vec![route("plain", &[0], &[1]), neither])
    };
    assert_eq!(pair(false), [DataPath::Bpf, DataPath::Process]);
    assert_eq!(pair(true), [DataPath::Process, DataPath::Process]);
}

#[test]
fn what_one_sends_to_the_other_stays_together_where_it_comes_in() {
    let chain = |middle: u16, echo| {
        let mut first = route("first", &[0], &[middle]);
        first.echo = echo;
        let slow = keeping_stamps(by_payload(route("slow", &[middle], &[4])));
        paths(vec![first, slow])
    };
    let split = [DataPath::Bpf, DataPath::Process];
    let together = [DataPath::Process, DataPath::Process];
    assert_eq!(chain(1, false), split, "hardware");
    assert_eq!(chain(1, true), together, "hardware that echoes");
    assert_eq!(chain(2, false), together, "vcan");
    assert_eq!(chain(3, false), together, "whatever it will be");
}

#[test]
fn a_machine_without_bpf_or_can_gw_gives_the_reason() {
    let routes = Routes {
        routes: vec![route("one", &[0], &[1])],
        ..Routes::default()
    };
    let mut bare = machine();
    bare.bpf = Err(bpf::MissingFeature::Can);
    let placed = choose(&routes, &interfaces(), &bare);
    assert_eq!(placed[0].data_path, DataPath::CanGw);
    assert_eq!(
        placed[0].because,
        [(DataPath::Bpf, bpf::MissingFeature::Can.to_string())]
    );
    bare.can_gw = Err(cangw::Error::NoModule);
    let placed = choose(&routes, &interfaces(), &bare);
    assert_eq!(placed[0].data_path, DataPath::Process);
    assert_eq!(placed[0].because.len(), 2);
}

#[test]
fn what_is_too_much_together_does_not_all_go_to_bpf() {
    // Many different masks: more than the search for one frame may use. Whole groups are moved by
    // destination.
    let masked = |to: u16, bits: u32, at: u32| {
        let mut route = route(&format!("{bits:x} at {at} to {to}"), &[0], &[to]);
        route.matching.ids = vec![route::IdFilter {
            set: route::IdSet::Masked {
                id: 1 << at,
                mask: bits << at,
            },
            inverted: false,
        }];
        route
    };
    let all = (0..20)
        .map(|at| masked(1, 1, at))
        .chain((0..20).map(|at| masked(2, 3, at)));
    let all: Vec<Route> = all.collect();
    let found = paths(all);
    let (to_one, to_two) = found.split_at(20);
    assert!(to_one.iter().all(|place| *place == DataPath::Bpf));
    assert!(to_two.iter().all(|place| *place == DataPath::CanGw));
}

fn any_route() -> impl Strategy<Value = Route> {
    let ports = || vec(0_u16..6, 1..3);
    (ports(), ports(), 0..6_u8, any::<(bool, bool)>()).prop_map(|(from, to, kind, more)| {
        let mut made = route("", &from, &to);
        match kind {
            0 => made = by_payload(made),
            1 => made = keeping_stamps(made),
            2 => {
                made.limit = Some(RateLimit {
                    frames: 1,
                    per: 1,
                    burst: 1,
                    per_id: None,
                });
            }
            3 if more.0 && more.1 => {
                made.drop = true;
                made.to.clear();
            }
            4 => made.echo = more.1,
            _ => {}
        }
        made
    })
}

/// The rules of the module's documentation, applied to each pair of routes.
fn must_stay(routes: &Routes, a: &Route, b: &Route) -> bool {
    let begin = |port: &&PortId| b.from.contains(port);
    let share: Vec<&PortId> = a.from.iter().filter(begin).collect();
    let decides = share.iter().any(|port| {
        routes.mode == RouteMode::First
            || routes
                .routes
                .iter()
                .any(|r| r.drop && r.from.contains(port))
    });
    let same_way = !share.is_empty() && a.to.iter().any(|port| b.to.contains(port));
    let comes_in = |port: &PortId| (a.echo || matches!(port.0, 2 | 3)) && b.from.contains(port);
    decides || same_way || a.to.iter().any(comes_in)
}

proptest! {
    #[test]
    fn data_paths_keep_order_and_meaning(
        list in vec(any_route(), 1..8),
        first in any::<bool>(),
        lacks in 0..4_u8,
    ) {
        let mut list = list;
        for (i, route) in list.iter_mut().enumerate() {
            route.name = format!("r{i}");
        }
        let routes = Routes {
            mode: if first { RouteMode::First } else { RouteMode::All },
            max_hops: 1,
            routes: list,
        };
        let mut machine = machine();
        if lacks == 1 {
            machine.bpf = Err(bpf::MissingFeature::Permission);
        }
        if lacks == 2 {
            machine.can_gw = Err(cangw::Error::NoModule);
        }
        let placed = choose(&routes, &interfaces(), &machine);
        prop_assert_eq!(placed.len(), routes.routes.len());
        let mut pairs = routes.routes.iter().zip(&placed);
        while let Some((a, at_a)) = pairs.next() {
            for (b, at_b) in pairs.clone() {
                if must_stay(&routes, a, b) || must_stay(&routes, b, a) {
                    prop_assert_eq!(at_a.data_path, at_b.data_path, "{:?} {:?}", a, b);
                }
            }
        }
        // Every data path can run the routes that it got.
        let (by_bpf, _) = part(&routes, &placed, DataPath::Bpf);
        prop_assert!(lacks != 1 || by_bpf.routes.is_empty());
        prop_assert_eq!(bpf::survey(&by_bpf, &interfaces(), &machine.interfaces), vec![]);
        for route in &by_bpf.routes {
            prop_assert!(route.from.iter().chain(&route.to).all(|port| port.0 < 4));
        }
        let (by_can_gw, _) = part(&routes, &placed, DataPath::CanGw);
        prop_assert!(lacks != 2 || by_can_gw.routes.is_empty());
        if !by_can_gw.routes.is_empty() {
            prop_assert!(route::cangw::rules(&by_can_gw, &interfaces()).is_ok());
        }
        // Together they are all routes.
        let mut all: Vec<u32> = [DataPath::Bpf, DataPath::CanGw, DataPath::Process]
            .into_iter()
            .flat_map(|place| part(&routes, &placed, place).1)
            .map(|id| id.0)
            .collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..routes.routes.len() as u32).collect::<Vec<_>>());
    }
}

/// This process sends no error frames, and a controller would make other frames of them. BPF cannot
/// send into every interface that may appear.
#[test]
fn what_means_something_else_there_runs_elsewhere() {
    let mut errors = route("errors", &[0], &[1]);
    errors.matching.err = TriState::Either;
    let mut virtual_ = route("virtual", &[0], &[2]);
    virtual_.matching.err = TriState::Either;
    let routes = Routes {
        routes: vec![errors, virtual_, route("plain", &[0], &[3])],
        ..Routes::default()
    };
    let chosen = choose(&routes, &interfaces(), &machine());
    let paths: Vec<DataPath> = chosen.iter().map(|choice| choice.data_path).collect();
    assert_eq!(paths, [DataPath::Process, DataPath::Bpf, DataPath::CanGw]);
    let (_, why) = &chosen[2].because[0];
    assert_eq!(
        why,
        "goes to later0, which is missing: it may appear as a vcan, to which bpf sends nothing"
    );
    let (path, why) = &chosen[0].because[0];
    assert_eq!(*path, DataPath::Bpf);
    assert!(why.contains("the controller of can1"), "{why}");
}

/// BPF shows frames to local programs only where the driver does.
#[test]
fn an_echo_that_no_driver_makes_is_can_gws() {
    let mut silent = machine();
    for link in &mut silent.interfaces {
        link.echo = false;
    }
    let mut echoes = route("echoes", &[0], &[1]);
    echoes.echo = true;
    let routes = Routes {
        routes: vec![echoes],
        ..Routes::default()
    };
    for (machine, path) in [(machine(), DataPath::Bpf), (silent, DataPath::CanGw)] {
        let chosen = choose(&routes, &interfaces(), &machine);
        assert_eq!(chosen[0].data_path, path, "{:?}", chosen[0].because);
    }
}
