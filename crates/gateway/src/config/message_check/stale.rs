//! Checksums that a route makes stale: it changes what they cover, and writes no new one.

use super::RouteReport;
use super::flow::{FlowSet, MessageFlow};
use super::probe::{ProbedFrame, RouteProbe, SAMPLES, samples};
use super::protection::{
    KnownProtection, KnownProtections, bits_of, checksum_of, plain, signals_in,
};
use config::Severity;
use e2e::{CounterSource, Protection, SendingCounter};
use route::{Action, Route};
use std::collections::BTreeSet;

/// The number of payloads that show which bytes the actions change, where the rule of the checksum
/// is not known. Each changed bit differs in half of them.
const NAME_SAMPLES: usize = 16;

/// A stale checksum.
struct StaleSum {
    severity: Severity,
    /// The change, in words between "route `x`" and "of" the message.
    change: String,
    /// The effect, in words that follow "and".
    effect: String,
    hint: String,
}

/// Reports routes that make checksums stale; one diagnostic for each route.
pub(super) fn check(
    flows: &FlowSet<'_>,
    known: &KnownProtections<'_>,
    report: &mut RouteReport<'_>,
) {
    for (number, flows) in flows.by_route() {
        let Some(first) = flows.first() else { continue };
        if first.route.actions.is_empty() || first.route.protect.is_some() {
            continue;
        }
        let mut all: Vec<(&MessageFlow<'_>, StaleSum)> = Vec::new();
        for flow in flows {
            let stale = match known.find(flow) {
                Some(known) => by_protection(flow, &known),
                None => by_names(flow),
            };
            all.extend(stale.map(|stale| (flow, stale)));
        }
        // An error is reported, rather than a warning about another message.
        all.sort_by_key(|(_, stale)| std::cmp::Reverse(stale.severity));
        let Some((flow, stale)) = all.first() else {
            continue;
        };
        let mut more: Vec<&str> = Vec::new();
        for (flow, _) in all.iter().skip(1) {
            let name = flow.message.name.as_str();
            // A message of several ports is there once for each of them, one after the other.
            if more.last() != Some(&name) {
                more.push(name);
            }
        }
        let more = match more.is_empty() {
            true => String::new(),
            false => format!("; the same of {}", crate::config::in_short(&more)),
        };
        let message = format!(
            "route `{}` {} of {} and {}{more}",
            flow.route.name,
            stale.change,
            flow.place(),
            stale.effect
        );
        report.add(stale.severity, number, message, stale.hint.clone());
    }
}

/// A frame with a right checksum, and what the route makes of it.
struct Witness {
    before: Vec<u8>,
    after: ProbedFrame,
    is_stale: bool,
    counter: Option<u32>,
}

/// Sends frames with right checksums through the route.
fn witnesses(
    flow: &MessageFlow<'_>,
    protection: &Protection,
    probe: &mut RouteProbe,
) -> Vec<Witness> {
    let id = flow.message.id;
    let mut all = Vec::new();
    for (number, mut before) in (0..).zip(samples(flow.message, flow.route)) {
        let counter = &mut SendingCounter::from_value(number);
        if protection
            .protect(id, &mut before, CounterSource::Own(counter))
            .is_err()
        {
            continue;
        }
        if let Some(after) = probe.pass(flow.message, &before) {
            let verified = protection.verify(after.id, &after.payload);
            all.push(Witness {
                before,
                is_stale: verified.is_err(),
                counter: verified.ok().flatten(),
                after,
            });
        }
    }
    all
}

fn by_protection(flow: &MessageFlow<'_>, known: &KnownProtection<'_>) -> Option<StaleSum> {
    let protection = &known.protection;
    let mut all = witnesses(flow, protection, &mut RouteProbe::new(flow.route)?);
    let mut is_certain = known.is_certain();
    if all.is_empty() && flow.is_conditional() {
        // No frame was found that meets the conditions: what the route would do without them.
        is_certain = false;
        all = witnesses(
            flow,
            protection,
            &mut RouteProbe::without_conditions(flow.route)?,
        );
    }
    let severity = match is_certain {
        true => Severity::Error,
        false => Severity::Warning,
    };
    let name = known.name;
    let cure = format!(
        "add `protect = \"{name}\"` to the route: it writes the checksum after all actions"
    );
    if let Some(stale) = all.iter().find(|one| one.is_stale) {
        let change = change_words(flow, protection, &all, stale);
        let why = match sum_action(flow.route, protection, flow, stale) {
            SumAction::None => "receivers that check it refuse the frames",
            SumAction::Other => "the one that its actions write has another rule",
            SumAction::Early => "its actions change the frame again behind the checksum",
        };
        let effect = format!("leaves a wrong checksum: {why} ({})", known.words());
        return Some(StaleSum {
            severity,
            change,
            effect,
            hint: cure,
        });
    }
    // The checksum is right, but each frame has the same counter.
    let counters: BTreeSet<Option<u32>> = all.iter().map(|one| one.counter).collect();
    if protection.counter_field().is_some() && all.len() > SAMPLES / 2 && counters.len() == 1 {
        return Some(StaleSum {
            severity,
            change: "writes the same sequence counter into all frames".to_owned(),
            effect: format!(
                "a right checksum: receivers that check it count each frame as repeated ({})",
                known.words()
            ),
            hint: format!(
                "add `protect = \"{name}\"`, and `counter = \"own\"` to [e2e.{name}]; or leave the counter as it is"
            ),
        });
    }
    None
}

/// Returns what the route changes, in words.
fn change_words(
    flow: &MessageFlow<'_>,
    protection: &Protection,
    all: &[Witness],
    stale: &Witness,
) -> String {
    let len = flow.message.len;
    if protection.reads_id() && plain(stale.after.id) != plain(flow.message.id) {
        return "changes the ID, which is in the checksum,".to_owned();
    }
    if stale.after.payload.len() != len && protection.reads_length() {
        return format!(
            "changes the length from {len} to {} bytes, which are in the checksum,",
            stale.after.payload.len()
        );
    }
    let bits = changed_bits(
        len,
        all.iter().map(|one| (&one.before, &one.after.payload)),
        |byte| protection.covered_bits(len, byte),
    );
    match bits.iter().all(|bits| *bits == 0) {
        true => "overwrites the checksum".to_owned(),
        false => format!("changes {}", byte_words(flow, &bits)),
    }
}

/// Returns the bits that differ between payloads before and after, as far as they are in the mask.
fn changed_bits<'a>(
    len: usize,
    pairs: impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>,
    mask: impl Fn(usize) -> u8,
) -> Vec<u8> {
    let mut bits = vec![0; len];
    for (before, after) in pairs {
        for (byte, (a, b)) in before.iter().zip(after).enumerate() {
            if let Some(bits) = bits.get_mut(byte) {
                *bits |= (a ^ b) & mask(byte);
            }
        }
    }
    bits
}

/// Returns the changed bytes and their signals, as `byte 2 (Speed)`.
fn byte_words(flow: &MessageFlow<'_>, bits: &[u8]) -> String {
    let changed = bits.iter().enumerate().filter(|(_, bits)| **bits != 0);
    let bytes: Vec<String> = changed.map(|(byte, _)| byte.to_string()).collect();
    let word = match bytes.len() {
        1 => "byte",
        _ => "bytes",
    };
    let names = signals_in(flow.message, bits);
    let names = match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", crate::config::in_short(&names)),
    };
    format!("{word} {}{names}", crate::config::in_short(&bytes))
}

/// A checksum among the actions.
enum SumAction {
    /// There is none.
    None,
    /// It is not that of the protection.
    Other,
    /// It is right, but a later action changes the frame.
    Early,
}

/// Returns the indices of the actions that write a checksum.
fn sums(route: &Route) -> impl Iterator<Item = usize> {
    let all = route.actions.iter().enumerate();
    all.filter(|(_, action)| is_sum(action)).map(|(at, _)| at)
}

/// Returns whether an action writes a checksum.
fn is_sum(action: &Action) -> bool {
    matches!(action, Action::Crc8(_) | Action::XorSum(_))
}

fn sum_action(
    route: &Route,
    protection: &Protection,
    flow: &MessageFlow<'_>,
    stale: &Witness,
) -> SumAction {
    let mut found = SumAction::None;
    for at in sums(route) {
        found = SumAction::Other;
        let after = first_actions(route, at + 1)
            .and_then(|mut probe| probe.pass(flow.message, &stale.before));
        if after.is_some_and(|after| protection.verify(after.id, &after.payload).is_ok()) {
            return SumAction::Early;
        }
    }
    found
}

/// Compiles the route with the first actions only.
fn first_actions(route: &Route, count: usize) -> Option<RouteProbe> {
    let mut route = route.clone();
    route.actions.truncate(count);
    RouteProbe::without_conditions(&route)
}

/// Finds a checksum that is known by its name only: its rule is not known, so that a checksum
/// behind the last change counts as right, and a change of the ID or the length alone is no reason.
fn by_names(flow: &MessageFlow<'_>) -> Option<StaleSum> {
    let sum = checksum_of(flow.message)?;
    let len = flow.message.len;
    let own = bits_of(sum, len);
    let all = samples(flow.message, flow.route).take(NAME_SAMPLES);
    let all: Vec<Vec<u8>> = all.collect();
    let mut whole = RouteProbe::without_conditions(flow.route)?;
    let after_all: Vec<Option<ProbedFrame>> = (all.iter())
        .map(|payload| whole.pass(flow.message, payload))
        .collect();
    // The action that writes the checksum last, whatever it writes.
    let count = flow.route.actions.len();
    let mut is_early = false;
    let mut later: Vec<(Vec<u8>, Vec<u8>)> = pairs(&all, &after_all);
    let mut after = after_all.clone();
    for at in (1..=count).rev() {
        let mut probe = first_actions(flow.route, at - 1)?;
        let each = all.iter();
        let before: Vec<Option<ProbedFrame>> = each
            .map(|payload| probe.pass(flow.message, payload))
            .collect();
        let writes_sum = before.iter().zip(&after).any(|(before, after)| {
            let both = before.as_ref().zip(after.as_ref());
            both.is_some_and(|(before, after)| {
                let bytes = before.payload.iter().zip(&after.payload).zip(&own);
                bytes.into_iter().any(|((a, b), own)| (a ^ b) & own != 0)
            })
        });
        if writes_sum {
            let action = flow.route.actions.get(at - 1);
            is_early = action.is_some_and(is_sum);
            let after: Vec<Vec<u8>> = after
                .into_iter()
                .flatten()
                .map(|frame| frame.payload)
                .collect();
            if after.len() != all.len() {
                return None;
            }
            later = pairs(&after, &after_all);
            break;
        }
        after = before;
    }
    let bits = changed_bits(len, later.iter().map(|(a, b)| (a, b)), |byte| {
        !own.get(byte).copied().unwrap_or_default()
    });
    if bits.iter().all(|bits| *bits == 0) {
        return None;
    }
    let place = format!("{} (line {})", sum.name, sum.line);
    Some(StaleSum {
        severity: Severity::Warning,
        change: format!("changes {}", byte_words(flow, &bits)),
        effect: match is_early {
            false => format!("does not renew {place}, by its name a checksum"),
            true => format!("does so behind {place}, by its name a checksum"),
        },
        hint: "if its receivers check it, describe it in a table [e2e.NAME] and add `protect = \"NAME\"`; or put \
               a checksum (`crc8`, `xor_sum`) behind the last change"
            .to_owned(),
    })
}

fn pairs(before: &[Vec<u8>], after: &[Option<ProbedFrame>]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let each = before.iter().zip(after);
    each.filter_map(|(before, after)| Some((before.clone(), after.as_ref()?.payload.clone())))
        .collect()
}
