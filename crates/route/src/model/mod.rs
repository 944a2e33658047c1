//! What a user asks for: the routes as they stand in `gateway.toml`, resolved but not compiled.

mod matching;
mod number;
mod route;

pub use matching::{IdFilter, IdSet, KindSet, Match, PayloadPattern, Tri};
pub use number::{Mode, PortId, RouteId};
pub use route::{RateLimit, Route, Routes};
