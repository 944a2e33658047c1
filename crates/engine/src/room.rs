//! The destinations in which a port's frames may need room.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use route::{PortId, RouteMode, Routes};

/// A destination of a port, according to the routes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Destination {
    /// Index of the destination.
    pub(crate) port: usize,
    /// Maximum number of copies of one frame that it may be offered. At least 1.
    pub(crate) copies: usize,
}

/// Returns the possible destinations of each port's frames.
pub(crate) fn destinations(routes: &Routes, ports: usize) -> Vec<Vec<Destination>> {
    let mut copies: BTreeMap<(PortId, PortId), usize> = BTreeMap::new();
    for route in &routes.routes {
        for &from in &route.from {
            for &to in &route.to {
                let count = copies.entry((from, to)).or_default();
                *count = match routes.mode {
                    RouteMode::All => *count + 1,
                    RouteMode::First => 1,
                };
            }
        }
    }
    let mut all: Vec<Vec<Destination>> = (0..ports).map(|_| Vec::new()).collect();
    for ((from, to), copies) in copies {
        if let Some(destinations) = all.get_mut(usize::from(from.0)) {
            destinations.push(Destination {
                port: usize::from(to.0),
                copies,
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use route::Route;

    #[test]
    fn routes_that_may_take_one_frame_are_counted_together() {
        let ids = |all: &[u16]| all.iter().map(|&id| PortId(id)).collect::<Vec<_>>();
        let route = |name: &str, from: &[u16], to: &[u16]| Route::new(name, ids(from), ids(to));
        let mut routes = Routes {
            routes: vec![
                route("a", &[0, 1], &[2]),
                route("b", &[0], &[2, 1]),
                route("c", &[0], &[]),
            ],
            ..Routes::default()
        };
        let of = |routes: &Routes| -> Vec<Vec<(usize, usize)>> {
            let all = destinations(routes, 3);
            let pairs = |list: &Vec<Destination>| list.iter().map(|d| (d.port, d.copies)).collect();
            all.iter().map(pairs).collect()
        };
        assert_eq!(of(&routes), [vec![(1, 1), (2, 2)], vec![(2, 1)], vec![]]);
        routes.mode = RouteMode::First;
        assert_eq!(of(&routes), [vec![(1, 1), (2, 1)], vec![(2, 1)], vec![]]);
    }
}
