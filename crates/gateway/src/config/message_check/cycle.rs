//! Rate limits that drop frames of messages in normal operation.

use super::RouteReport;
use super::flow::{FlowSet, MessageFlow};
use super::sequence::{duration, has_own_counter};
use frame::Nanos;
use route::RateLimit;
use std::collections::{BTreeMap, BTreeSet};

/// Two rates are the same if they differ by less than this share: rates are added as floating-point
/// numbers.
const SAME: f64 = 1e-9;

/// Warns of limits below the rate of the messages that a route takes, by their cycle times.
/// `reported` are the messages of which something worse was reported.
pub(super) fn check(
    flows: &FlowSet<'_>,
    reported: &BTreeSet<(usize, u32)>,
    report: &mut RouteReport<'_>,
) {
    for (number, flows) in flows.by_limited_route() {
        let Some(limit) = flows.first().and_then(|flow| flow.route.limit) else {
            continue;
        };
        // The same message of two ports counts once, unless both certainly have it.
        let mut cycles: BTreeMap<(u16, u32), (&MessageFlow<'_>, Nanos)> = BTreeMap::new();
        for flow in flows {
            let Some(cycle) = flow.message.cycle.filter(|cycle| *cycle > 0) else {
                continue;
            };
            // A route with a counter of its own leaves out frames on purpose.
            let is_reported = reported.contains(&(number, flow.message.id.raw()));
            if is_reported || flow.is_conditional() || has_own_counter(flow) {
                continue;
            }
            let port = if flow.is_certain {
                flow.from.0
            } else {
                u16::MAX
            };
            cycles
                .entry((port, flow.message.id.raw()))
                .or_insert((flow, cycle));
        }
        let all: Vec<(&MessageFlow<'_>, Nanos)> = cycles.into_values().collect();
        match limit.per_id {
            Some(_) => {
                let over = all
                    .iter()
                    .filter(|(_, cycle)| is_over(&limit, rate_of(*cycle)));
                let over: Vec<_> = over.copied().collect();
                if let Some((flow, cycle)) = over.first() {
                    let more = match over.len() {
                        1 => String::new(),
                        count => format!(", and frames of {} more messages", count - 1),
                    };
                    warn(number, flow, &limit, rate_of(*cycle), &more, report, *cycle);
                    continue;
                }
            }
            None => {
                let sum: f64 = all.iter().map(|(_, cycle)| rate_of(*cycle)).sum();
                if is_over(&limit, sum) {
                    warn_of_sum(number, &all, &limit, sum, report);
                    continue;
                }
            }
        }
        warn_of_early_frames(number, &all, &limit, report);
    }
}

/// Returns frames in a second.
fn rate_of(cycle: Nanos) -> f64 {
    1e9 / cycle as f64
}

fn limit_rate(limit: &RateLimit) -> f64 {
    f64::from(limit.frames) * 1e9 / limit.per as f64
}

fn is_over(limit: &RateLimit, rate: f64) -> bool {
    rate > limit_rate(limit) * (1.0 + SAME)
}

/// Returns a rate with at most one place behind the point.
fn per_second(rate: f64) -> String {
    let text = format!("{rate:.1}");
    format!("{}/s", text.strip_suffix(".0").unwrap_or(&text))
}

fn dropped(limit: &RateLimit, rate: f64) -> String {
    let share = (1.0 - limit_rate(limit) / rate) * 100.0;
    match share.round() {
        share if share < 1.0 => "less than 1 % of them are".to_owned(),
        share => format!("about {share} % of them are"),
    }
}

fn cure(rate: f64) -> String {
    format!(
        "raise `limit` above {}, or leave it out; if the receivers need fewer frames, it is right as it is",
        per_second(rate)
    )
}

fn warn(
    number: usize,
    flow: &MessageFlow<'_>,
    limit: &RateLimit,
    rate: f64,
    more: &str,
    report: &mut RouteReport<'_>,
    cycle: Nanos,
) {
    let message = format!(
        "`limit` of route `{}` ({}) is below the rate of {}, which comes every {} ({}): {} dropped in normal operation{more}",
        flow.route.name,
        per_second(limit_rate(limit)),
        flow.place(),
        duration(cycle),
        per_second(rate),
        dropped(limit, rate)
    );
    report.warn(number, message, cure(rate));
}

fn warn_of_sum(
    number: usize,
    all: &[(&MessageFlow<'_>, Nanos)],
    limit: &RateLimit,
    sum: f64,
    report: &mut RouteReport<'_>,
) {
    let fastest = all.iter().min_by_key(|(_, cycle)| *cycle);
    let Some((flow, cycle)) = fastest else { return };
    if all.len() == 1 {
        return warn(number, flow, limit, sum, "", report, *cycle);
    }
    let message = format!(
        "`limit` of route `{}` ({}) is below the rate of its {} cyclic messages, together {}: {} dropped in \
         normal operation; the fastest one is {}, every {}",
        flow.route.name,
        per_second(limit_rate(limit)),
        all.len(),
        per_second(sum),
        dropped(limit, sum),
        flow.place(),
        duration(*cycle)
    );
    let hint = format!("{}; with `per_id = true`, each ID has the limit", cure(sum));
    report.warn(number, message, hint);
}

/// Warns of a limit that is exactly the rate of a message: without a burst, it drops each frame
/// that comes earlier than its cycle, as frames on a bus do after one that had to wait.
fn warn_of_early_frames(
    number: usize,
    all: &[(&MessageFlow<'_>, Nanos)],
    limit: &RateLimit,
    report: &mut RouteReport<'_>,
) {
    if limit.burst > 1 || (limit.per_id.is_none() && all.len() > 1) {
        return;
    }
    let exact = all
        .iter()
        .find(|(_, cycle)| u128::from(*cycle) * u128::from(limit.frames) == u128::from(limit.per));
    if let Some((flow, cycle)) = exact {
        let message = format!(
            "`limit` of route `{}` is exactly the rate of {}, which comes every {}: a frame that comes a little \
             early, after one that had to wait for the bus, is dropped",
            flow.route.name,
            flow.place(),
            duration(*cycle)
        );
        let hint = format!(
            "allow a burst: `limit = {{ rate = \"{}\", burst = 2 }}`",
            per_second(limit_rate(limit))
        );
        report.warn(number, message, hint);
    }
}
