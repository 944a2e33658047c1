//! Warnings about routes that are allowed but probably not intended: routes that interfere with
//! each other, and changes that do more or less than they seem to.

mod maps;

use crate::check::ImpossibleFrame;
use crate::overlap::{DoubledRoutes, UnreachableRoute, overlaps};
use crate::{KindSet, PortId, Route, RouteId, RouteMode, Routes};
use ::config::{Diagnostic, Diagnostics};
use alloc::{format, string::String, vec::Vec};
use core::ops::Range;
use frame::CanId;

/// Maximum number of earlier routes that a warning about a route without effect names.
const NAMED: usize = 3;

/// Warns of routes that no frame reaches, frames that are sent twice, drops that come too late, and
/// changes that stop frames or map IDs unexpectedly. `spans` are [`super::ParsedRoutes::spans`];
/// `ports` are the ports' names. `bus_of` returns the same port for all ports that are on the same
/// bus.
///
/// The routes must be free of mistakes: in a route with mistakes, a missing part would count as
/// intended.
pub fn lint(
    routes: &Routes,
    spans: &[Range<usize>],
    ports: &[String],
    bus_of: &dyn Fn(PortId) -> PortId,
    found: &mut Diagnostics,
) {
    let place = |route: RouteId| spans.get(route.0 as usize).cloned().unwrap_or_default();
    for (id, route) in (0..).map(RouteId).zip(&routes.routes) {
        warn_of_stopped(route, place(id), found);
        maps::warn(route, place(id), found);
    }
    let all = overlaps(routes, bus_of);
    for one in &all.unreachable {
        found.push(unreachable(routes, one, place(one.route)));
    }
    for one in &all.late {
        found.push(late(routes, one, place(one.route)));
    }
    for one in &all.doubled {
        found.push(doubled(routes, ports, *one, place(one.second)));
    }
    if all.incomplete {
        let message = "the routes have too many different masks to compare all of them: routes that no frame \
                       reaches and frames that are sent twice may remain";
        let hint = "join routes by ranges of IDs";
        found.push(Diagnostic::warning(0..0, message).hint(hint));
    }
}

fn name(routes: &Routes, route: RouteId) -> &str {
    let route = routes.routes.get(route.0 as usize);
    route.map_or("", |route| route.name.as_str())
}

/// Returns "route `a`", or "routes `a` and `b`".
fn names(routes: &Routes, all: &[RouteId]) -> String {
    let quoted = |id: &RouteId| format!("`{}`", name(routes, *id));
    let mut named: Vec<String> = all.iter().take(NAMED).map(quoted).collect();
    let more = all.len() - named.len();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let word = if all.len() == 1 { "route" } else { "routes" };
    match named.split_last() {
        Some((last, [])) => format!("{word} {last}"),
        Some((last, first)) => format!("{word} {} and {last}", first.join(", ")),
        None => String::from(word),
    }
}

fn unreachable(routes: &Routes, one: &UnreachableRoute, span: Range<usize>) -> Diagnostic {
    let message = format!("no frame reaches route `{}`", name(routes, one.route));
    let verb = if one.by.len() == 1 { "takes" } else { "take" };
    let hint = format!(
        "{} before it {verb} all its frames; put it before them, or specify which frames they take",
        names(routes, &one.by)
    );
    Diagnostic::warning(span, message).hint(hint)
}

fn late(routes: &Routes, one: &UnreachableRoute, span: Range<usize>) -> Diagnostic {
    let message = format!(
        "route `{}` drops frames that are sent already: with `match = \"all\"`, a drop keeps frames only \
         from the routes behind it",
        name(routes, one.route)
    );
    let hint = format!("put it before {}", names(routes, &one.by));
    Diagnostic::warning(span, message).hint(hint)
}

fn doubled(
    routes: &Routes,
    ports: &[String],
    one: DoubledRoutes,
    span: Range<usize>,
) -> Diagnostic {
    let port = |port: PortId| ports.get(usize::from(port.0)).map_or("", String::as_str);
    let id = CanId::from_raw(one.example);
    let frame = if id.is_err() {
        String::from("an error frame")
    } else {
        format!("frame {id}")
    };
    let message = format!(
        "{frame} from port `{}` is sent twice to port `{}`: by route `{}` and by route `{}`",
        port(one.from),
        port(one.to),
        name(routes, one.first),
        name(routes, one.second)
    );
    let hint = "in [gateway], `match = \"first\"` sends each frame by its first route only, so the special \
                route comes before the general one; or leave these IDs out of one route, such as \
                `id = \"!123\"`";
    debug_assert_eq!(routes.mode, RouteMode::All);
    Diagnostic::warning(span, message).hint(hint)
}

/// Warns of a route that sends some kinds of frame and stops the others, because they would become
/// frames that cannot exist. The warning that XL frames cannot have an EFF ID is given only if
/// `kind` asks for XL frames: without `kind`, a route takes them, too, but they are rare in
/// practice.
fn warn_of_stopped(route: &Route, span: Range<usize>, found: &mut Diagnostics) {
    let ImpossibleFrame { fd, xl, others } = ImpossibleFrame::find(route);
    let KindSet {
        classic,
        fd: takes_fd,
        ..
    } = route.matching.kinds;
    let (message, hint) = if !others {
        // This is an error, which the table reports.
        return;
    } else if fd {
        (
            "stops every FD frame: it would become remote, and CAN FD has no remote frames",
            "`kind = \"classic\"` leaves them to other routes",
        )
    } else if xl && !(classic && takes_fd) {
        (
            "stops every XL frame: its priority has 11 bits, and cannot become an EFF ID",
            "leave \"xl\" out of `kind`, or set an SFF ID (three digits)",
        )
    } else {
        return;
    };
    let message = format!("route `{}` {message}", route.name);
    found.push(Diagnostic::warning(span, message).hint(hint));
}
