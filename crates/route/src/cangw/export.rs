//! Conversion of routes to a script of cangw lines.

use super::{CanGwRule, filter, import::is_counters};
use crate::check::ImpossibleFrame;
use crate::match_key::sort;
use crate::match_key::sorts;
use crate::operations::cangw::RulePart;
use crate::{Action, IdFilter, IdSet, KernelPort, PortId, Route, RouteId, RouteMode, Routes};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use core::fmt::{self, Write as _};

/// A route that can-gw cannot express, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CanGwInexpressible {
    /// The route, or `None` if the reason concerns the routes as a whole.
    pub route: Option<RouteId>,
    /// The route's name; empty if the reason concerns all routes.
    pub name: String,
    /// The feature for which can-gw has no rule.
    pub why: String,
}

impl fmt::Display for CanGwInexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.route.is_some() {
            write!(f, "route `{}`: {}", self.name, self.why)
        } else {
            f.write_str(&self.why)
        }
    }
}

impl core::error::Error for CanGwInexpressible {}

/// The beginning of a script. `cangate run` adds the two flags itself: it knows the interfaces.
const HEADER: &str = "\
#!/bin/sh
# can-gw tries the newest rule first: the last line is tried first.
# Add -e to a rule into a vcan: otherwise no program receives its frames.
# Add -i to a rule if frames reach it from another network namespace (vxcan): otherwise can-gw drops
# those whose first interface has the number of the destination.
";

/// Returns a shell script of cangw lines that does exactly what the routes do. It contains the
/// [`rules`], with the rule that is tried first on the last line. Each line ends with its route's
/// name as a comment.
///
/// # Errors
/// As [`rules`].
pub fn export(
    routes: &Routes,
    ports: &[Option<KernelPort>],
) -> Result<String, Vec<CanGwInexpressible>> {
    let rules = rules(routes, ports)?;
    let mut script = String::from(HEADER);
    if routes.max_hops != 1 {
        // Writing into a string cannot fail.
        let _ = writeln!(script, "modprobe can-gw max_hops={}", routes.max_hops);
    }
    for (id, rule) in rules.iter().rev() {
        let route = routes.routes.get(id.0 as usize);
        script.push_str(&line(rule, route.map_or("", |route| &route.name)));
        script.push('\n');
    }
    Ok(script)
}

/// Returns the rules that do exactly what the routes do, in the order in which can-gw must try
/// them, each with its route. `ports` are by [`PortId`]; `None` for a port that is not a Linux
/// interface.
///
/// A route with several ports, or with classic and FD frames, becomes several rules. There is no
/// rule for FD frames if they do not pass one of its two ports.
///
/// # Errors
/// Every route that can-gw cannot express, with the first reason.
pub fn rules(
    routes: &Routes,
    ports: &[Option<KernelPort>],
) -> Result<Vec<(RouteId, CanGwRule)>, Vec<CanGwInexpressible>> {
    let mut errors = Vec::new();
    errors.extend(whole(routes));
    let mut all = Vec::new();
    for (index, route) in (0..).zip(&routes.routes) {
        let id = RouteId(index);
        match express(route, ports) {
            Ok(rules) => all.extend(rules.into_iter().map(|rule| (id, rule))),
            Err(why) => errors.push(CanGwInexpressible {
                route: Some(id),
                name: route.name.clone(),
                why,
            }),
        }
    }
    if errors.is_empty() {
        Ok(all)
    } else {
        Err(errors)
    }
}

/// Returns the rules of one of the routes, for callers that run each route where it runs best. The
/// caller is responsible for the order relative to the other routes.
///
/// # Errors
/// The reason why can-gw cannot express it, or cannot express any of these routes (their
/// [`mode`](Routes::mode)).
pub fn rules_of(
    routes: &Routes,
    id: RouteId,
    ports: &[Option<KernelPort>],
) -> Result<Vec<CanGwRule>, CanGwInexpressible> {
    if let Some(why) = whole(routes) {
        return Err(why);
    }
    let Some(route) = routes.routes.get(id.0 as usize) else {
        return Ok(Vec::new());
    };
    express(route, ports).map_err(|why| CanGwInexpressible {
        route: Some(id),
        name: route.name.clone(),
        why,
    })
}

/// Returns the reason why can-gw can have none of the routes.
fn whole(routes: &Routes) -> Option<CanGwInexpressible> {
    (routes.mode == RouteMode::First).then(|| CanGwInexpressible {
        route: None,
        name: String::new(),
        why: "only the first route that matches counts (`match = \"first\"`), and in can-gw \
              all rules count"
            .into(),
    })
}

/// Returns the rules that a route needs, in the order in which can-gw must try them.
fn express(route: &Route, ports: &[Option<KernelPort>]) -> Result<Vec<CanGwRule>, String> {
    if route.drop {
        return Err("it drops frames, and a rule only forwards".into());
    }
    if route.limit.is_some() {
        return Err("it limits the rate".into());
    }
    if route.verify.is_some() || route.protect.is_some() {
        return Err("it checks or writes an end-to-end protection".into());
    }
    let matching = &route.matching;
    if !matching.payload.is_empty() {
        return Err("it looks at the payload".into());
    }
    if matching.when.is_some() {
        return Err("it has a condition on signals (`when`)".into());
    }
    if matching.len.is_some() {
        return Err("it looks at the length".into());
    }
    if matching.kinds.xl {
        return Err("it takes XL frames too: write `kind = \"classic\"`, `\"fd\"` or both".into());
    }
    let filter = filter::join(matching)?;
    let mut rules = Vec::new();
    for (wanted, fd) in [(matching.kinds.classic, false), (matching.kinds.fd, true)] {
        let pairs = pairs(route, ports, fd);
        if !wanted || pairs.is_empty() {
            continue;
        }
        if fd && ImpossibleFrame::find(route).fd {
            return Err(
                "it would make FD frames remote; this stops them, and can-gw would send them: say \
                 `kind = \"classic\"`"
                    .into(),
            );
        }
        let mut rule = changes(&route.actions, fd)?;
        let flagged = sort::ANY_RTR | sort::ANY_ERR;
        let has_flags = !fd && sorts(route) & sort::ANY_CLASSIC & flagged != 0;
        Action::id_with_flags(&mut rule.changes, has_flags);
        rule.filter = filter;
        rule.echo = route.echo;
        rule.stamp = route.keep_stamp;
        rule.same_port = route.allow_same_port;
        rule.hops = route.hop_limit;
        for (from, to) in pairs {
            let mut rule = rule.clone();
            interface(from, ports)?.clone_into(&mut rule.source);
            interface(to, ports)?.clone_into(&mut rule.destination);
            rules.push(rule);
        }
    }
    Ok(rules)
}

/// Returns the ports between which a route has a rule for classic or for FD frames.
fn pairs(route: &Route, ports: &[Option<KernelPort>], fd: bool) -> Vec<(PortId, PortId)> {
    let passes = |id: PortId| match ports.get(usize::from(id.0)) {
        Some(Some(port)) => port.fd || !fd,
        _ => true,
    };
    let mut pairs = Vec::new();
    for from in &route.from {
        for to in &route.to {
            // Without -i a rule back to its own port never sends a frame.
            let goes = from != to || route.allow_same_port;
            if goes && passes(*from) && passes(*to) {
                pairs.push((*from, *to));
            }
        }
    }
    pairs
}

fn interface(id: PortId, ports: &[Option<KernelPort>]) -> Result<&str, String> {
    KernelPort::interface_of(ports, id).ok_or_else(|| {
        format!(
            "its port number {} is not a Linux interface",
            usize::from(id.0) + 1
        )
    })
}

/// Returns the actions as parts of a rule.
fn changes(actions: &[Action], fd: bool) -> Result<CanGwRule, String> {
    let mut rule = CanGwRule {
        fd,
        ..CanGwRule::default()
    };
    let mut reached = None;
    for action in actions {
        let part = action.rule_part()?;
        if reached.is_some_and(|reached| part <= reached) {
            return Err(
                "its changes are not in can-gw's order, each at most once: and, or, xor, set, \
                 crc8, xor_sum"
                    .into(),
            );
        }
        reached = Some(part);
        rule.changes.extend(action.for_rule(fd)?);
    }
    check_sums(&rule)?;
    Ok(rule)
}

fn check_sums(rule: &CanGwRule) -> Result<(), String> {
    let is_sum = |change: &&Action| matches!(change.rule_part(), Ok(RulePart::Checksum(_)));
    let mut sums = rule.changes.iter().filter(is_sum).peekable();
    if sums.peek().is_none() {
        return Ok(());
    }
    if !rule.modifies() {
        return Err(
            "it computes a checksum and modifies nothing, and can-gw then leaves the checksum \
             out: `{ or = { len = 0 } }` in front is a modification that changes nothing"
                .into(),
        );
    }
    let size = rule.size();
    if sums.any(|sum| sum.reach() > size) {
        return Err(format!(
            "a checksum reaches beyond the {size} bytes of a frame"
        ));
    }
    Ok(())
}

/// Returns one cangw line, as `cangw -L` would print it.
pub(super) fn line(rule: &CanGwRule, name: &str) -> String {
    let mut text = format!("cangw -A {rule}");
    // When the script is read again, such a name would be mistaken for the counters of `cangw -L`.
    if !is_counters(name) {
        text.push_str(" # ");
        text.push_str(name);
    }
    text
}

impl fmt::Display for CanGwRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "-s {} -d {}",
            quoted(&self.source),
            quoted(&self.destination)
        )?;
        for (set, option) in [
            (self.fd, " -X"),
            (self.echo, " -e"),
            (self.stamp, " -t"),
            (self.same_port, " -i"),
        ] {
            if set {
                f.write_str(option)?;
            }
        }
        if let Some(hops) = self.hops {
            write!(f, " -l {hops}")?;
        }
        if let Some(filter) = &self.filter {
            f.write_str(&filter_text(filter))?;
        }
        for change in &self.changes {
            f.write_str(&change.options(self.fd))?;
        }
        Ok(())
    }
}

/// Returns an interface's name, in quotes if it contains characters that the shell would interpret.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.@+,".contains(c);
    if name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}

fn filter_text(filter: &IdFilter) -> String {
    match filter.set {
        IdSet::Masked { id, mask } => {
            let sign = if filter.inverted { '~' } else { ':' };
            format!(" -f {id:03X}{sign}{mask:X}")
        }
        // `filter::of` returns only masks.
        IdSet::Range { .. } => String::new(),
    }
}
