//! Sequence counters that receivers refuse: behind a rate limit, or of two senders.

use super::RouteReport;
use super::flow::{FlowSet, MessageFlow};
use super::probe::{RouteProbe, samples};
use super::protection::{KnownProtections, counter_of, plain};
use config::Severity;
use e2e::{CounterField, ReceptionStatus};
use frame::Nanos;
use route::{PortId, ProtectionCounter, RateLimit, RouteMode};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the numbers of steps from one frame that passes a limit to the next one, the least and
/// the greatest, for frames that come in a cycle. Both are 1 if all frames pass.
///
/// The limit is a token bucket: with a burst of 1, a frame passes as soon as the interval is over;
/// with more, the rest of an interval is saved for later, so that the mean rate is that of the
/// limit.
pub(super) fn limited_steps(limit: &RateLimit, cycle: Nanos) -> (u64, u64) {
    let cycles = u128::from(cycle) * u128::from(limit.frames);
    let per = u128::from(limit.per);
    let least = u64::try_from(per / cycles.max(1))
        .unwrap_or(u64::MAX)
        .max(1);
    let most = u64::try_from(per.div_ceil(cycles.max(1)))
        .unwrap_or(u64::MAX)
        .max(1);
    match limit.burst {
        0 | 1 => (most, most),
        _ => (least, most),
    }
}

/// Returns whether the limit counts the frames of this flow alone.
fn is_limited_alone(limit: &RateLimit, flow: &MessageFlow<'_>, flows: usize) -> bool {
    limit.per_id.is_some() || (flows == 1 && flow.is_named && flow.route.matching.ids.len() == 1)
}

/// Reports protected messages of which a limit leaves every n-th frame; returns the routes and the
/// messages that were reported.
pub(super) fn check_limits(
    flows: &FlowSet<'_>,
    known: &KnownProtections<'_>,
    report: &mut RouteReport<'_>,
) -> BTreeSet<(usize, u32)> {
    let mut reported = BTreeSet::new();
    for (number, flows) in flows.by_limited_route() {
        for flow in &flows {
            let Some(limit) = &flow.route.limit else {
                continue;
            };
            let Some(cycle) = flow.message.cycle.filter(|cycle| *cycle > 0) else {
                continue;
            };
            let (least, most) = limited_steps(limit, cycle);
            let is_alone = is_limited_alone(limit, flow, flows.len()) && !flow.is_conditional();
            if most == 1 || !is_alone || has_own_counter(flow) {
                continue;
            }
            // Events come between the frames of the cycle.
            let is_cyclic = !flow.message.is_on_event();
            let found = match known.find(flow) {
                Some(known) => {
                    let Some(counter) = known.counter() else {
                        continue;
                    };
                    let effect = effect(counter, known.max_delta, least, most);
                    let severity = match effect.is_fatal && known.is_certain() && is_cyclic {
                        true => Severity::Error,
                        false => Severity::Warning,
                    };
                    let name = known.name;
                    let cure = format!(
                        "add `protect = \"{name}\"`, and `counter = \"own\"` to [e2e.{name}]: the frames that are \
                         sent then count up; or raise the limit to the message's rate"
                    );
                    Some((
                        severity,
                        format!("{} ({})", effect.words, known.words()),
                        cure,
                    ))
                }
                None => by_name(flow, least, most),
            };
            let Some((severity, words, cure)) = found else {
                continue;
            };
            let message = format!(
                "`limit` of route `{}` leaves {} of {}, which comes every {}: {words}",
                flow.route.name,
                every(least, most),
                flow.place(),
                duration(cycle)
            );
            report.add(severity, number, message, cure);
            reported.insert((number, flow.message.id.raw()));
        }
    }
    reported
}

/// Returns whether the route sends the message with a counter of its own.
pub(super) fn has_own_counter(flow: &MessageFlow<'_>) -> bool {
    let protect = flow.route.protect.as_ref();
    protect.is_some_and(|protect| protect.counter == ProtectionCounter::Own)
}

/// Returns "every 10th frame", or "every 3rd or 4th frame".
pub(super) fn every(least: u64, most: u64) -> String {
    let nth = |number: u64| {
        let ending = match (number % 10, number % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        format!("{number}{ending}")
    };
    match (least, most) {
        (a, b) if a == b => format!("every {} frame", nth(a)),
        (1, _) => "some frames".to_owned(),
        (a, b) => format!("every {} or {} frame", nth(a), nth(b)),
    }
}

/// Returns a duration in the largest unit in which it is whole.
pub(super) fn duration(time: Nanos) -> String {
    for (unit, word) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "\u{b5}s")] {
        if time.is_multiple_of(unit) {
            return format!("{} {word}", time / unit);
        }
    }
    format!("{time} ns")
}

/// Result of a receiver's check of the counters behind a limit.
struct LimitEffect {
    /// Whether it accepts none of the frames, or none of the frames after the first one.
    is_fatal: bool,
    words: String,
}

fn effect(counter: CounterField, max_delta: u32, least: u64, most: u64) -> LimitEffect {
    let modulus = counter.modulus;
    let of = |steps: u64| ReceptionStatus::from_distance(steps % modulus, max_delta);
    let both = [of(least), of(most)];
    let all = |test: fn(&ReceptionStatus) -> bool| both.iter().all(test);
    let is_repeated = |status: &ReceptionStatus| matches!(status, ReceptionStatus::Repeated);
    if all(is_repeated) {
        return LimitEffect {
            is_fatal: true,
            words: format!(
                "its counter has {modulus} values, so that receivers get the same one for ever and count each \
                 frame as repeated"
            ),
        };
    }
    if all(|status| !status.is_accepted()) {
        return LimitEffect {
            is_fatal: true,
            words: format!(
                "receivers that tolerate a step of {max_delta} (`max_delta`) count each frame as out of sequence"
            ),
        };
    }
    let words = if all(|status| matches!(status, ReceptionStatus::Ok)) {
        format!(
            "its counter has {modulus} values, so that receivers see a perfect sequence and do not notice the \
             lost frames"
        )
    } else if both.iter().any(|status| !status.is_accepted()) {
        format!(
            "receivers that tolerate a step of {max_delta} (`max_delta`) count some frames as out of sequence"
        )
    } else {
        "receivers count lost frames all the time".to_owned()
    };
    LimitEffect {
        is_fatal: false,
        words,
    }
}

/// Finds a counter that is known by its name only. Profiles with four bits use 15 or 16 values.
fn by_name(flow: &MessageFlow<'_>, least: u64, most: u64) -> Option<(Severity, String, String)> {
    let counter = counter_of(flow.message)?;
    let all = 1_u64 << counter.layout.bits;
    let is_multiple = |of: u64| least.is_multiple_of(of) && most.is_multiple_of(of);
    let is_alias = is_multiple(all) || (all == 16 && is_multiple(15));
    let words = format!(
        "{} (line {}) is a sequence counter by its name, and {}",
        counter.name,
        counter.line,
        match is_alias {
            true => "would have the same value for ever",
            false => "receivers that check it notice the steps",
        }
    );
    let cure = "if its receivers check it, describe it in a table [e2e.NAME] with `counter = \"own\"` and add \
                `protect = \"NAME\"`; or raise the limit to the message's rate";
    Some((Severity::Warning, words, cure.to_owned()))
}

/// The messages with one ID at one destination.
pub(super) type LeavingMessages<'f, 'c> = BTreeMap<(PortId, u32), Vec<&'f MessageFlow<'c>>>;

/// Returns the messages by the ports by which they leave, and by the ID that they have then.
pub(super) fn leaving<'f, 'c>(flows: &'f FlowSet<'c>) -> LeavingMessages<'f, 'c> {
    let mut all: LeavingMessages<'f, 'c> = BTreeMap::new();
    let mut probes: BTreeMap<usize, Option<RouteProbe>> = BTreeMap::new();
    for flow in flows.taken() {
        let id = if flow.route.actions.is_empty() {
            plain(flow.message.id)
        } else {
            let probe = probes
                .entry(flow.number)
                .or_insert_with(|| RouteProbe::without_conditions(flow.route));
            let sent = probe.as_mut().and_then(|probe| {
                let mut all = samples(flow.message, flow.route);
                all.find_map(|payload| probe.pass(flow.message, &payload))
            });
            let Some(sent) = sent else { continue };
            plain(sent.id)
        };
        for to in flow.destinations().filter(|to| flows.has_receivers(*to)) {
            let leaving = all.entry((to, id)).or_default();
            leaving.push(flow);
        }
    }
    all
}

/// Reports protected messages that reach a port from two senders, or on two ways; returns the
/// destinations and IDs of which nothing more is to report.
pub(super) fn check_sources(
    flows: &FlowSet<'_>,
    leaving: &LeavingMessages<'_, '_>,
    known: &KnownProtections<'_>,
    report: &mut RouteReport<'_>,
) -> BTreeSet<(PortId, u32)> {
    let mut reported = BTreeSet::new();
    let config = flows.config;
    for ((to, id), all) in leaving {
        let (to, id) = (*to, *id);
        let Some((first, second)) = pair(all, config.routes.mode) else {
            continue;
        };
        // One route with a counter of its own makes one sequence of all.
        if first.number == second.number && has_own_counter(first) {
            reported.insert((to, id));
            continue;
        }
        let Some(known) = known.find(first).or_else(|| known.find(second)) else {
            continue;
        };
        if known.counter().is_none() {
            continue;
        }
        let is_same = first.message.id == second.message.id;
        let is_certain = known.is_certain() && is_same && first.is_certain && second.is_certain;
        let severity = match is_certain {
            true => Severity::Error,
            false => Severity::Warning,
        };
        let name = known.name;
        let message = format!(
            "port `{}` gets {} twice: {} and {}; its receivers see two mixed sequences of counters ({})",
            config.port_name(to),
            second.place(),
            way(flows, first),
            way(flows, second),
            known.words()
        );
        let hint = format!(
            "take it from one port by one route; or make one route of both with `protect = \"{name}\"`, and \
             `counter = \"own\"` in [e2e.{name}]"
        );
        report.add(severity, second.number, message, hint);
        reported.insert((to, id));
    }
    reported
}

/// Returns "from port `a` by route `x`".
pub(super) fn way(flows: &FlowSet<'_>, flow: &MessageFlow<'_>) -> String {
    format!(
        "from port `{}` by route `{}`",
        flows.config.port_name(flow.from),
        flow.route.name
    )
}

/// Returns two flows that both bring frames, if there are: of routes without conditions on the
/// payload, which can exclude each other, and from ports at which the messages come in for certain,
/// or of two routes that both name them.
pub(super) fn pair<'f, 'c>(
    all: &[&'f MessageFlow<'c>],
    mode: RouteMode,
) -> Option<(&'f MessageFlow<'c>, &'f MessageFlow<'c>)> {
    let all: Vec<&MessageFlow<'_>> = (all.iter().copied())
        .filter(|flow| !flow.is_conditional() && (flow.is_certain || flow.is_named))
        .collect();
    let mut pairs = (all.iter().enumerate())
        .flat_map(|(at, first)| all.iter().skip(at + 1).map(move |second| (*first, *second)));
    pairs.find(|(first, second)| {
        // By the first match, a frame takes one route.
        let is_same_frame = second.from == first.from && second.message.id == first.message.id;
        // A route with several ports can have each message from one of them.
        let is_either = second.number == first.number && !(first.is_certain && second.is_certain);
        let is_one = is_same_frame && mode == RouteMode::First;
        !(is_one || is_either)
    })
}
