//! Checks of `map_id`: IDs that it maps unintentionally, and the effect of several maps in
//! sequence.

use crate::filter::blocks;
use crate::match_key::KeyClass;
use crate::{Action, MapId, Route};
use ::config::{Diagnostic, Diagnostics};
use alloc::{format, string::String};
use core::ops::Range;
use frame::CanId;

/// Warns of a block of IDs that is mapped in both frame formats, and of IDs that are mapped twice.
pub(super) fn warn(route: &Route, span: Range<usize>, found: &mut Diagnostics) {
    if let Some(map) = first_of_both_formats(route) {
        let block = block(map.from, map.count);
        let message = format!(
            "route `{}` maps the IDs {block} of both formats, SFF and EFF: `map_id` compares only the number",
            route.name
        );
        let hint = format!(
            "specify which frames the route takes: `id = {}` for SFF, `id = {}` for EFF",
            text(map, 3),
            text(map, 8)
        );
        found.push(Diagnostic::warning(span.clone(), message).hint(hint));
    }
    for (first, second) in chained(route) {
        let message = format!(
            "route `{}` maps IDs twice: {} become {}, and {} become {} after that",
            route.name,
            block(first.from, first.count),
            block(first.to, first.count),
            block(second.from, second.count),
            block(second.to, second.count),
        );
        let hint = "actions happen one after the other; `map = { \"100\" = \"200\", … }` maps all IDs at once";
        found.push(Diagnostic::warning(span.clone(), message).hint(hint));
    }
}

/// Returns the first `map_id` that changes IDs of both formats. The search ends at an action of
/// another kind that changes IDs.
fn first_of_both_formats(route: &Route) -> Option<&MapId> {
    let both = |map: &&MapId| {
        [KeyClass::Sff, KeyClass::Eff]
            .iter()
            .all(|class| takes(route, *class, map))
    };
    let mut maps = route.actions.iter().map_while(|action| match action {
        Action::MapId(map) => Some(Some(map)),
        other => (other.id_bits() == Some((u32::MAX, 0))).then_some(None),
    });
    maps.find_map(|map| map.filter(both))
}

/// Returns whether the route takes a frame of this format whose number is in the block.
fn takes(route: &Route, class: KeyClass, map: &MapId) -> bool {
    let kinds = route.matching.kinds;
    let max = match class {
        KeyClass::Eff => CanId::EFF_MASK,
        _ => CanId::SFF_MASK,
    };
    // XL frames have a priority of 11 bits, and no EFF ID.
    if map.from > max || (class == KeyClass::Eff && kinds.xl && !kinds.classic && !kinds.fd) {
        return false;
    }
    let last = map
        .from
        .saturating_add(map.count.saturating_sub(1))
        .min(max);
    let ids = &route.matching.ids;
    let mut takes = ids.is_empty();
    for id in ids {
        blocks(id, class, &mut |mask, value| {
            takes |=
                next(map.from, mask & max, value & max, max).is_some_and(|number| number <= last);
        });
    }
    takes
}

/// Returns the lowest number, from `start` on, whose bits under the mask equal those of the value.
fn next(start: u32, mask: u32, value: u32, max: u32) -> Option<u32> {
    let mut number = start;
    while number <= max {
        let wrong = (number ^ value) & mask;
        if wrong == 0 {
            return Some(number);
        }
        let top = 1_u32 << (31 - wrong.leading_zeros());
        number = if value & top != 0 {
            // The bit has to be set: everything below it starts at 0.
            (number | top) & !(top - 1)
        } else {
            // The bit has to be clear: the next number with another bit above it.
            (number | (top - 1)).checked_add(1)?
        };
    }
    None
}

/// Returns each `map_id` whose results a later one maps again, with the later one.
fn chained(route: &Route) -> impl Iterator<Item = (&MapId, &MapId)> {
    let maps = |from: usize| {
        let rest = route.actions.iter().skip(from).enumerate();
        rest.filter_map(move |(at, action)| match action {
            Action::MapId(map) => Some((from + at, map)),
            _ => None,
        })
    };
    maps(0).filter_map(move |(at, first)| {
        let mut later = maps(at + 1);
        later.find_map(|(_, second)| {
            meet(first.to, first.count, second.from, second.count).then_some((first, second))
        })
    })
}

fn meet(a: u32, a_count: u32, b: u32, b_count: u32) -> bool {
    let end = |first: u32, count: u32| u64::from(first) + u64::from(count);
    u64::from(a) < end(b, b_count) && u64::from(b) < end(a, a_count)
}

fn block(first: u32, count: u32) -> String {
    match count {
        0 | 1 => format!("{first:03X}"),
        _ => format!("{first:03X}-{:03X}", first.saturating_add(count - 1)),
    }
}

/// Returns the block in the syntax of `id`.
fn text(map: &MapId, digits: usize) -> String {
    let MapId { from, count, .. } = *map;
    let last = from.saturating_add(count.saturating_sub(1));
    let last = if digits == 3 {
        last.min(CanId::SFF_MASK)
    } else {
        last
    };
    if from == last {
        format!("\"{from:0digits$X}\"")
    } else {
        format!("\"{from:0digits$X}-{last:0digits$X}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IdFilter, IdSet, PortId};
    use alloc::vec;
    use alloc::vec::Vec;

    fn map(from: u32, to: u32, count: u32) -> Action {
        Action::MapId(MapId {
            from,
            to,
            count,
            eff: None,
        })
    }

    fn messages(ids: &[IdSet], actions: Vec<Action>) -> Vec<String> {
        let mut route = Route::new("r", vec![PortId(0)], vec![PortId(1)]);
        let filter = |set: &IdSet| IdFilter {
            set: *set,
            inverted: false,
        };
        route.matching.ids = ids.iter().map(filter).collect();
        route.actions = actions;
        let mut found = Diagnostics::new();
        warn(&route, 0..0, &mut found);
        let all = found.list().iter();
        all.map(|d| d.message.clone()).collect()
    }

    const SFF: IdSet = IdSet::Range {
        eff: false,
        first: 0x100,
        last: 0x2FF,
    };

    #[test]
    fn a_block_of_both_formats_is_named() {
        let both = [
            "route `r` maps the IDs 100-17F of both formats, SFF and EFF: `map_id` compares only the number",
        ];
        assert_eq!(messages(&[], vec![map(0x100, 0x400, 0x80)]), both);
        let raw = IdSet::Masked {
            id: 0x100,
            mask: 0x700,
        };
        assert_eq!(messages(&[raw], vec![map(0x100, 0x400, 0x80)]), both);
        // An ID of one format only, or a number that only one format has.
        assert_eq!(messages(&[SFF], vec![map(0x100, 0x400, 0x80)]), [""; 0]);
        assert_eq!(messages(&[], vec![map(0x800, 0x1800, 0x80)]), [""; 0]);
        let eff = IdSet::Range {
            eff: true,
            first: 0x180,
            last: 0x1FF,
        };
        assert_eq!(
            messages(&[SFF, eff], vec![map(0x100, 0x400, 0x80)]),
            [""; 0]
        );
        assert_eq!(
            messages(&[SFF, eff], vec![map(0x100, 0x400, 0x81)]).len(),
            1
        );
    }

    #[test]
    fn a_chain_is_named() {
        let actions = vec![map(0x100, 0x200, 1), map(0x200, 0x100, 1)];
        assert_eq!(
            messages(&[SFF], actions),
            ["route `r` maps IDs twice: 100 become 200, and 200 become 100 after that"]
        );
        let actions = vec![map(0x200, 0x100, 1), map(0x100, 0x300, 1)];
        assert_eq!(messages(&[SFF], actions).len(), 1);
        let apart = vec![map(0x100, 0x300, 1), map(0x200, 0x400, 1)];
        assert_eq!(messages(&[SFF], apart), [""; 0]);
    }

    #[test]
    fn the_next_number_under_a_mask_is_the_lowest() {
        for mask in 0..16_u32 {
            for value in 0..16_u32 {
                for start in 0..16 {
                    let value = value & mask;
                    let slow = (start..16).find(|number| number & mask == value);
                    assert_eq!(next(start, mask, value, 15), slow, "{mask} {value} {start}");
                }
            }
        }
    }
}
