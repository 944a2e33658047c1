//! The matching index of one port and one class of frames: which routes name this ID.
//!
//! All filters are entries `(raw & mask) == value`. Entries with the same mask form a group, and
//! a group is one open-addressed hash table over `value`, so a look-up costs one probe for each
//! *different* mask however many routes there are. A group whose values differ in the low eleven
//! bits (SFF identifiers) and that is not sparse takes those bits as its hash: the plain
//! 2048-entry table, without collisions.
//!
//! Size: an entry takes at most four slots of 16 bytes in its group (128 bytes where the
//! 2048-entry table is chosen) and 4 bytes in the lists.

use alloc::vec::Vec;

/// No route: an empty slot.
const NONE: u32 = u32::MAX;
/// Longest run of slots that a look-up may have to walk before a group's table is made again
/// with another multiplier or more room.
const PROBES: u32 = 8;
/// Multipliers for the hash, tried in turn; odd, with well-spread bits.
const MULTIPLIERS: [u32; 4] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F];

/// Routes in ascending order: the first one, and the rest in [`Index::rest`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    head: u32,
    next: u32,
    end: u32,
}

impl Cursor {
    const EMPTY: Self = Self {
        head: NONE,
        next: 0,
        end: 0,
    };
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    value: u32,
    routes: Cursor,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    mask: u32,
    multiplier: u32,
    shift: u32,
    /// Where this group's slots begin.
    base: u32,
    /// Their number minus one; a power of two minus one.
    last: u32,
}

impl Group {
    fn slot(&self, value: u32) -> u32 {
        // `shift` is 1..=31, so the product's top bits are at most `last`.
        value.wrapping_mul(self.multiplier) >> self.shift
    }
}

/// Which routes name an ID, for one port and one class.
#[derive(Debug)]
pub(crate) struct Index {
    always: Cursor,
    groups: Vec<Group>,
    slots: Vec<Slot>,
    rest: Vec<u32>,
}

impl Index {
    /// `entries` are (mask, value, route).
    pub(crate) fn build(mut entries: Vec<(u32, u32, u32)>) -> Self {
        entries.sort_unstable();
        entries.dedup();
        let mut index = Self {
            always: Cursor::EMPTY,
            groups: Vec::new(),
            slots: Vec::new(),
            rest: Vec::new(),
        };
        for group in entries.chunk_by(|a, b| a.0 == b.0) {
            let mask = group[0].0;
            let mut lists = Vec::new();
            for list in group.chunk_by(|a, b| a.1 == b.1) {
                let next = index.rest.len() as u32;
                index.rest.extend(list[1..].iter().map(|entry| entry.2));
                lists.push(Slot {
                    value: list[0].1,
                    routes: Cursor {
                        head: list[0].2,
                        next,
                        end: index.rest.len() as u32,
                    },
                });
            }
            if mask == 0 {
                index.always = lists[0].routes;
            } else {
                index.add_group(mask, &lists);
            }
        }
        index.slots.shrink_to_fit();
        index.rest.shrink_to_fit();
        index
    }

    /// How many lists of routes a frame can meet at most.
    pub(crate) fn lists(&self) -> usize {
        self.groups.len() + 1
    }

    fn add_group(&mut self, mask: u32, lists: &[Slot]) {
        let base = self.slots.len() as u32;
        let fits = |group: Group, longest: u32| -> Option<Vec<Slot>> {
            let mut slots = alloc::vec![
                Slot { value: 0, routes: Cursor::EMPTY };
                group.last as usize + 1
            ];
            for list in lists {
                let mut at = group.slot(list.value);
                let mut probes = 0;
                while slots[at as usize].routes.head != NONE {
                    probes += 1;
                    if probes > longest {
                        return None;
                    }
                    at = (at + 1) & group.last;
                }
                slots[at as usize] = *list;
            }
            Some(slots)
        };
        let group = |multiplier: u32, bits: u32| Group {
            mask,
            multiplier,
            shift: 32 - bits,
            base,
            last: (1 << bits) - 1,
        };
        let direct = group(1 << 21, 11);
        if lists.len() >= 256
            && let Some(slots) = fits(direct, 0)
        {
            self.slots.extend(slots);
            self.groups.push(direct);
            return;
        }
        // At most half full; twice the room when no multiplier spreads the values well.
        let bits = (lists.len() * 2)
            .next_power_of_two()
            .trailing_zeros()
            .clamp(1, 31);
        let tries = [
            (bits, PROBES),
            ((bits + 1).min(31), PROBES),
            (bits, u32::MAX),
        ];
        for (bits, longest) in tries {
            for multiplier in MULTIPLIERS {
                let group = group(multiplier, bits);
                if let Some(slots) = fits(group, longest) {
                    self.slots.extend(slots);
                    self.groups.push(group);
                    return;
                }
            }
        }
    }

    fn find(&self, group: &Group, raw: u32) -> Option<Cursor> {
        let value = raw & group.mask;
        let slots = self
            .slots
            .get(group.base as usize..)?
            .get(..=group.last as usize)?;
        let mut at = group.slot(value);
        loop {
            let slot = slots.get(at as usize)?;
            if slot.routes.head == NONE {
                return None;
            }
            if slot.value == value {
                return Some(slot.routes);
            }
            at = (at + 1) & group.last;
        }
    }

    /// Calls `each` with every route that names this ID, in ascending order, each once, until it
    /// says `false`. `scratch` must have room for [`Index::lists`] cursors.
    #[inline]
    pub(crate) fn routes(
        &self,
        raw: u32,
        scratch: &mut Vec<Cursor>,
        mut each: impl FnMut(u32) -> bool,
    ) {
        scratch.clear();
        let mut only = self.always;
        for group in &self.groups {
            let Some(found) = self.find(group, raw) else {
                continue;
            };
            if only.head == NONE {
                only = found;
            } else {
                if scratch.is_empty() {
                    scratch.push(only);
                }
                scratch.push(found);
            }
        }
        if scratch.is_empty() {
            if only.head != NONE && each(only.head) {
                for route in self.rest_of(only) {
                    if !each(*route) {
                        return;
                    }
                }
            }
            return;
        }
        let mut previous = NONE;
        while let Some(lowest) = scratch.iter_mut().min_by_key(|cursor| cursor.head) {
            let route = lowest.head;
            if route == NONE {
                return;
            }
            match self.rest_of(*lowest).first() {
                Some(next) => {
                    lowest.head = *next;
                    lowest.next += 1;
                }
                None => lowest.head = NONE,
            }
            if route != previous && !each(route) {
                return;
            }
            previous = route;
        }
    }

    fn rest_of(&self, cursor: Cursor) -> &[u32] {
        self.rest
            .get(cursor.next as usize..cursor.end as usize)
            .unwrap_or(&[])
    }
}
