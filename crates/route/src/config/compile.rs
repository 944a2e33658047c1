//! The routing table of a file's routes.

use crate::{RouteId, Routes, RoutingTable};
use ::config::{Diagnostic, Diagnostics};
use alloc::format;
use core::ops::Range;

/// Compiles the routes between this number of ports. `spans` are
/// [`super::ParsedRoutes::spans`]: errors are reported at the route's place; `None` if there are
/// any.
pub fn compile(
    routes: &Routes,
    ports: usize,
    spans: &[Range<usize>],
    found: &mut Diagnostics,
) -> Option<RoutingTable> {
    let errors = match RoutingTable::compile(routes, ports) {
        Ok(table) => return Some(table),
        Err(errors) => errors,
    };
    for error in errors {
        let place = |id: RouteId| spans.get(usize::try_from(id.0).ok()?).cloned();
        let span = error.route.and_then(place).unwrap_or(0..0);
        let message = match error.route {
            Some(_) => format!("route `{}`: {}", error.name, error.what),
            None => error.what,
        };
        found.push(Diagnostic::error(span, message));
    }
    None
}
