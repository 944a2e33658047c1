//! Compiles routes into the contents of the maps.

use super::condition::{ConditionPlan, plan};
use super::index::{ListReach, TableIndexes};
use super::layout::{
    self, CHANGES_MASKS, CHANGES_NONE, CHANGES_SUM, Class, Condition, CrcTable, Group, Limit, NONE,
    Op, PORT_CLASSIC, PORT_ROOMY, Pattern, Port, ROUTE_DROP, ROUTE_ECHO, ROUTE_SAME_PORT, Route,
    Slot, Sum, TO_CLASSIC, TO_FD, TO_INDEX,
};
use super::ops::op;
use super::short::short;
use route::bpf::BpfProgram;
use route::parts::{self, sort};
use route::{Action, PayloadPattern, PortId, RateLimit, Routes};
use std::collections::HashMap;

/// The current state of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PortInterface {
    /// The index of its interface; 0 while there is none.
    pub(crate) ifindex: u32,
    /// It accepts FD frames.
    pub(crate) fd: bool,
    /// The port neither receives nor sends FD frames, whatever its interface can.
    pub(crate) classic: bool,
    /// Frames of local programs can be forwarded from here (see `cangate_room` in gateway.bpf.c).
    pub(crate) roomy: bool,
}

/// A table in the form that is written into maps.
#[derive(Clone, Default)]
pub(crate) struct TableImage {
    pub(crate) ports: Vec<Port>,
    pub(crate) port_multiplier: u32,
    pub(crate) port_mask: u32,
    pub(crate) groups: Vec<Group>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) rest: Vec<u64>,
    pub(crate) routes: Vec<Route>,
    pub(crate) destinations: Vec<u64>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) ops: Vec<Op>,
    pub(crate) crc_tables: Vec<CrcTable>,
    pub(crate) sums: Vec<Sum>,
    pub(crate) limits: Vec<Limit>,
    /// Buckets for single IDs, of all limits together.
    pub(crate) ids: u32,
    /// The lists that the frames of each port can match, by class.
    pub(crate) reach: Vec<[ListReach; 3]>,
}

/// Compiles routes that [`route::RoutingTable::compile`] has found to have a meaning and that
/// [`super::check`] has found to be expressible.
pub(crate) fn compile(routes: &Routes, interfaces: &[PortInterface]) -> TableImage {
    let mut image = TableImage::default();
    for route in &routes.routes {
        image.add_route(route, interfaces);
    }
    let mut index = TableIndexes::new();
    let mut ports = Vec::new();
    for (number, interface) in interfaces.iter().enumerate() {
        let id = PortId(number as u16);
        let mut reach = [ListReach::default(); 3];
        let mut of = [Class::default(); 3];
        for class in parts::KeyClass::ALL {
            let at = class as usize;
            (of[at], reach[at]) = index.add(entries(routes, id, class));
        }
        image.reach.push(reach);
        if interface.ifindex != 0 {
            ports.push(Port {
                of: std::array::from_fn(|flags| of_flags(&of, flags)),
                ifindex: interface.ifindex,
                number: number as u32,
                flags: flags(&[
                    (interface.roomy, PORT_ROOMY),
                    (interface.classic, PORT_CLASSIC),
                ]),
                pad: 0,
            });
        }
    }
    image.groups = index.groups;
    image.slots = index.slots;
    image.rest = index.rest;
    image.place_ports(&ports);
    if image.crc_tables.is_empty() {
        // XOR checksums also look up a table.
        image.crc_tables.push(CrcTable([0; 256]));
    }
    image
}

/// Returns the class for IDs whose upper three bits are `flags`.
fn of_flags(of: &[Class; 3], flags: usize) -> Class {
    let (eff, rtr, err) = (flags >> 2 & 1, flags >> 1 & 1, flags & 1);
    let class = match (eff, err) {
        (_, 1) => parts::KeyClass::Err,
        (1, _) => parts::KeyClass::Eff,
        _ => parts::KeyClass::Sff,
    };
    Class {
        sort: u32::from(sort::CLASSIC) << (rtr + 2 * err),
        ..of[class as usize]
    }
}

/// Returns the numbers of the limits, in both tables, of routes that have the same name and the
/// same limit in both.
pub(crate) fn same_limits(former: &Routes, next: &Routes) -> Vec<(u32, u32)> {
    let limited = |routes: &Routes| -> HashMap<String, (u32, RateLimit)> {
        let limits = routes.routes.iter();
        let limits = limits.filter_map(|route| Some((route.name.clone(), route.limit?)));
        (0..)
            .zip(limits)
            .map(|(number, (name, limit))| (name, (number, limit)))
            .collect()
    };
    let former = limited(former);
    let next = limited(next).into_iter();
    next.filter_map(|(name, (here, limit))| {
        let (there, was) = former.get(&name)?;
        (*was == limit).then_some((*there, here))
    })
    .collect()
}

/// Returns the entries of the index of one port and class: (mask, value, route).
fn entries(routes: &Routes, port: PortId, class: parts::KeyClass) -> Vec<(u32, u32, u32)> {
    let of_class = match class {
        parts::KeyClass::Err => sort::ANY_ERR,
        parts::KeyClass::Sff | parts::KeyClass::Eff => !sort::ANY_ERR,
    };
    let mut entries = Vec::new();
    for (number, route) in routes.routes.iter().enumerate() {
        let goes = route.drop || route.allow_same_port || route.to.iter().any(|to| *to != port);
        if !goes || !route.from.contains(&port) || sorts(route) & of_class == 0 {
            continue;
        }
        let number = number as u32;
        if route.matching.ids.is_empty() {
            entries.push((0, 0, number));
        }
        for id in &route.matching.ids {
            parts::blocks(id, class, &mut |mask, value| {
                entries.push((mask, value, number));
            });
        }
    }
    entries
}

/// Returns the sorts of frame that a route takes, without XL, which BPF never routes.
pub(crate) fn sorts(route: &route::Route) -> u8 {
    parts::sorts(route) & !sort::XL
}

/// Returns the program for a route's actions.
///
/// # Errors
/// The reason why BPF cannot do one of them.
pub(crate) fn program(actions: &[Action]) -> Result<BpfProgram, String> {
    let mut program = BpfProgram::default();
    for action in actions {
        action.to_bpf(&mut program)?;
    }
    Ok(program)
}

impl TableImage {
    fn add_route(&mut self, route: &route::Route, interfaces: &[PortInterface]) {
        let (sorts, pattern) = match self.add_conditions(route) {
            Ok(pattern) => (sorts(route), pattern),
            Err(NeverPatterns) => (0, NONE),
        };
        // `check` has refused the actions that BPF cannot do. A frame that such a route takes must
        // not be forwarded as if there were no actions.
        let (sorts, program) = match program(&route.actions) {
            Ok(program) => (sorts, program),
            Err(_) => (0, BpfProgram::default()),
        };
        let instructions = program.instructions();
        let tables = &mut self.crc_tables;
        let ops: Vec<Op> = instructions.iter().map(|it| op(it, tables)).collect();
        let limit = route.limit.map_or(NONE, |limit| {
            self.ids += limit.per_id.unwrap_or(0);
            let depth = u128::from(limit.per) * u128::from(limit.burst);
            self.limits.push(Limit {
                frames: limit.frames,
                per_id: limit.per_id.unwrap_or(0),
                ids: limit.per_id.is_some().into(),
                per: limit.per,
                depth: [depth as u64, (depth >> 64) as u64],
                ..Limit::default()
            });
            self.limits.len() as u32 - 1
        });
        let to: Vec<u32> = route
            .to
            .iter()
            .map(|to| destination(*to, interfaces))
            .collect();
        let flags = [
            (route.drop, ROUTE_DROP),
            (route.allow_same_port, ROUTE_SAME_PORT),
            (route.echo, ROUTE_ECHO),
        ];
        let only = match to[..] {
            [only] => only,
            _ => 0,
        };
        // Conditions of the program's short path.
        let short = if only & TO_INDEX != 0
            && !(route.drop || route.echo)
            && (pattern, limit, route.hop_limit) == (NONE, NONE, None)
        {
            short(instructions, &mut self.sums)
        } else {
            None
        };
        let masks = short.unwrap_or_default();
        let changes = match masks.sum {
            None if route.actions.is_empty() => CHANGES_NONE,
            None => CHANGES_MASKS,
            Some(_) => CHANGES_SUM,
        };
        let (from, to_len) = route.matching.len.unwrap_or((0, u16::MAX));
        let byte = |len: u16| u8::try_from(len).unwrap_or(u8::MAX);
        self.routes.push(Route {
            sorts,
            flags: flags
                .iter()
                .filter(|(set, _)| *set)
                .map(|(_, flag)| flag)
                .sum(),
            hop_limit: route.hop_limit.unwrap_or(0),
            ops: ops.len() as u8,
            // Frames that come here have at most 64 bytes.
            len: [byte(from), byte(to_len)],
            short_sorts: match short {
                None => 0,
                Some(_) if route.actions.is_empty() => sorts,
                // An RTR frame has no data to change, whatever its length field contains.
                Some(_) => sorts & !sort::ANY_RTR,
            },
            changes,
            pattern,
            limit,
            to: only,
            first_to: self.destinations.len() as u32,
            destinations: to.len() as u16,
            sum: masks.sum.unwrap_or(0),
            first_op: self.ops.len() as u32,
            and: masks.and,
            xor: masks.xor,
        });
        self.destinations.extend(to.into_iter().map(u64::from));
        self.ops.extend(ops);
    }

    /// Adds what a route compares in the payload, and returns its index.
    fn add_conditions(&mut self, route: &route::Route) -> Result<u32, NeverPatterns> {
        let mut patterns = route.matching.payload.clone();
        let (mut tests, mut len) = (None, 0);
        if let Some(when) = &route.matching.when {
            // `check` has refused the conditions that BPF cannot express. A route must not take
            // frames as if it had none.
            let Ok(Some(plan)) = plan(when) else {
                return Err(NeverPatterns);
            };
            let ConditionPlan {
                patterns: more,
                tests: of_plan,
                len: of_first,
            } = plan;
            patterns.extend(more);
            (tests, len) = (of_plan, of_first);
        }
        let mut joined = pattern(&patterns)?;
        if let Some(tests) = tests {
            self.conditions.push(tests);
            let joined = joined.get_or_insert_default();
            joined.condition = self.conditions.len() as u32;
            joined.len = joined.len.max(len);
        }
        Ok(match joined {
            None => NONE,
            Some(joined) => {
                self.patterns.push(joined);
                self.patterns.len() as u32 - 1
            }
        })
    }

    /// Puts each port at the position where the program's look-up by interface finds it.
    fn place_ports(&mut self, ports: &[Port]) {
        let mut bits = 1;
        let mut multiplier = 0x9E37_79B1_u32;
        loop {
            let mask = (1 << bits) - 1;
            let mut places = vec![Port::default(); 1 << bits];
            let fits = ports.iter().all(|port| {
                let at = port.ifindex.wrapping_mul(multiplier) >> 16 & mask;
                match places.get_mut(at as usize) {
                    Some(place) if place.ifindex == 0 => {
                        *place = *port;
                        true
                    }
                    _ => false,
                }
            });
            if fits {
                self.ports = places;
                self.port_multiplier = multiplier;
                self.port_mask = mask;
                return;
            }
            // A few hundred multipliers for each size: for dozens of ports, the table ends at twice
            // the minimum size.
            multiplier = multiplier.wrapping_mul(0x9E37_79B1) | 1;
            if multiplier.is_multiple_of(256) || multiplier & 0xFF == 1 {
                bits = (bits + 1).min(16);
            }
        }
    }
}

fn destination(to: PortId, interfaces: &[PortInterface]) -> u32 {
    let interface = interfaces
        .get(usize::from(to.0))
        .copied()
        .unwrap_or_default();
    let bits = [(interface.fd, TO_FD), (interface.classic, TO_CLASSIC)];
    interface.ifindex | flags(&bits)
}

/// Returns the flags that are set.
fn flags(each: &[(bool, u32)]) -> u32 {
    let set = each.iter().filter(|(set, _)| *set);
    set.map(|(_, flag)| flag).sum()
}

/// Error: patterns that no frame can match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct NeverPatterns;

/// Merges all patterns of a route into one.
fn pattern(patterns: &[PayloadPattern]) -> Result<Option<Pattern>, NeverPatterns> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut masks = [0_u8; 64];
    let mut values = [0_u8; 64];
    let mut len = 0;
    for pattern in patterns {
        let first = usize::from(pattern.at);
        len = len.max(first + pattern.value.len());
        for (at, (value, mask)) in (first..).zip(pattern.value.iter().zip(&pattern.mask)) {
            let (Some(known), Some(byte)) = (masks.get_mut(at), values.get_mut(at)) else {
                return Err(NeverPatterns);
            };
            if (*byte ^ value) & *known & mask != 0 {
                return Err(NeverPatterns);
            }
            *known |= mask;
            *byte |= value & mask;
        }
    }
    if len > 64 {
        return Err(NeverPatterns);
    }
    Ok(Some(Pattern {
        mask: words(masks),
        value: words(values),
        len: len as u32,
        condition: 0,
    }))
}

fn words(bytes: [u8; 64]) -> [u64; 8] {
    let (chunks, _) = bytes.as_chunks();
    std::array::from_fn(|at| chunks.get(at).map_or(0, |word| u64::from_le_bytes(*word)))
}

const _: () = assert!(layout::OPS <= u8::MAX as usize);
