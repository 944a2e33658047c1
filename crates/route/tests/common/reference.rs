//! A slow, direct implementation of the model: every route, every filter, one after the other.

use super::{Event, Owned, cangw, signals};
use cangate_route::*;
use frame::{CanId, Header, Kind};

const EFF: u32 = 0x8000_0000;
const RTR: u32 = 0x4000_0000;
const ERR: u32 = 0x2000_0000;

fn raw_of(frame: &Owned) -> u32 {
    match frame.header.kind() {
        Kind::Xl => frame.header.id().raw() & 0x7FF,
        _ => frame.header.id().raw(),
    }
}

fn is_err(frame: &Owned) -> bool {
    raw_of(frame) & ERR != 0
}

fn id_agrees(filter: &IdFilter, frame: &Owned) -> bool {
    let raw = raw_of(frame);
    let err = is_err(frame);
    match filter.set {
        IdSet::Range { eff, first, last } => {
            let frame_eff = raw & EFF != 0;
            let number = if frame_eff || err {
                raw & 0x1FFF_FFFF
            } else {
                raw & 0x7FF
            };
            let highest = if eff { 0x1FFF_FFFF } else { 0x7FF };
            let inside = first <= number && number <= last;
            frame_eff == eff && number <= highest && inside != filter.inverted
        }
        IdSet::Masked { mask, .. } if mask & ERR != 0 => err && raw & mask & 0x1FFF_FFFF != 0,
        IdSet::Masked { id, mask } => {
            let sff_only = mask & EFF != 0 && id & EFF == 0;
            let mask = if sff_only { mask & 0xC000_07FF } else { mask };
            (raw & mask == id & mask) != filter.inverted
        }
    }
}

fn tri(wish: TriState, is: bool) -> bool {
    match wish {
        TriState::Either => true,
        TriState::Yes => is,
        TriState::No => !is,
    }
}

pub fn matches(matching: &FrameMatch, frame: &Owned) -> bool {
    let kinds = matching.kinds;
    let kind = match frame.header.kind() {
        _ if kinds
            == (KindSet {
                classic: false,
                fd: false,
                xl: false,
            }) =>
        {
            true
        }
        Kind::Classic => kinds.classic,
        Kind::Fd => kinds.fd,
        Kind::Xl => kinds.xl,
    };
    let len = frame.header.len();
    kind && (matching.ids.is_empty() || matching.ids.iter().any(|id| id_agrees(id, frame)))
        && tri(matching.rtr, frame.header.is_rtr())
        && tri(matching.err, is_err(frame))
        && matching
            .len
            .is_none_or(|(a, b)| usize::from(a) <= len && len <= usize::from(b))
        && matching.payload.iter().all(|pattern| {
            (0..pattern.value.len()).all(|i| {
                frame
                    .data
                    .get(usize::from(pattern.at) + i)
                    .is_some_and(|byte| {
                        byte & pattern.mask[i] == pattern.value[i] & pattern.mask[i]
                    })
            }) && (usize::from(pattern.at) + pattern.value.len() <= frame.data.len())
        })
        && matching
            .when
            .as_ref()
            .is_none_or(|when| signals::holds(when, &frame.data))
}

/// Returns the events of the whole table, without rate limits.
pub fn decide(routes: &Routes, arrival: FrameArrival, frame: &Owned) -> Vec<Event> {
    let mut events = Vec::new();
    for (at, route) in routes.routes.iter().enumerate() {
        let at = at as u32;
        if !route.from.contains(&arrival.from) || !matches(&route.matching, frame) {
            continue;
        }
        let to: Vec<_> = route
            .to
            .iter()
            .filter(|to| route.allow_same_port || **to != arrival.from)
            .collect();
        if to.is_empty() && !route.drop {
            continue;
        }
        events.push(Event::Taken(at));
        if route.drop {
            events.push(Event::Stopped(at, StopReason::DropRule));
            return events;
        }
        if arrival.hops >= routes.max_hops {
            events.push(Event::Stopped(at, StopReason::HopLimit));
        } else {
            let mut hops = arrival.hops + 1;
            if let (1, Some(limit)) = (hops, route.hop_limit) {
                hops = routes.max_hops - limit + 1;
            }
            match change(&route.actions, frame) {
                Err(why) => events.push(Event::Stopped(at, why)),
                Ok(frame) => events.extend(to.iter().map(|to| Event::Forward {
                    route: at,
                    to: to.0,
                    hops,
                    frame: frame.clone(),
                })),
            }
        }
        if routes.mode == RouteMode::First {
            return events;
        }
    }
    events
}

/// A frame between two changes: can-gw's struct, extended for XL.
struct Between {
    kind: Kind,
    id: u32,
    len: u32,
    len8_dlc: u8,
    flags: u8,
    data: Vec<u8>,
}

fn change(actions: &[Action], frame: &Owned) -> Result<Owned, StopReason> {
    if actions.is_empty() {
        return Ok(frame.clone());
    }
    let kind = frame.header.kind();
    let mut data = frame.data.clone();
    data.resize(kind.max_len(), 0);
    let mut now = Between {
        kind,
        id: frame.header.id().raw(),
        len: frame.header.len() as u32,
        len8_dlc: frame.header.len8_dlc(),
        flags: frame.header.flags(),
        data,
    };
    for action in actions {
        match action {
            Action::Modify(modify) => one_modify(modify, &mut now)?,
            Action::OffsetId(OffsetId { by }) => {
                if let Some(number) = number(&now) {
                    renumber(&mut now, i64::from(number) + by, None)?;
                }
            }
            Action::MapId(MapId {
                from,
                to,
                count,
                eff,
            }) => {
                if let Some(number) = number(&now) {
                    let place = i64::from(number) - i64::from(*from);
                    if (0..i64::from(*count)).contains(&place) {
                        renumber(&mut now, i64::from(*to) + place, *eff)?;
                    }
                }
            }
            Action::MapTable(MapTable { blocks }) => {
                if let Some(number) = number(&now) {
                    let eff = now.kind != Kind::Xl && now.id & EFF != 0;
                    let block = blocks.iter().find(|block| {
                        block.from_eff == eff && (block.first..=block.last).contains(&number)
                    });
                    if let Some(block) = block {
                        let new = i64::from(block.to) + i64::from(number - block.first);
                        renumber(&mut now, new, Some(block.to_eff))?;
                    }
                }
            }
            Action::CopyBytes(CopyBytes {
                from,
                to,
                count,
                clear,
            }) => {
                let before = now.data.clone();
                let (from, to) = (usize::from(*from), usize::from(*to));
                let pairs: Vec<_> = (0..usize::from(*count))
                    .map(|i| (from + i, to + i))
                    .filter(|(a, b)| *a < before.len() && *b < before.len())
                    .collect();
                if *clear {
                    pairs.iter().for_each(|(a, _)| now.data[*a] = 0);
                }
                pairs.iter().for_each(|(a, b)| now.data[*b] = before[*a]);
            }
            Action::Crc8(crc8) => {
                fits(&now)?;
                cangw::crc8_rel(crc8, now.id, now.len, &mut now.data);
            }
            Action::XorSum(sum) => {
                fits(&now)?;
                cangw::xor_rel(sum, now.len, &mut now.data);
            }
            Action::WriteSignals(writes) => {
                signals::write(writes, &mut now.data, now.len as usize)?;
            }
            // Random cases contain only the actions above.
            #[allow(unreachable_patterns)]
            other => panic!("the reference does not say what {other:?} does"),
        }
    }
    fits(&now)?;
    if kind == Kind::Fd && now.id & RTR != 0 {
        return Err(StopReason::IdRange);
    }
    let header = Header::new(kind, CanId::from_raw(now.id), now.len as usize)
        .unwrap()
        .with_flags(now.flags)
        .with_len8_dlc(now.len8_dlc)
        .with_xl(frame.header.xl());
    now.data.truncate(header.data_len());
    Ok(Owned {
        header,
        data: now.data,
    })
}

fn fits(now: &Between) -> Result<(), StopReason> {
    if now.len as usize > now.kind.max_len() || (now.kind == Kind::Xl && now.len == 0) {
        return Err(StopReason::TooLong);
    }
    Ok(())
}

fn op(op: ModifyOp, old: u32, operand: u32) -> u32 {
    match op {
        ModifyOp::And => old & operand,
        ModifyOp::Or => old | operand,
        ModifyOp::Xor => old ^ operand,
        ModifyOp::Set => operand,
    }
}

fn one_modify(modify: &Modify, now: &mut Between) -> Result<(), StopReason> {
    if let Some(operand) = modify.id {
        // Only the priority of an XL frame counts.
        let old = if now.kind == Kind::Xl {
            now.id & 0x7FF
        } else {
            now.id
        };
        let new = match operand {
            IdOperand::Raw(raw) => op(modify.op, old, raw),
            IdOperand::Id(id) if modify.op == ModifyOp::Set => {
                old & (RTR | ERR) | id.raw() & !(RTR | ERR)
            }
            IdOperand::Id(id) => {
                let number = op(modify.op, old & 0x1FFF_FFFF, id.number());
                old & (EFF | RTR | ERR) | number
            }
        };
        now.id = if now.kind == Kind::Xl {
            if new & (EFF | RTR | ERR) != 0 {
                return Err(StopReason::IdRange);
            }
            now.id & !0x7FF | new & 0x7FF
        } else {
            new
        };
    }
    if let Some(operand) = modify.len {
        if now.kind == Kind::Classic {
            if now.len == 8 && now.len8_dlc > 8 {
                now.len = now.len8_dlc.into();
            }
            now.len = op(modify.op, now.len, operand.into());
            now.len8_dlc = 0;
            if now.len > 8 && now.len <= 15 {
                now.len8_dlc = now.len as u8;
                now.len = 8;
            }
        } else {
            now.len = op(modify.op, now.len, operand.into());
        }
    }
    if let (Some(operand), Kind::Fd) = (modify.flags, now.kind) {
        now.flags = op(modify.op, now.flags.into(), operand.into()) as u8;
    }
    if let Some(operands) = &modify.data {
        let size = now.data.len();
        for (at, operand) in operands.iter().enumerate().take(size) {
            now.data[at] = op(modify.op, now.data[at].into(), (*operand).into()) as u8;
        }
    }
    Ok(())
}

fn number(now: &Between) -> Option<u32> {
    match now.kind {
        Kind::Xl => Some(now.id & 0x7FF),
        _ if now.id & ERR != 0 => None,
        _ if now.id & EFF != 0 => Some(now.id & 0x1FFF_FFFF),
        _ => Some(now.id & 0x7FF),
    }
}

fn renumber(now: &mut Between, number: i64, eff: Option<bool>) -> Result<(), StopReason> {
    let xl = now.kind == Kind::Xl;
    let eff = match eff {
        Some(true) if xl => return Err(StopReason::IdRange),
        Some(eff) => eff,
        None => !xl && now.id & EFF != 0,
    };
    let highest = if eff { 0x1FFF_FFFF } else { 0x7FF };
    if number < 0 || number > highest {
        return Err(StopReason::IdRange);
    }
    now.id = now.id & 0x6000_0000 | if eff { EFF } else { 0 } | number as u32;
    Ok(())
}
