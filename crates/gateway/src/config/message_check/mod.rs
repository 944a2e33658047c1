//! Mistakes of routes that the databases show: frames that their receivers refuse, lose or never
//! get.
//!
//! Each rule has a file. A mistake that is certain is an error, one that is possible a warning;
//! both are at the route, and name the message with the file and the line of its database.

mod cycle;
mod doubled;
mod fits;
mod flow;
mod overwrite;
mod parts;
mod probe;
mod protection;
mod sequence;
mod stale;
mod whole;

#[cfg(test)]
mod tests;

use super::GatewayConfig;
use config::{Diagnostic, Diagnostics, Severity};
use flow::FlowSet;
use protection::KnownProtections;
use std::ops::Range;

/// Reports what the databases show about the routes. `spans` are the places of the routes in the
/// file.
pub(super) fn report(config: &GatewayConfig, spans: &[Range<usize>], found: &mut Diagnostics) {
    let mut report = RouteReport { spans, found };
    for (number, route) in config.routes.routes.iter().enumerate() {
        overwrite::check(number, route, &mut report);
    }
    let flows = FlowSet::new(config);
    if flows.is_cut {
        let message =
            "the databases have too many messages for so many routes: not all of them are checked";
        let hint = "give the routes `id`, so that each takes fewer messages";
        report
            .found
            .push(Diagnostic::warning(0..0, message).hint(hint));
    }
    let known = KnownProtections::new(&flows);
    stale::check(&flows, &known, &mut report);
    let aliased = sequence::check_limits(&flows, &known, &mut report);
    cycle::check(&flows, &aliased, &mut report);
    let leaving = sequence::leaving(&flows);
    let mixed = sequence::check_sources(&flows, &leaving, &known, &mut report);
    let mixed = whole::check_sources(&flows, &leaving, mixed, &mut report);
    doubled::check(&flows, &leaving, &mixed, &mut report);
    fits::check(&flows, &mut report);
    whole::check(&flows, &mut report);
    parts::check(config, &mut report);
}

/// The diagnostics, by the routes at which they are.
struct RouteReport<'a> {
    spans: &'a [Range<usize>],
    found: &'a mut Diagnostics,
}

impl RouteReport<'_> {
    /// Adds a diagnostic at the route with this index.
    fn add(
        &mut self,
        severity: Severity,
        route: usize,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let span = self.spans.get(route).cloned().unwrap_or_default();
        let diagnostic = match severity {
            Severity::Error => Diagnostic::error(span, message),
            Severity::Warning => Diagnostic::warning(span, message),
        };
        self.found.push(diagnostic.hint(hint));
    }

    /// Adds a warning.
    fn warn(&mut self, route: usize, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Severity::Warning, route, message, hint);
    }
}
