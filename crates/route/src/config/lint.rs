//! What is allowed and hardly meant: routes that no frame can reach.

use crate::check::Impossible;
use crate::{KindSet, Mode, PortId, Route, Routes, Tri};
use ::config::{Diagnostic, Diagnostics};
use alloc::{collections::BTreeMap, format};
use core::ops::Range;

/// Warns of routes that come after one that takes everything from their ports and ends the
/// search: any route in first-match mode, one that drops in all-match mode. `spans` are
/// [`super::Parsed::spans`].
pub fn lint(routes: &Routes, spans: &[Range<usize>], found: &mut Diagnostics) {
    let mut taken: BTreeMap<PortId, Taken> = BTreeMap::new();
    for (index, route) in routes.routes.iter().enumerate() {
        if let Some(by) = covered(route, &taken) {
            let span = spans.get(index).cloned().unwrap_or_default();
            let message = format!("no frame reaches route `{}`", route.name);
            let catcher = routes.routes.get(by).map_or("", |r| r.name.as_str());
            let hint = format!(
                "route `{catcher}` before it takes them all; put it last, or say which frames it \
                 takes"
            );
            found.push(Diagnostic::warning(span, message).hint(hint));
        }
        warn_of_stopped(route, spans.get(index).cloned().unwrap_or_default(), found);
        let ends = route.drop || routes.mode == Mode::First;
        if ends && takes_all(route) {
            for port in &route.from {
                let taken = taken.entry(*port).or_default();
                let kinds = route.matching.kinds;
                for (has, by) in [
                    (kinds.classic, &mut taken.classic),
                    (kinds.fd, &mut taken.fd),
                    (kinds.xl, &mut taken.xl),
                    (
                        kinds.classic && route.matching.err == Tri::Either,
                        &mut taken.errors,
                    ),
                ] {
                    if has && by.is_none() {
                        *by = Some(index);
                    }
                }
            }
        }
    }
}

/// Warns of a route that sends some kinds of frame and stops the others, because they would become
/// frames that cannot exist. That XL frames cannot have an EFF ID is said only where they are asked
/// for: without `kind`, a route takes them, too, and hardly anybody has them.
fn warn_of_stopped(route: &Route, span: Range<usize>, found: &mut Diagnostics) {
    let Impossible { fd, xl, others } = Impossible::of(route);
    let KindSet {
        classic,
        fd: takes_fd,
        ..
    } = route.matching.kinds;
    let (message, hint) = if !others {
        // An error, which the table says.
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

/// Which route took all frames of a kind from a port.
#[derive(Default)]
struct Taken {
    classic: Option<usize>,
    fd: Option<usize>,
    xl: Option<usize>,
    errors: Option<usize>,
}

fn takes_all(route: &Route) -> bool {
    let m = &route.matching;
    m.ids.is_empty()
        && m.rtr == Tri::Either
        && m.err != Tri::Yes
        && m.payload.is_empty()
        && m.len.is_none()
}

/// The route that takes everything this one could, if all its ports and kinds are taken.
fn covered(route: &Route, taken: &BTreeMap<PortId, Taken>) -> Option<usize> {
    let KindSet { classic, fd, xl } = route.matching.kinds;
    let err = route.matching.err;
    let mut by = None;
    for port in &route.from {
        let taken = taken.get(port)?;
        let needed = [
            (classic && err != Tri::Yes, taken.classic),
            (classic && err != Tri::No, taken.errors),
            (fd && err != Tri::Yes, taken.fd),
            (xl && err != Tri::Yes, taken.xl),
        ];
        for (needs, route) in needed {
            if needs {
                by = Some(route?);
            }
        }
    }
    by
}
