//! From rules to jobs of the kernel and back.

use super::wire::{
    Crc8, ECHO, FD, Job, MOD_DATA, MOD_FLAGS, MOD_ID, MOD_LEN, Modification, SAME_PORT, STAMP, Xor,
};
use frame::CanId;
use route::cangw::{OPS, Rule, profile_number};
use route::{Crc8Profile, IdFilter, IdSet, Modify, XorSum};

/// Behind a mark in an operand, so that no operand of others is taken for one.
const MAGIC: [u8; 4] = *b"cang";

/// The place of OR in [`OPS`].
const OR: usize = 1;

impl Job {
    /// The job of a rule between two interfaces, without a mark.
    #[must_use]
    pub fn of(rule: &Rule, source: u32, destination: u32) -> Self {
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
        Self {
            source,
            destination,
            flags,
            hops: rule.hops.unwrap_or(0),
            filter: rule.filter.as_ref().map_or((0, 0), raw_filter),
            modify: [0, 1, 2, 3].map(|place: usize| {
                let modify = rule.modify.get(place).and_then(Option::as_ref)?;
                Some(modification(modify, rule.size()))
            }),
            crc8: rule.crc8.as_ref().map(raw_crc8),
            xor: rule.xor.as_ref().map(|sum| Xor {
                indices: [sum.from, sum.to, sum.result].map(|index| index as i8),
                init: sum.init,
            }),
            uid: 0,
        }
    }

    /// The same job with a mark by which it is known again.
    ///
    /// The kernel keeps `CGW_MOD_UID` only in a job that has a modification (`cgw_parse_attr`, 5.10
    /// to 7.3), and a job that has one copies each frame where it would only refer to it. So a job
    /// without one carries its mark in the operand of a modification that the kernel keeps and
    /// lists, but does not carry out, because of the parts of a frame it names none that such
    /// frames have (see [`Limits::hidden_marks`](super::Limits)). Where a kernel refuses that, the
    /// job gets a modification that changes nothing: OR of the ID with 0.
    #[must_use]
    pub fn marked(mut self, mark: u32, hidden: bool) -> Self {
        if self.modifies() {
            self.uid = mark;
            return self;
        }
        let mut or = Modification {
            kinds: if hidden { self.kind_of_mark() } else { MOD_ID },
            data: vec![0; if self.flags & FD == 0 { 8 } else { 64 }],
            ..Modification::default()
        };
        let content = mark.to_be_bytes().into_iter().chain(MAGIC);
        or.data
            .iter_mut()
            .zip(content)
            .for_each(|(to, from)| *to = from);
        if let Some(place) = self.modify.get_mut(OR) {
            *place = Some(or);
        }
        if !hidden {
            self.uid = mark;
        }
        self
    }

    /// Its mark, wherever it carries it; 0 for none.
    #[must_use]
    pub fn mark(&self) -> u32 {
        match (self.uid, self.operand_mark()) {
            (0, Some(mark)) => mark,
            (uid, _) => uid,
        }
    }

    /// The same job without a mark and what only carries it.
    #[must_use]
    pub fn unmarked(mut self) -> Self {
        if self.operand_mark().is_some()
            && let Some(or) = self.modify.get_mut(OR)
        {
            *or = None;
        }
        self.uid = 0;
        self
    }

    /// The mark in an operand that serves nothing else.
    fn operand_mark(&self) -> Option<u32> {
        let [None, Some(or), None, None] = &self.modify else {
            return None;
        };
        let nothing = or.kinds == self.kind_of_mark() || (or.kinds, or.id) == (MOD_ID, 0);
        let (mark, rest) = or.data.split_first_chunk::<4>()?;
        let marks = nothing && rest.starts_with(&MAGIC);
        marks.then_some(u32::from_be_bytes(*mark))
    }

    /// A part that the job's frames do not have: classic ones have no FD flags, and nothing is
    /// named by the uppermost bit.
    fn kind_of_mark(&self) -> u8 {
        if self.flags & FD == 0 {
            MOD_FLAGS
        } else {
            0x80
        }
    }

    /// It has a modification that the kernel carries out.
    pub(super) fn modifies(&self) -> bool {
        let parts = self.parts();
        self.modify.iter().flatten().any(|m| m.kinds & parts != 0)
    }

    /// The parts of its frames that can be modified.
    fn parts(&self) -> u8 {
        let classic = MOD_ID | MOD_LEN | MOD_DATA;
        if self.flags & FD == 0 {
            classic
        } else {
            classic | MOD_FLAGS
        }
    }

    /// The rule, with the interfaces' names; without its mark and what only carries it.
    #[must_use]
    pub fn rule(&self, source: String, destination: String) -> Rule {
        let (id, mask) = self.filter;
        let errors = mask & CanId::ERR_FLAG != 0;
        let filter = IdFilter {
            set: IdSet::Masked {
                id: id & !CanId::ERR_FLAG,
                mask,
            },
            inverted: id & CanId::ERR_FLAG != 0 && !errors,
        };
        let mut rule = Rule {
            source,
            destination,
            fd: self.flags & FD != 0,
            echo: self.flags & ECHO != 0,
            stamp: self.flags & STAMP != 0,
            same_port: self.flags & SAME_PORT != 0,
            hops: (self.hops != 0).then_some(self.hops),
            filter: (self.filter != (0, 0)).then_some(filter),
            crc8: self.crc8.as_ref().map(crc8),
            xor: self.xor.as_ref().map(|sum| {
                let [from, to, result] = sum.indices.map(i16::from);
                XorSum {
                    from,
                    to,
                    result,
                    init: sum.init,
                }
            }),
            ..Rule::default()
        };
        if self.operand_mark().is_none() {
            for ((op, from), to) in OPS.into_iter().zip(&self.modify).zip(&mut rule.modify) {
                let carried_out = |from: &&Modification| from.kinds & self.parts() != 0;
                *to = from.as_ref().filter(carried_out).map(|from| {
                    let part = |kind| from.kinds & self.parts() & kind != 0;
                    Modify {
                        op,
                        id: part(MOD_ID).then_some(from.id),
                        len: part(MOD_LEN).then_some(from.len),
                        flags: part(MOD_FLAGS).then_some(from.flags),
                        data: part(MOD_DATA).then(|| from.data.clone()),
                    }
                });
            }
        }
        rule
    }
}

/// cangw's `CAN_INV_FILTER` is the error flag of the ID.
fn raw_filter(filter: &IdFilter) -> (u32, u32) {
    match filter.set {
        IdSet::Masked { id, mask } if filter.inverted => (id | CanId::ERR_FLAG, mask),
        IdSet::Masked { id, mask } => (id & !CanId::ERR_FLAG, mask),
        // `route::cangw` gives masks only.
        IdSet::Range { .. } => (0, 0),
    }
}

/// What a part that is left alone holds does not matter to the kernel; it is 0, so that equal
/// modifications are equal jobs.
fn modification(modify: &Modify, size: usize) -> Modification {
    let mut kinds = 0;
    for (set, kind) in [
        (modify.id.is_some(), MOD_ID),
        (modify.len.is_some(), MOD_LEN),
        (modify.flags.is_some(), MOD_FLAGS),
        (modify.data.is_some(), MOD_DATA),
    ] {
        if set {
            kinds |= kind;
        }
    }
    let mut data = modify.data.clone().unwrap_or_default();
    data.resize(size, 0);
    Modification {
        kinds,
        id: modify.id.unwrap_or(0),
        len: modify.len.unwrap_or(0),
        flags: modify.flags.unwrap_or(0),
        data,
    }
}

fn raw_crc8(crc: &route::Crc8) -> Crc8 {
    let mut profile_data = [0; 20];
    match &crc.profile {
        Crc8Profile::OneByte(byte) => profile_data[0] = *byte,
        Crc8Profile::Sixteen(bytes) => profile_data[..16].copy_from_slice(bytes),
        Crc8Profile::None | Crc8Profile::SffIdXor => {}
    }
    Crc8 {
        // `route::cangw` has checked that they are within -64 to 63.
        indices: [crc.from, crc.to, crc.result].map(|index| index as i8),
        init: crc.init,
        final_xor: crc.final_xor,
        table: crc.table,
        profile: profile_number(&crc.profile),
        profile_data,
    }
}

fn crc8(crc: &Crc8) -> route::Crc8 {
    let [from, to, result] = crc.indices.map(i16::from);
    let [first, ..] = crc.profile_data;
    let sixteen = crc.profile_data.first_chunk().copied();
    route::Crc8 {
        from,
        to,
        result,
        init: crc.init,
        final_xor: crc.final_xor,
        table: crc.table,
        profile: match crc.profile {
            1 => Crc8Profile::OneByte(first),
            2 => Crc8Profile::Sixteen(sixteen.unwrap_or_default()),
            3 => Crc8Profile::SffIdXor,
            // can-gw adds nothing for a number that it does not know.
            _ => Crc8Profile::None,
        },
    }
}
