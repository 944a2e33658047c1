//! The life of a table in BPF: it comes, changes, meets other people's programs and crashes, and
//! goes.
//!
//! Most of it needs a kernel with AF_CAN, vxcan, the programs `ip` and `tc`, and leave to use
//! them. Without them each test says why it is skipped.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "../bpf_common/mod.rs"]
mod bpf_common;

mod anywhere;
mod life;
mod processes;
mod traffic;
mod world;

use route::{IdFilter, IdSet, PortId, Route, Routes};

/// A route for classic frames of one SFF identifier.
fn route(name: &str, id: u32, from: u16, to: u16) -> Route {
    let mut route = Route::new(name, vec![PortId(from)], vec![PortId(to)]);
    route.allow_same_port = from == to;
    route.matching.kinds.xl = false;
    route.matching.ids = vec![IdFilter {
        set: IdSet::Range {
            eff: false,
            first: id,
            last: id,
        },
        inverted: false,
    }];
    route
}

fn routes(routes: Vec<Route>) -> Routes {
    Routes {
        routes,
        ..Routes::default()
    }
}

fn names(names: &[&str]) -> Vec<Option<String>> {
    names.iter().map(|name| Some((*name).to_owned())).collect()
}

/// Writes another ID.
fn set_id(id: u32) -> route::Action {
    route::Action::Modify(route::Modify {
        op: route::ModifyOp::Set,
        id: Some(id),
        len: None,
        flags: None,
        data: None,
    })
}
