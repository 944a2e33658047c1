//! Frames and routes for tests, and ports on real descriptors.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

pub mod wire;

use frame::{CanId, Frame};
use route::{PortId, Route, RouteMode, Routes};

/// Returns a frame that carries a number.
pub fn numbered(n: u64) -> Frame {
    let id = CanId::sff((n % 0x7FF) as u32).unwrap();
    Frame::classic(id, &n.to_be_bytes()).unwrap()
}

/// Returns a route that takes all frames.
pub fn route(name: &str, from: &[u16], to: &[u16]) -> Route {
    let ports = |numbers: &[u16]| numbers.iter().copied().map(PortId).collect();
    Route::new(name, ports(from), ports(to))
}

pub fn all(routes: Vec<Route>) -> Routes {
    Routes {
        mode: RouteMode::All,
        max_hops: 1,
        routes,
    }
}
