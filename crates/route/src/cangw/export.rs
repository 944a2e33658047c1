//! From routes to a script of cangw lines.

use super::{OPS, Rule, filter, import::is_counters, profile_number};
use crate::{
    Action, Crc8, Crc8Profile, IdFilter, IdSet, Mode, Modify, ModifyOp, PortId, Route, RouteId,
    Routes, XorSum,
};
use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};
use core::fmt::{self, Write as _};
use frame::dlc;

/// A route that can-gw cannot express, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inexpressible {
    /// The route, or `None` where the routes as a whole are meant.
    pub route: Option<RouteId>,
    /// The route's name; empty where all are meant.
    pub name: String,
    /// What can-gw has no rule for.
    pub why: String,
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.route.is_some() {
            write!(f, "route `{}`: {}", self.name, self.why)
        } else {
            f.write_str(&self.why)
        }
    }
}

impl core::error::Error for Inexpressible {}

/// A shell script of cangw lines that does exactly what the routes do: the [`rules`], the one that
/// is tried first on the last line. Each line ends with its route's name as a comment.
///
/// # Errors
/// As [`rules`].
pub fn export(
    routes: &Routes,
    interfaces: &[Option<String>],
) -> Result<String, Vec<Inexpressible>> {
    let rules = rules(routes, interfaces)?;
    let mut script = String::from(
        "#!/bin/sh\n# can-gw tries the newest rule first: the last line is tried first.\n",
    );
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

/// The rules that do exactly what the routes do, in the order in which they are to be tried, each
/// with its route. `interfaces` are the Linux interfaces of the ports, by [`PortId`]; `None` for a
/// port that is none.
///
/// A route with several ports, or with classic and FD frames, becomes several rules.
///
/// # Errors
/// Every route that can-gw cannot express, with the first reason.
pub fn rules(
    routes: &Routes,
    interfaces: &[Option<String>],
) -> Result<Vec<(RouteId, Rule)>, Vec<Inexpressible>> {
    let mut errors = Vec::new();
    errors.extend(whole(routes));
    let mut all = Vec::new();
    for (index, route) in (0..).zip(&routes.routes) {
        let id = RouteId(index);
        match of(route, interfaces) {
            Ok(rules) => all.extend(rules.into_iter().map(|rule| (id, rule))),
            Err(why) => errors.push(Inexpressible {
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

/// The rules of one of the routes, for those who put each route where it runs best. That other
/// routes stand before or behind it is theirs to see to.
///
/// # Errors
/// Why can-gw cannot express it, or cannot express any of these routes (their
/// [`mode`](Routes::mode)).
pub fn rules_of(
    routes: &Routes,
    id: RouteId,
    interfaces: &[Option<String>],
) -> Result<Vec<Rule>, Inexpressible> {
    if let Some(why) = whole(routes) {
        return Err(why);
    }
    let Some(route) = routes.routes.get(id.0 as usize) else {
        return Ok(Vec::new());
    };
    of(route, interfaces).map_err(|why| Inexpressible {
        route: Some(id),
        name: route.name.clone(),
        why,
    })
}

/// Why can-gw can have none of the routes.
fn whole(routes: &Routes) -> Option<Inexpressible> {
    (routes.mode == Mode::First).then(|| Inexpressible {
        route: None,
        name: String::new(),
        why: "only the first route that matches counts (`match = \"first\"`), and in can-gw \
              all rules count"
            .into(),
    })
}

/// The rules that a route needs, in the order in which they are to be tried.
fn of(route: &Route, interfaces: &[Option<String>]) -> Result<Vec<Rule>, String> {
    if route.drop {
        return Err("it drops frames, and a rule only forwards".into());
    }
    if route.limit.is_some() {
        return Err("it limits the rate".into());
    }
    let matching = &route.matching;
    if !matching.payload.is_empty() {
        return Err("it looks at the payload".into());
    }
    if matching.len.is_some() {
        return Err("it looks at the length".into());
    }
    if matching.kinds.xl {
        return Err("it takes XL frames too: say `kind = \"classic\"`, `\"fd\"` or both".into());
    }
    let filter = filter::of(matching)?;
    let mut rules = Vec::new();
    for (wanted, fd) in [(matching.kinds.classic, false), (matching.kinds.fd, true)] {
        if !wanted {
            continue;
        }
        let mut rule = changes(&route.actions, fd)?;
        rule.filter = filter;
        rule.echo = route.echo;
        rule.stamp = route.keep_stamp;
        rule.same_port = route.allow_same_port;
        rule.hops = route.hop_limit;
        for from in &route.from {
            for to in &route.to {
                // Without -i such a rule never sends.
                if from == to && !route.allow_same_port {
                    continue;
                }
                let mut rule = rule.clone();
                interface(*from, interfaces)?.clone_into(&mut rule.source);
                interface(*to, interfaces)?.clone_into(&mut rule.destination);
                rules.push(rule);
            }
        }
    }
    Ok(rules)
}

fn interface(id: PortId, interfaces: &[Option<String>]) -> Result<&str, String> {
    match interfaces.get(usize::from(id.0)) {
        Some(Some(name)) => Ok(name),
        _ => Err(format!(
            "its port number {} is no Linux interface",
            usize::from(id.0) + 1
        )),
    }
}

/// The actions as parts of a rule.
fn changes(actions: &[Action], fd: bool) -> Result<Rule, String> {
    let mut rule = Rule {
        fd,
        ..Rule::default()
    };
    let mut reached = 0;
    for action in actions {
        let place = match action {
            Action::Modify(modify) => OPS.iter().position(|op| *op == modify.op).unwrap_or(0) + 1,
            Action::Crc8(_) => 5,
            Action::XorSum(_) => 6,
            Action::OffsetId(_) => return Err("it adds to the ID".into()),
            Action::MapId(_) => return Err("it maps IDs".into()),
            Action::CopyBytes(_) => return Err("it copies or moves bytes".into()),
        };
        if place <= reached {
            return Err(
                "its changes are not in can-gw's order, each at most once: and, or, xor, set, \
                 crc8, xor_sum"
                    .into(),
            );
        }
        reached = place;
        match action {
            Action::Modify(modify) => {
                if let Some(place) = rule.modify.get_mut(place - 1) {
                    *place = operand(modify, fd)?;
                }
            }
            Action::Crc8(crc) => rule.crc8 = Some(crc.clone()),
            Action::XorSum(sum) => rule.xor = Some(*sum),
            Action::OffsetId(_) | Action::MapId(_) | Action::CopyBytes(_) => {}
        }
    }
    check_sums(&rule)?;
    Ok(rule)
}

fn check_sums(rule: &Rule) -> Result<(), String> {
    let size = rule.size() as i16;
    let mut indices: Vec<i16> = Vec::new();
    indices.extend(rule.crc8.iter().flat_map(|c| [c.from, c.to, c.result]));
    indices.extend(rule.xor.iter().flat_map(|x| [x.from, x.to, x.result]));
    if indices.is_empty() {
        return Ok(());
    }
    if !rule.modifies() {
        return Err(
            "it computes a checksum and modifies nothing, and can-gw then leaves the checksum \
             out: `{ or = { len = 0 } }` in front is a modification that changes nothing"
                .into(),
        );
    }
    if indices.iter().any(|i| !(-size..size).contains(i)) {
        return Err(format!(
            "a checksum reaches beyond the {size} bytes of a frame"
        ));
    }
    Ok(())
}

/// The modification with a payload operand of the rule's full size; nothing where it does
/// nothing to such frames.
fn operand(modify: &Modify, fd: bool) -> Result<Option<Modify>, String> {
    let mut modify = modify.clone();
    if !fd {
        modify.flags = None;
    }
    let size = if fd { dlc::FD_MAX } else { dlc::CLASSIC_MAX };
    if let Some(data) = &mut modify.data {
        data.truncate(size);
        if data.len() < size {
            let neutral = match modify.op {
                ModifyOp::And => 0xFF,
                ModifyOp::Or | ModifyOp::Xor => 0,
                ModifyOp::Set => {
                    return Err(format!(
                        "it sets {} bytes, and can-gw sets all {size}: `and` and `or` can set \
                         some of them",
                        data.len()
                    ));
                }
            };
            data.resize(size, neutral);
        }
    }
    let does = modify.id.is_some()
        || modify.len.is_some()
        || modify.flags.is_some()
        || modify.data.is_some();
    Ok(does.then_some(modify))
}

/// One cangw line, as `cangw -L` would print it.
pub(super) fn line(rule: &Rule, name: &str) -> String {
    let mut text = format!("cangw -A {rule}");
    // Read again, such a name would pass for the counters of `cangw -L`.
    if !is_counters(name) {
        text.push_str(" # ");
        text.push_str(name);
    }
    text
}

impl fmt::Display for Rule {
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
        for modify in self.modify.iter().flatten() {
            f.write_str(&modify_text(modify, self.fd))?;
        }
        if let Some(crc) = &self.crc8 {
            f.write_str(&crc_text(crc))?;
        }
        if let Some(sum) = &self.xor {
            f.write_str(&xor_text(sum))?;
        }
        Ok(())
    }
}

/// An interface's name, in quotes where the shell would see more than a name in it.
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
        // `filter::of` gives masks only.
        IdSet::Range { .. } => String::new(),
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02X}");
    }
    text
}

fn modify_text(modify: &Modify, fd: bool) -> String {
    let op = match modify.op {
        ModifyOp::And => "AND",
        ModifyOp::Or => "OR",
        ModifyOp::Xor => "XOR",
        ModifyOp::Set => "SET",
    };
    let mut elements = String::new();
    for (set, letter) in [
        (modify.id.is_some(), 'I'),
        (modify.flags.is_some(), 'F'),
        (modify.len.is_some(), 'L'),
        (modify.data.is_some(), 'D'),
    ] {
        if set {
            elements.push(letter);
        }
    }
    let id = modify.id.unwrap_or(0);
    let len = modify.len.unwrap_or(0);
    let size = if fd { dlc::FD_MAX } else { dlc::CLASSIC_MAX };
    let data = modify.data.clone().unwrap_or_else(|| vec![0; size]);
    if fd {
        let flags = modify.flags.unwrap_or(0);
        format!(
            " -M {op}:{elements}:{id:03X}.{flags:X}.{len:X}.{}",
            hex(&data)
        )
    } else {
        format!(" -m {op}:{elements}:{id:03X}.{len:X}.{}", hex(&data))
    }
}

fn crc_text(crc: &Crc8) -> String {
    let mut text = format!(
        " -c {}:{}:{}:{:02X}:{:02X}:{}",
        crc.from,
        crc.to,
        crc.result,
        crc.init,
        crc.final_xor,
        hex(&crc.table)
    );
    let data = match &crc.profile {
        Crc8Profile::None => return text,
        Crc8Profile::OneByte(byte) => hex(&[*byte]),
        Crc8Profile::Sixteen(bytes) => hex(bytes),
        Crc8Profile::SffIdXor => String::new(),
    };
    text.push_str(&format!(" -p {}:{data}", profile_number(&crc.profile)));
    text
}

fn xor_text(sum: &XorSum) -> String {
    format!(
        " -x {}:{}:{}:{:02X}",
        sum.from, sum.to, sum.result, sum.init
    )
}
