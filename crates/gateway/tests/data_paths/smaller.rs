//! Reduction of a failing case to the smallest one that still fails.

use crate::case::{Arrival, Case};
use crate::wire::frame;
use frame::Kind;
use route::{Action, FrameMatch, Modify, Route, RouteMode, TriState};

/// Returns the smallest case found, and its error. Calls `wrong` at most `budget` times.
pub(crate) fn least(
    mut case: Case,
    mut why: String,
    mut budget: u32,
    mut wrong: impl FnMut(&Case) -> Option<String>,
) -> (Case, String) {
    'smaller: loop {
        for smaller in candidates(&case) {
            if budget == 0 {
                return (case, why);
            }
            budget -= 1;
            if let Some(still) = wrong(&smaller) {
                (case, why) = (smaller, still);
                continue 'smaller;
            }
        }
        return (case, why);
    }
}

/// Returns smaller cases, those that are much smaller first.
fn candidates(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let count = case.arrivals.len();
    // Frames first: the table can stay loaded for that.
    let mut part = count / 2;
    while part > 0 {
        for start in (0..count).step_by(part) {
            let mut less = case.clone();
            less.arrivals.drain(start..(start + part).min(count));
            all.push(less);
        }
        part /= 2;
    }
    if count == 1 {
        for arrival in simpler_arrivals(&case.arrivals[0]) {
            let mut less = case.clone();
            less.arrivals[0] = arrival;
            all.push(less);
        }
    }
    for at in 0..case.routes.routes.len() {
        let mut less = case.clone();
        less.routes.routes.remove(at);
        all.push(less);
    }
    for (at, route) in case.routes.routes.iter().enumerate() {
        for simpler in simpler_routes(route) {
            let mut less = case.clone();
            less.routes.routes[at] = simpler;
            all.push(less);
        }
    }
    for change in [
        (|case| case.tap = false) as fn(&mut Case),
        |case| case.exact = false,
        |case| case.routes.mode = RouteMode::All,
    ] {
        all.push(with(case, change));
    }
    all.retain(|less| less != case && has_a_meaning(less));
    all
}

fn with<T: Clone>(whole: &T, change: impl FnOnce(&mut T)) -> T {
    let mut changed = whole.clone();
    change(&mut changed);
    changed
}

fn has_a_meaning(case: &Case) -> bool {
    route::RoutingTable::compile(&case.routes, crate::case::PORTS).is_ok()
}

fn simpler_routes(route: &Route) -> Vec<Route> {
    let mut all = Vec::new();
    for at in 0..route.actions.len() {
        all.push(with(route, |route| drop(route.actions.remove(at))));
    }
    for ports in
        [|route| &mut route.from, |route| &mut route.to] as [fn(&mut Route) -> &mut Vec<_>; 2]
    {
        let count = ports(&mut route.clone()).len();
        for at in (0..count).filter(|_| count > 1) {
            all.push(with(route, |route| {
                ports(route).remove(at);
            }));
        }
    }
    for at in 0..route.matching.ids.len() {
        all.push(with(route, |route| {
            route.matching.ids.remove(at);
        }));
    }
    for change in [
        (|route| {
            route.matching = FrameMatch {
                kinds: route.matching.kinds,
                ..FrameMatch::default()
            }
        }) as fn(&mut Route),
        |route| route.matching.payload.clear(),
        |route| route.matching.len = None,
        |route| route.matching.rtr = TriState::Either,
        |route| route.matching.err = TriState::No,
        |route| route.matching.kinds.fd &= !route.matching.kinds.classic,
        |route| route.limit = None,
        |route| route.hop_limit = None,
        |route| route.allow_same_port = false,
    ] {
        all.push(with(route, change));
    }
    for (at, action) in route.actions.iter().enumerate() {
        if let Action::Modify(modify) = action {
            for change in [
                (|modify| modify.id = None) as fn(&mut Modify),
                |modify| modify.len = None,
                |modify| modify.flags = None,
                |modify| modify.data = None,
            ] {
                let action = Action::Modify(with(modify, change));
                all.push(with(route, |route| route.actions[at] = action));
            }
        }
    }
    all
}

fn simpler_arrivals(arrival: &Arrival) -> Vec<Arrival> {
    let view = arrival.frame.view();
    let (header, data) = (view.header(), view.data());
    let make = |kind: Kind, len: usize, flags: u8, dlc: u8, data: &[u8]| {
        let mut bytes = data.to_vec();
        bytes.resize(64, 0);
        let len = len.min(kind.max_len());
        Arrival {
            frame: frame(kind, header.id().raw(), len, flags, dlc, &bytes),
            port: arrival.port,
            after: 0,
        }
    };
    let (kind, len, flags, dlc) = (
        header.kind(),
        header.len(),
        header.flags(),
        header.len8_dlc(),
    );
    vec![
        make(Kind::Classic, len, 0, 0, data),
        make(kind, 0, flags, 0, data),
        make(kind, len / 2, flags, 0, data),
        make(kind, len.saturating_sub(1), flags, 0, data),
        make(kind, len, 0, dlc, data),
        make(kind, len, flags, 0, data),
        make(kind, len, flags, dlc, &[]),
        make(kind, len, flags, dlc, data),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::strategy::{Strategy as _, ValueTree as _};
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    /// "Wrong" are frames of four bytes and more that match a route which changes something.
    #[test]
    fn what_is_left_is_what_it_needs() {
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let wrong = |case: &Case| {
            let long = case.arrivals.iter().any(|a| a.frame.view().len() >= 4);
            let mut routes = case.routes.routes.iter();
            (long && routes.any(|route| !route.actions.is_empty())).then(|| "wrong".to_owned())
        };
        let mut met = 0;
        for _ in 0..12 {
            let case = crate::draw::case(20)
                .new_tree(&mut runner)
                .unwrap()
                .current();
            let Some(why) = wrong(&case) else { continue };
            met += 1;
            let (least, _) = least(case, why, 10_000, wrong);
            let [arrival] = &least.arrivals[..] else {
                panic!("{least:#?}")
            };
            let [route] = &least.routes.routes[..] else {
                panic!("{least:#?}")
            };
            assert_eq!(arrival.frame.view().len(), 4);
            assert_eq!((route.from.len(), route.to.len()), (1, 1));
            assert_eq!((route.actions.len(), route.matching.ids.len()), (1, 0));
            assert!(!least.tap && !least.exact && least.routes.mode == RouteMode::All);
        }
        assert!(met > 4, "{met}");
    }
}
