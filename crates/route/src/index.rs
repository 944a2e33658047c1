//! The matching index of one port and one class of frames: it finds the routes that match an ID.
//!
//! All filters are entries `(raw & mask) == value`. Entries with the same mask form a group, and a
//! group is one open-addressed hash table over `value`. A look-up therefore costs one probe for
//! each *different* mask, regardless of the number of routes. A group whose values differ in the
//! low eleven bits (SFF identifiers) and that is not sparse uses those bits as its hash: this is
//! the plain 2048-entry table, without collisions.
//!
//! Where there are several groups, a bitmap with eight bits for each slot shows first whether the
//! group can contain the ID at all. This test has no branch, so that the path of a frame through
//! the groups is the same for all IDs; and the bitmap stays in the near caches where the slots do
//! not.
//!
//! Size: an entry takes at most eight slots of 9 bytes (bitmap included) in its group, mostly two
//! to four, and 12 bytes in the lists where several routes have the same value.

use alloc::vec::Vec;

/// No route: marks an empty slot.
const NONE: u32 = u32::MAX;
/// Flag in [`IndexSlot::routes`]: the remaining bits are an index into [`IdIndex::lists`].
const MANY: u32 = 1 << 31;
/// Longest run of slots that a look-up may have to walk. If it would be longer, the group's table
/// is built again with another multiplier or more room.
const PROBES: usize = 8;
/// Maximum number of values of a group that gets more room than it needs.
const SMALL: usize = 1024;
/// Multipliers for the hash, tried in turn; odd, with well-spread bits.
const MULTIPLIERS: [u32; 4] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F];

/// Position in a list of routes that is traversed in ascending order: the next route, and the range
/// of those after it in [`IdIndex::rest`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteCursor {
    head: u32,
    next: u32,
    end: u32,
}

/// Eight bytes, because the slots are the part of a large table that does not fit into the caches.
#[derive(Clone, Copy, Debug)]
struct IndexSlot {
    /// The value; in an empty slot, a number that no `raw & mask` can be.
    value: u32,
    /// The route; or, with [`MANY`], a list of routes; or [`NONE`].
    routes: u32,
}

#[derive(Clone, Copy, Debug)]
struct SlotGroup {
    mask: u32,
    multiplier: u32,
    shift: u32,
    /// Start of this group's slots. After the last slot that the hash can address there are as many
    /// more as the longest run of probes needs, and an empty one.
    base: u32,
}

/// The bitmap of a group: it shows whether the group may contain a value.
#[derive(Clone, Copy, Debug)]
struct GroupBits {
    mask: u32,
    multiplier: u32,
    shift: u32,
    /// Start of this group's words.
    base: u32,
}

impl GroupBits {
    /// Returns the word and the bit for a value.
    #[inline]
    fn place(&self, raw: u32) -> (usize, u32) {
        let at = (raw & self.mask).wrapping_mul(self.multiplier) >> self.shift;
        (self.base as usize + (at / 64) as usize, at % 64)
    }
}

impl SlotGroup {
    fn home(&self, value: u32) -> usize {
        // `shift` is 1..=31: the top bits of the product.
        (value.wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// Returns the slots filled with `lists`, or `None` if a run of probes would exceed `longest`.
    fn fill(&self, lists: &[IndexSlot], longest: usize) -> Option<Vec<IndexSlot>> {
        let empty = IndexSlot {
            // The mask never has all bits set: those that the class determines are not in it.
            value: !self.mask,
            routes: NONE,
        };
        let mut slots = alloc::vec![empty; 1 << (32 - self.shift)];
        for list in lists {
            let mut at = self.home(list.value);
            let end = at.saturating_add(longest);
            while slots.get(at).is_some_and(|slot| slot.routes != NONE) {
                if at == end {
                    return None;
                }
                at += 1;
            }
            match slots.get_mut(at) {
                Some(slot) => *slot = *list,
                None => slots.push(*list),
            }
        }
        slots.push(empty);
        Some(slots)
    }
}

/// The answer of [`IdIndex::find_only`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum OnlyMatch {
    /// No route matches the ID.
    NoRoute,
    /// Only this route does.
    Route(u32),
    /// Several routes may match: the caller must use [`IdIndex::routes`].
    Unknown,
}

/// The routes that match an ID, for one port and one class.
#[derive(Debug)]
pub(crate) struct IdIndex {
    /// Routes that match every ID.
    always: u32,
    groups: Vec<SlotGroup>,
    /// One bitmap for each group; empty if there is only one group.
    bits: Vec<GroupBits>,
    words: Vec<u64>,
    slots: Vec<IndexSlot>,
    /// Ranges of `rest`.
    lists: Vec<(u32, u32)>,
    rest: Vec<u32>,
}

impl IdIndex {
    /// Builds the index. `entries` are (mask, value, route); no mask has all bits set.
    pub(crate) fn build(mut entries: Vec<(u32, u32, u32)>) -> Self {
        entries.sort_unstable();
        entries.dedup();
        let mut index = Self {
            always: NONE,
            groups: Vec::new(),
            bits: Vec::new(),
            words: Vec::new(),
            slots: Vec::new(),
            lists: Vec::new(),
            rest: Vec::new(),
        };
        for group in entries.chunk_by(|a, b| a.0 == b.0) {
            let mask = group[0].0;
            let mut lists = Vec::new();
            for list in group.chunk_by(|a, b| a.1 == b.1) {
                lists.push(IndexSlot {
                    value: list[0].1,
                    routes: index.add_list(list),
                });
            }
            if mask == 0 {
                index.always = lists[0].routes;
            } else {
                index.add_group(mask, &lists);
            }
        }
        if index.groups.len() > 1 {
            let groups = index.groups.clone();
            let ends = groups.iter().skip(1).map(|next| next.base as usize);
            for (group, end) in groups.iter().zip(ends.chain([index.slots.len()])) {
                index.add_bits(group, end);
            }
        }
        index.slots.shrink_to_fit();
        index.lists.shrink_to_fit();
        index.rest.shrink_to_fit();
        index
    }

    fn add_list(&mut self, list: &[(u32, u32, u32)]) -> u32 {
        if let [(_, _, only)] = list {
            return *only;
        }
        let start = self.rest.len() as u32;
        self.rest.extend(list.iter().map(|entry| entry.2));
        self.lists.push((start, self.rest.len() as u32));
        (self.lists.len() as u32 - 1) | MANY
    }

    /// Returns the maximum number of lists of routes that a frame can match.
    pub(crate) fn lists(&self) -> usize {
        self.groups.len() + 1
    }

    fn add_group(&mut self, mask: u32, lists: &[IndexSlot]) {
        let base = self.slots.len() as u32;
        let group = |multiplier: u32, bits: u32| SlotGroup {
            mask,
            multiplier,
            shift: 32 - bits,
            base,
        };
        let direct = group(1 << 21, 11);
        if lists.len() >= 256
            && let Some(slots) = direct.fill(lists, 0)
        {
            self.slots.extend(slots);
            self.groups.push(direct);
            return;
        }
        // Small groups get more room: an ID that is not in its home slot costs a mispredicted
        // branch, which is most of the cost of a look-up. Large groups are at most half full, and
        // get twice the room where no multiplier spreads their values well.
        let room = if lists.len() <= SMALL { 4 } else { 2 };
        let bits = |room: usize| {
            (lists.len() * room)
                .next_power_of_two()
                .trailing_zeros()
                .clamp(1, 31)
        };
        let tries = [
            (bits(room), PROBES),
            (bits(4), PROBES),
            (bits(room), usize::MAX),
        ];
        for (bits, longest) in tries {
            for multiplier in MULTIPLIERS {
                let group = group(multiplier, bits);
                if let Some(slots) = group.fill(lists, longest) {
                    self.slots.extend(slots);
                    self.groups.push(group);
                    return;
                }
            }
        }
    }

    /// Builds the bitmap for the slots of a group, which end at `end`.
    fn add_bits(&mut self, group: &SlotGroup, end: usize) {
        // Eight bits for each slot.
        let shift = group.shift.saturating_sub(3).max(1);
        let bits = GroupBits {
            mask: group.mask,
            multiplier: group.multiplier,
            shift,
            base: self.words.len() as u32,
        };
        let words = 1_usize << (32 - shift).saturating_sub(6);
        self.words.resize(self.words.len() + words, 0);
        for slot in self.slots.get(group.base as usize..end).unwrap_or(&[]) {
            if slot.routes != NONE {
                let (word, bit) = bits.place(slot.value);
                if let Some(word) = self.words.get_mut(word) {
                    *word |= 1 << bit;
                }
            }
        }
        self.bits.push(bits);
    }

    /// Returns the group's entry for this ID: a slot's routes, or [`NONE`].
    #[inline]
    fn find(&self, group: &SlotGroup, raw: u32) -> u32 {
        let value = raw & group.mask;
        let mut at = group.base as usize + group.home(value);
        while let Some(slot) = self.slots.get(at) {
            if slot.value == value || slot.routes == NONE {
                return slot.routes;
            }
            at += 1;
        }
        NONE
    }

    fn list(&self, routes: u32) -> &[u32] {
        self.lists
            .get((routes & !MANY) as usize)
            .and_then(|(start, end)| self.rest.get(*start as usize..*end as usize))
            .unwrap_or(&[])
    }

    fn cursor(&self, routes: u32) -> RouteCursor {
        if routes & MANY == 0 {
            return RouteCursor {
                head: routes,
                next: 0,
                end: 0,
            };
        }
        match self.lists.get((routes & !MANY) as usize) {
            Some((start, end)) => RouteCursor {
                head: self.rest.get(*start as usize).copied().unwrap_or(NONE),
                next: start + 1,
                end: *end,
            },
            None => RouteCursor {
                head: NONE,
                next: 0,
                end: 0,
            },
        }
    }

    /// Returns the only route that matches this ID. This covers the case that most frames of most
    /// tables meet: at most one list to look at.
    #[inline]
    pub(crate) fn find_only(&self, raw: u32) -> OnlyMatch {
        let found = match &self.groups[..] {
            [] => self.always,
            [group] if self.always == NONE => self.find(group, raw),
            _ => return OnlyMatch::Unknown,
        };
        match found {
            NONE => OnlyMatch::NoRoute,
            route if route & MANY == 0 => OnlyMatch::Route(route),
            _ => OnlyMatch::Unknown,
        }
    }

    /// Calls `each` with every route that matches this ID, in ascending order and each once, until
    /// `each` returns `false`. `scratch` must have room for [`IdIndex::lists`] cursors.
    pub(crate) fn routes(
        &self,
        raw: u32,
        scratch: &mut Vec<RouteCursor>,
        mut each: impl FnMut(u32) -> bool,
    ) {
        scratch.clear();
        let mut only = self.always;
        let mut add = |found: u32| {
            if found == NONE {
            } else if only == NONE {
                only = found;
            } else {
                if scratch.is_empty() {
                    scratch.push(self.cursor(only));
                }
                scratch.push(self.cursor(found));
            }
        };
        match &self.groups[..] {
            [] => {}
            [group] => add(self.find(group, raw)),
            groups => {
                for (bits, groups) in self.bits.chunks(64).zip(groups.chunks(64)) {
                    let mut may = 0_u64;
                    for bits in bits.iter().rev() {
                        let (word, bit) = bits.place(raw);
                        may = may << 1 | self.words.get(word).copied().unwrap_or(0) >> bit & 1;
                    }
                    while may != 0 {
                        if let Some(group) = groups.get(may.trailing_zeros() as usize) {
                            add(self.find(group, raw));
                        }
                        may &= may - 1;
                    }
                }
            }
        }
        if only == NONE {
            return;
        }
        if !scratch.is_empty() {
            self.merge(scratch, each);
            return;
        }
        let list = if only & MANY == 0 {
            core::slice::from_ref(&only)
        } else {
            self.list(only)
        };
        for route in list {
            if !each(*route) {
                return;
            }
        }
    }

    /// Merges several lists in ascending order.
    fn merge(&self, cursors: &mut [RouteCursor], mut each: impl FnMut(u32) -> bool) {
        let mut previous = NONE;
        while let Some(lowest) = cursors.iter_mut().min_by_key(|cursor| cursor.head) {
            let route = lowest.head;
            if route == NONE {
                return;
            }
            lowest.head = NONE;
            if lowest.next < lowest.end {
                lowest.head = self.rest.get(lowest.next as usize).copied().unwrap_or(NONE);
                lowest.next += 1;
            }
            if route != previous && !each(route) {
                return;
            }
            previous = route;
        }
    }
}
