//! Conversion of rules to jobs of the kernel and back.

use super::wire::{ECHO, FD, GatewayJob, SAME_PORT, STAMP};
use frame::CanId;
use route::cangw::{CanGwRule, RuleAttribute};
use route::{Action, IdFilter, IdSet, Modification, ModifyOp};

/// Follows a mark in an operand, so that an operand of another program is not mistaken for a mark.
const MAGIC: [u8; 4] = *b"cang";

impl GatewayJob {
    /// Returns the job of a rule between two interfaces, without a mark.
    #[must_use]
    pub fn new(rule: &CanGwRule, source: u32, destination: u32) -> Self {
        let mut flags = 0;
        for (set, flag) in [
            (rule.echo, ECHO),
            (rule.stamp, STAMP),
            (rule.same_port, SAME_PORT),
            (rule.fd, FD),
        ] {
            if set {
                flags |= flag;
            }
        }
        let mut job = Self {
            source,
            destination,
            flags,
            hops: rule.hops.unwrap_or(0),
            filter: rule.filter.as_ref().map_or((0, 0), raw_filter),
            changes: Vec::new(),
            uid: 0,
        };
        for change in &rule.changes {
            if let Some(attribute) = change.to_attribute(rule.fd) {
                job.put(attribute);
            }
        }
        job
    }

    /// Adds an attribute that specifies a change; it replaces one of the same kind.
    pub fn put(&mut self, attribute: RuleAttribute) {
        let order = |kind| Action::attributes().position(|known| known == kind);
        let new = order(attribute.kind);
        let at = self
            .changes
            .partition_point(|there| order(there.kind) < new);
        match self.changes.get_mut(at) {
            Some(there) if there.kind == attribute.kind => *there = attribute,
            _ => self.changes.insert(at, attribute),
        }
    }

    /// Returns its modifications, including those that work on nothing.
    pub(super) fn modifications(&self) -> impl Iterator<Item = Modification> {
        self.changes.iter().filter_map(Modification::of)
    }

    /// Returns the same job with a mark by which it can be recognized.
    ///
    /// The kernel keeps `CGW_MOD_UID` only in a job that has a modification (`cgw_parse_attr`, 5.10
    /// to 7.3), and a job that has one copies each frame where otherwise it would only reference
    /// it. So a job without a modification carries its mark in the operand of a modification that
    /// the kernel keeps and lists, but does not carry out: the modification names only a part that
    /// the frames of the job do not have (see [`Limits::hidden_marks`](super::KernelLimits)). If a
    /// kernel refuses that, the job gets a modification that changes nothing: OR of the ID with 0.
    #[must_use]
    pub fn marked(mut self, mark: u32, hidden: bool) -> Self {
        if self.modifies() {
            self.uid = mark;
            return self;
        }
        let mut or = Modification {
            parts: if hidden {
                self.part_of_mark()
            } else {
                Modification::ID
            },
            ..Modification::new(ModifyOp::Or, self.is_fd())
        };
        let content = mark.to_be_bytes().into_iter().chain(MAGIC);
        or.data
            .iter_mut()
            .zip(content)
            .for_each(|(to, from)| *to = from);
        self.put(or.to_attribute());
        if !hidden {
            self.uid = mark;
        }
        self
    }

    /// Returns its mark, in either form; 0 for none.
    #[must_use]
    pub fn mark(&self) -> u32 {
        match (self.uid, self.operand_mark()) {
            (0, Some(mark)) => mark,
            (uid, _) => uid,
        }
    }

    /// Returns the same job without its mark and without the modification that only carries it.
    #[must_use]
    pub fn unmarked(mut self) -> Self {
        if self.operand_mark().is_some() {
            let is_change = |it: &RuleAttribute| Modification::of(it).is_none();
            self.changes.retain(is_change);
        }
        self.uid = 0;
        self
    }

    /// Returns the mark in an operand that has no other purpose.
    fn operand_mark(&self) -> Option<u32> {
        let mut all = self.modifications();
        let or = all.next().filter(|first| first.op == ModifyOp::Or)?;
        if all.next().is_some() {
            return None;
        }
        let nothing = or.parts == self.part_of_mark() || (or.parts, or.id) == (Modification::ID, 0);
        let (mark, rest) = or.data.split_first_chunk::<4>()?;
        let marks = nothing && rest.starts_with(&MAGIC);
        marks.then_some(u32::from_be_bytes(*mark))
    }

    /// Returns a part that the job's frames do not have: classic frames have no FD flags, and the
    /// uppermost bit does not stand for any part.
    fn part_of_mark(&self) -> u8 {
        if self.is_fd() {
            0x80
        } else {
            Modification::FLAGS
        }
    }

    fn is_fd(&self) -> bool {
        self.flags & FD != 0
    }

    /// Returns whether it has a modification that the kernel carries out.
    pub(super) fn modifies(&self) -> bool {
        let parts = Modification::parts_of(self.is_fd());
        self.modifications().any(|m| m.parts & parts != 0)
    }

    /// Returns the rule, with the interfaces' names; without its mark and the modification that
    /// only carries it.
    #[must_use]
    pub fn rule(&self, source: String, destination: String) -> CanGwRule {
        let (id, mask) = self.filter;
        let errors = mask & CanId::ERR_FLAG != 0;
        let filter = IdFilter {
            set: IdSet::Masked {
                id: id & !CanId::ERR_FLAG,
                mask,
            },
            inverted: id & CanId::ERR_FLAG != 0 && !errors,
        };
        let marks = self.operand_mark().is_some();
        let changes = self.changes.iter();
        let changes = changes.filter(|it| !marks || Modification::of(it).is_none());
        CanGwRule {
            source,
            destination,
            fd: self.is_fd(),
            echo: self.flags & ECHO != 0,
            stamp: self.flags & STAMP != 0,
            same_port: self.flags & SAME_PORT != 0,
            hops: (self.hops != 0).then_some(self.hops),
            filter: (self.filter != (0, 0)).then_some(filter),
            changes: changes
                .filter_map(|it| Action::from_attribute(it, self.is_fd()))
                .collect(),
        }
    }
}

/// Returns the filter as ID and mask. cangw's `CAN_INV_FILTER` is the error flag of the ID.
fn raw_filter(filter: &IdFilter) -> (u32, u32) {
    match filter.set {
        IdSet::Masked { id, mask } if filter.inverted => (id | CanId::ERR_FLAG, mask),
        IdSet::Masked { id, mask } => (id & !CanId::ERR_FLAG, mask),
        // `route::cangw` returns only masks.
        IdSet::Range { .. } => (0, 0),
    }
}
