//! The index of the routes that match an ID: groups by mask, slots by value, lists of routes. It
//! works as the index of `route`, in the layout of the program's `find()`.

use super::layout::{Class, DIRECT, GROUPS, Group, NONE, PROBES, Slot};
use std::collections::HashMap;

/// Odd, with well-spread bits; tried in turn.
const MULTIPLIERS: [u32; 8] = [
    0x9E37_79B1,
    0x85EB_CA77,
    0xC2B2_AE3D,
    0x27D4_EB2F,
    0x1656_67B1,
    0xD3A2_646D,
    0xFD70_46C5,
    0xB55A_4F09,
];

/// All indexes of a table together.
#[derive(Default)]
pub(crate) struct TableIndexes {
    pub(crate) groups: Vec<Group>,
    pub(crate) slots: Vec<Slot>,
    /// Lists, each terminated by [`NONE`]; the first word does not belong to a list.
    pub(crate) rest: Vec<u64>,
    /// Lists that exist already: routes with the same IDs share a list.
    known: HashMap<Vec<u32>, u32>,
}

/// The lengths of the lists that a frame can match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ListReach {
    /// The longest list.
    pub(crate) longest: usize,
    /// Maximum number of routes that a frame can match in several lists; 0 if there is one list.
    pub(crate) merged: usize,
    /// Number of different masks.
    pub(crate) masks: usize,
}

impl ListReach {
    /// Returns whether the program's loops can process all of them.
    pub(crate) fn fits(&self) -> bool {
        self.longest < super::layout::CANDIDATES
            && self.merged < super::layout::MERGED
            && self.masks <= GROUPS
    }
}

impl TableIndexes {
    pub(crate) fn new() -> Self {
        Self {
            rest: vec![u64::from(NONE)],
            ..Self::default()
        }
    }

    /// Adds one port's index for one class from (mask, value, route).
    pub(crate) fn add(&mut self, mut entries: Vec<(u32, u32, u32)>) -> (Class, ListReach) {
        entries.sort_unstable();
        entries.dedup();
        let mut class = Class {
            first: self.groups.len() as u32,
            ..Class::default()
        };
        let mut reach = ListReach::default();
        let mut sum = 0;
        let mut parts = 0;
        for group in entries.chunk_by(|a, b| a.0 == b.0) {
            let mut longest = 0;
            let lists: Vec<Slot> = group
                .chunk_by(|a, b| a.1 == b.1)
                .map(|list| {
                    longest = longest.max(list.len());
                    Slot {
                        value: list[0].1,
                        list: self.list(list),
                    }
                })
                .collect();
            match group[0].0 {
                0 => class.always = lists.first().map_or(0, |slot| slot.list),
                mask => {
                    self.groups.push(group_of(mask, &lists, &mut self.slots));
                    class.count += 1;
                }
            }
            reach.longest = reach.longest.max(longest);
            sum += longest;
            parts += 1;
        }
        let first = self.groups.get(class.first as usize);
        class.group = first.copied().unwrap_or_default();
        reach.masks = class.count as usize;
        if parts > 1 {
            let mut routes: Vec<u32> = entries.iter().map(|entry| entry.2).collect();
            routes.sort_unstable();
            routes.dedup();
            reach.merged = routes.len().min(sum);
        }
        (class, reach)
    }

    fn list(&mut self, list: &[(u32, u32, u32)]) -> u32 {
        if let [(_, _, only)] = list {
            return *only | DIRECT;
        }
        let routes: Vec<u32> = list.iter().map(|entry| entry.2).collect();
        let rest = &mut self.rest;
        *self.known.entry(routes).or_insert_with_key(|routes| {
            let start = rest.len() as u32;
            rest.extend(routes.iter().copied().map(u64::from));
            rest.push(u64::from(NONE));
            start
        })
    }
}

/// Appends a group's slots to the existing ones.
fn group_of(mask: u32, lists: &[Slot], slots: &mut Vec<Slot>) -> Group {
    let base = slots.len() as u32;
    let group = |multiplier: u32, bits: u32| Group {
        mask,
        multiplier,
        shift: 32 - bits,
        base,
    };
    // SFF identifiers, not sparse: the plain table of 2048 entries.
    let direct = group(1 << 21, 11);
    if lists.len() >= 256
        && let Some(filled) = fill(&direct, lists, 1)
    {
        slots.extend(filled);
        return direct;
    }
    let start = (lists.len() * 2)
        .next_power_of_two()
        .trailing_zeros()
        .max(1);
    // Increases the size until no look-up has to walk too far. With 2^31 slots, each value would
    // have a slot of its own; with eight multipliers for each size, the search ends long before.
    for bits in start..=31 {
        for multiplier in MULTIPLIERS {
            let group = group(multiplier, bits);
            if let Some(filled) = fill(&group, lists, PROBES) {
                slots.extend(filled);
                return group;
            }
        }
    }
    direct
}

/// Returns the slots filled with `lists`, or `None` if a look-up would walk more than `longest`.
fn fill(group: &Group, lists: &[Slot], longest: usize) -> Option<Vec<Slot>> {
    let mut slots = vec![Slot::default(); (1 << (32 - group.shift)) + longest];
    for list in lists {
        let home = (list.value.wrapping_mul(group.multiplier) >> group.shift) as usize;
        let free = slots
            .get_mut(home..home + longest)?
            .iter_mut()
            .find(|slot| slot.list == 0)?;
        *free = *list;
    }
    Some(slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// As `find()` and `merge()` of gateway.bpf.c.
    fn look_up(index: &TableIndexes, class: Class, raw: u32) -> Vec<u32> {
        let mut found = BTreeSet::new();
        let mut lists = vec![class.always];
        for group in &index.groups[class.first as usize..][..class.count as usize] {
            let value = raw & group.mask;
            let home = group.base as usize
                + (value.wrapping_mul(group.multiplier) >> group.shift) as usize;
            for at in home..home + PROBES {
                let slot = index.slots.get(at).copied().unwrap_or_default();
                if slot.list == 0 {
                    break;
                }
                if slot.value == value {
                    lists.push(slot.list);
                    break;
                }
            }
        }
        for list in lists.into_iter().filter(|list| *list != 0) {
            if list & DIRECT != 0 {
                found.insert(list & !DIRECT);
            } else {
                found.extend(
                    index.rest[list as usize..]
                        .iter()
                        .map(|route| *route as u32)
                        .take_while(|route| *route != NONE),
                );
            }
        }
        found.into_iter().collect()
    }

    proptest! {
        #[test]
        fn finds_what_a_walk_through_all_entries_finds(
            masks in prop::collection::vec(prop_oneof![Just(0x7FF), Just(0), any::<u32>()], 1..6),
            entries in prop::collection::vec((0_usize..6, 0_u32..0x1000, 0_u32..40), 0..600),
            ids in prop::collection::vec(0_u32..0x1000, 1..50),
        ) {
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(mask, value, route)| {
                    let mask = masks[mask % masks.len()];
                    (mask, value & mask, route)
                })
                .collect();
            let mut index = TableIndexes::new();
            // Not the first of its table.
            index.add(vec![(0x7F0, 0x120, 3), (0x7F0, 0x120, 4)]);
            let (class, reach) = index.add(entries.clone());
            for raw in ids {
                let mut expected: Vec<u32> = entries
                    .iter()
                    .filter(|(mask, value, _)| raw & mask == *value)
                    .map(|entry| entry.2)
                    .collect();
                expected.sort_unstable();
                expected.dedup();
                prop_assert!(expected.len() <= reach.merged.max(reach.longest));
                prop_assert_eq!(look_up(&index, class, raw), expected);
            }
        }
    }
}
