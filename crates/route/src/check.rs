//! Checks routes for parts that have no meaning before a table is used, so that a decision needs no
//! checks.

use crate::{
    Action, CompileError, IdSet, KindSet, MAX_ALTERNATIVES, MAX_TESTS, Route, RouteId, Routes,
    match_key::sort, match_key::sorts, protection,
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use frame::{CanId, Kind, dlc};

/// Maximum number of routes in a table.
const ROUTES: usize = 1 << 24;
/// Maximum number of ID filters, each counted for every port of its route. A filter becomes at most
/// 64 entries in each of three indexes of a port, so the number of entries fits into 32 bits.
const FILTERS: usize = 1 << 25;
/// Maximum number of buckets for single IDs: of one route, and of a whole table.
const BUCKETS: u32 = 1 << 16;
const ALL_BUCKETS: u64 = 1 << 22;
/// can-gw's bounds for `max_hops` (`CGW_MIN_HOPS`, `CGW_MAX_HOPS`).
const HOPS: core::ops::RangeInclusive<u8> = 1..=6;

/// Returns all mistakes in the routes.
pub(crate) fn check(routes: &Routes, ports: usize) -> Vec<CompileError> {
    let mut errors = Vec::new();
    let mut whole = |what: String| {
        errors.push(CompileError {
            route: None,
            name: String::new(),
            what,
        });
    };
    if !HOPS.contains(&routes.max_hops) {
        whole(format!(
            "max_hops is {}, but must be 1 to 6",
            routes.max_hops
        ));
    }
    if routes.routes.len() > ROUTES {
        whole(format!("more than {ROUTES} routes"));
    }
    let filters: usize = routes
        .routes
        .iter()
        .map(|route| route.matching.ids.len().saturating_mul(route.from.len()))
        .fold(0, usize::saturating_add);
    if filters > FILTERS {
        whole(format!(
            "{filters} ID filters, each counted once for each port of its route: the maximum is \
             {FILTERS}"
        ));
    }
    let buckets: u64 = routes
        .routes
        .iter()
        .filter_map(|route| route.limit?.per_id)
        .map(u64::from)
        .sum();
    if buckets > ALL_BUCKETS {
        whole(format!(
            "the rate limits keep {buckets} buckets for single IDs: the maximum is {ALL_BUCKETS}; \
             lower their number of IDs"
        ));
    }
    for (at, route) in routes.routes.iter().enumerate() {
        let mut report = |what: String| {
            errors.push(CompileError {
                route: Some(RouteId(at as u32)),
                name: route.name.clone(),
                what,
            });
        };
        check_counts(route, &mut report);
        check_ways(route, ports, &mut report);
        check_match(route, &mut report);
        check_limits(route, routes.max_hops, &mut report);
        check_makes(route, &mut report);
        let longest = longest(route.matching.kinds);
        for action in &route.actions {
            action.check(longest, &mut report);
        }
        protection::check(route, &mut report);
    }
    errors
}

/// Checks that the counts fit into the 16 bits in which the table keeps them.
fn check_counts(route: &Route, report: &mut impl FnMut(String)) {
    let counts = [
        ("destinations", route.to.len()),
        ("changes", route.actions.len()),
        ("payload patterns", route.matching.payload.len()),
    ];
    for (what, count) in counts {
        // One less: a condition on signals counts as one more pattern.
        if count >= usize::from(u16::MAX) {
            report(format!(
                "has {count} {what}; the maximum is {}",
                u16::MAX - 1
            ));
        }
    }
    let Some(when) = &route.matching.when else {
        return;
    };
    let alternatives = &when.alternatives;
    if !(1..=MAX_ALTERNATIVES).contains(&alternatives.len()) {
        report(format!(
            "has a condition of {} alternatives; it must have 1 to {MAX_ALTERNATIVES}",
            alternatives.len()
        ));
    }
    for tests in alternatives {
        if !(1..=MAX_TESTS).contains(&tests.len()) {
            report(format!(
                "has an alternative of {} comparisons; it must have 1 to {MAX_TESTS}",
                tests.len()
            ));
        }
    }
}

fn check_ways(route: &Route, ports: usize, report: &mut impl FnMut(String)) {
    if route.from.is_empty() {
        report("comes from no port: name at least one".to_string());
    }
    for (word, list) in [("from", &route.from), ("to", &route.to)] {
        for port in list {
            if usize::from(port.0) >= ports {
                report(format!(
                    "{word}: there is no port number {}, only {ports} ports",
                    port.0
                ));
            }
        }
        let mut sorted = list.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|two| two[0] == two[1]) {
            report(format!("{word}: names the same port twice; remove one"));
        }
    }
    if route.drop {
        if !route.to.is_empty() {
            report("drops frames and sends them: remove either `drop` or `to`".to_string());
        }
        if !route.actions.is_empty() {
            report("drops frames, so changing them has no effect: remove the changes".to_string());
        }
        if route.limit.is_some() {
            report("drops all frames, so a limit has no effect: remove it".to_string());
        }
    } else if route.to.is_empty() {
        report("goes to no port: name at least one, or let it drop frames".to_string());
    } else if !route.allow_same_port
        && !route.from.is_empty()
        && let [only] = route.to[..]
        && route.from.iter().all(|from| *from == only)
    {
        report(
            "goes only to the port that it comes from: allow that, or name another port"
                .to_string(),
        );
    }
}

fn check_match(route: &Route, report: &mut impl FnMut(String)) {
    for filter in &route.matching.ids {
        match filter.set {
            IdSet::Range { eff, first, last } => {
                if first > last {
                    report(format!("the range {first:X}-{last:X} is reversed"));
                }
                let max = if eff {
                    CanId::EFF_MASK
                } else {
                    CanId::SFF_MASK
                };
                if first > max || last > max {
                    report(format!(
                        "the range {first:X}-{last:X} goes beyond {max:X}, the highest {} ID",
                        if eff { "EFF" } else { "SFF" }
                    ));
                }
            }
            IdSet::Masked { id, mask } => {
                if mask & CanId::ERR_FLAG != 0 && filter.inverted {
                    report(format!(
                        "the filter {id:X}~{mask:X} asks for error frames and is inverted, which \
                         has no meaning: take the error flag out of the mask or the inversion away"
                    ));
                }
            }
        }
    }
    for pattern in &route.matching.payload {
        if pattern.value.is_empty() {
            report(format!(
                "the payload pattern at byte {} names no bytes: give at least one",
                pattern.at
            ));
        } else if pattern.mask.len() != pattern.value.len() {
            report(format!(
                "the payload pattern at byte {} has {} bytes of value and {} of mask: make them \
                 equal",
                pattern.at,
                pattern.value.len(),
                pattern.mask.len()
            ));
        } else if usize::from(pattern.at) + pattern.value.len() > dlc::XL_MAX {
            report(format!(
                "the payload pattern at byte {} ends behind the longest payload, {} bytes",
                pattern.at,
                dlc::XL_MAX
            ));
        }
    }
    if let Some((first, last)) = route.matching.len
        && first > last
    {
        report(format!("the range of lengths {first}-{last} is reversed"));
    }
}

/// The frames of a route that its changes make impossible, so that no bus can carry them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ImpossibleFrame {
    /// The route takes FD frames and makes them remote: it stops them.
    pub(crate) fd: bool,
    /// The route takes XL frames and gives them a flag of the ID: it stops them.
    pub(crate) xl: bool,
    /// The route takes frames to which neither applies.
    pub(crate) others: bool,
}

impl ImpossibleFrame {
    pub(crate) fn find(route: &Route) -> Self {
        let sorts = sorts(route);
        let actions = &route.actions;
        let remote = actions.iter().fold(false, |had, action| action.rtr_of(had));
        let fd = remote && sorts & sort::ANY_FD != 0;
        let xl = sorts & sort::XL != 0 && actions.iter().any(Action::gives_xl_a_flag);
        let stopped = if fd { sort::ANY_FD } else { 0 } | if xl { sort::XL } else { 0 };
        Self {
            fd,
            xl,
            others: sorts & !stopped != 0,
        }
    }
}

/// Reports a route that stops all of its frames, because its changes make them impossible.
fn check_makes(route: &Route, report: &mut impl FnMut(String)) {
    let ImpossibleFrame { fd, xl, others } = ImpossibleFrame::find(route);
    if others {
        return;
    }
    if fd {
        report(
            "makes FD frames remote, and CAN FD has no remote frames: take the RTR flag (40000000) \
             out of `raw_id`, or take classic frames"
                .to_string(),
        );
    }
    if xl {
        report(
            "gives XL frames an EFF ID or a flag, and an XL frame has a priority of 11 bits: name \
             an SFF ID (three digits), or take other kinds of frame"
                .to_string(),
        );
    }
}

fn check_limits(route: &Route, max_hops: u8, report: &mut impl FnMut(String)) {
    if let Some(limit) = route.limit {
        if limit.frames == 0 || limit.per == 0 {
            report(
                "the rate limit allows nothing or needs no time: both frames and time must be \
                 above 0"
                    .to_string(),
            );
        }
        if limit.burst == 0 {
            report("the rate limit's burst is 0: it must be at least 1".to_string());
        }
        if limit.per_id.is_some_and(|ids| ids == 0 || ids > BUCKETS) {
            report(format!(
                "the rate limit keeps 1 to {BUCKETS} IDs, not {}",
                limit.per_id.unwrap_or(0)
            ));
        }
    }
    if let Some(hops) = route.hop_limit
        && (hops == 0 || hops > max_hops)
    {
        report(format!(
            "the hop limit is {hops}, but must be 1 to max_hops, which is {max_hops}"
        ));
    }
}

/// Returns the longest payload among the kinds; if none is set, all count.
const fn longest(kinds: KindSet) -> usize {
    match (kinds.classic, kinds.fd, kinds.xl) {
        (true, false, false) => Kind::Classic.max_len(),
        (_, true, false) => Kind::Fd.max_len(),
        _ => Kind::Xl.max_len(),
    }
}
