//! `-m` and `-M`, and `struct cgw_frame_mod` and `cgw_fdframe_mod`.

use super::{IdOperand, Modify, ModifyOp};
use crate::Action;
use crate::operations::bpf::ByteMask;
use crate::operations::cangw::{
    CanGw, GivenOption, KernelNeed, KernelVersion, OptionSource, RuleAttribute, RulePart,
};
use crate::text::scan::{ArgumentPart, Read, whole};
use crate::text::words::hex;
use ::config::{Diagnostic, Diagnostics};
use alloc::{format, string::String, vec, vec::Vec};
use core::ops::Range;
use frame::dlc;

const CLASSIC: &str = "write -m AND|OR|XOR|SET:ILD:ID.LEN.DATA in hex, DATA always 16 digits";
const FD: &str = "write -M AND|OR|XOR|SET:IFLD:ID.FLAGS.LEN.DATA in hex, DATA always 128 digits";

/// The operations in can-gw's order: their names in cangw, and `CGW_MOD_*` and `CGW_FDMOD_*`.
const OPS: [(ModifyOp, &str, u16, u16); 4] = [
    (ModifyOp::And, "AND", 1, 15),
    (ModifyOp::Or, "OR", 2, 16),
    (ModifyOp::Xor, "XOR", 3, 17),
    (ModifyOp::Set, "SET", 4, 18),
];

/// Number of bytes of an attribute around the payload: the frame's header, and the byte that
/// specifies which parts of the frame count.
const AROUND: usize = 9;

fn row(op: ModifyOp) -> (usize, &'static str, [u16; 2]) {
    let mut rows = OPS.into_iter().enumerate();
    let found = rows.find(|(_, (of, ..))| *of == op);
    found.map_or((0, "", [0; 2]), |(at, (_, name, classic, fd))| {
        (at, name, [classic, fd])
    })
}

const fn size(fd: bool) -> usize {
    if fd { dlc::FD_MAX } else { dlc::CLASSIC_MAX }
}

/// A modification in the kernel's form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Modification {
    /// The operation.
    pub op: ModifyOp,
    /// It is for FD frames instead of classic ones.
    pub fd: bool,
    /// The parts that it works on: [`Modification::ID`] and the other flags.
    pub parts: u8,
    /// Operand for the ID with its flags.
    pub id: u32,
    /// Operand for the length.
    pub len: u8,
    /// Operand for the FD flags; 0 for classic frames.
    pub flags: u8,
    /// Operand for the payload: 8 bytes, or 64 for FD frames.
    pub data: Vec<u8>,
}

impl Modification {
    /// It works on the ID (`CGW_MOD_ID`).
    pub const ID: u8 = 1;
    /// It works on the length (`CGW_MOD_LEN`).
    pub const LEN: u8 = 2;
    /// It works on the payload (`CGW_MOD_DATA`).
    pub const DATA: u8 = 4;
    /// It works on the FD flags (`CGW_MOD_FLAGS`).
    pub const FLAGS: u8 = 8;

    /// Returns a modification that works on no part.
    #[must_use]
    pub fn new(op: ModifyOp, fd: bool) -> Self {
        Self {
            op,
            fd,
            parts: 0,
            id: 0,
            len: 0,
            flags: 0,
            data: vec![0; size(fd)],
        }
    }

    /// Returns the parts of frames that can be modified.
    #[must_use]
    pub const fn parts_of(fd: bool) -> u8 {
        let classic = Self::ID | Self::LEN | Self::DATA;
        if fd { classic | Self::FLAGS } else { classic }
    }

    /// Returns the modification that an attribute contains; `None` if it is not a modification of
    /// the size that the kernel sends.
    #[must_use]
    pub fn of(attribute: &RuleAttribute) -> Option<Self> {
        let (op, fd) = OPS.into_iter().find_map(|(op, _, classic, fd)| {
            let is_fd = attribute.kind == fd;
            (is_fd || attribute.kind == classic).then_some((op, is_fd))
        })?;
        if attribute.value.len() != size(fd) + AROUND {
            return None;
        }
        let (id, rest) = attribute.value.split_first_chunk::<4>()?;
        let (&[len, flags, _, _], rest) = rest.split_first_chunk::<4>()?;
        let (parts, data) = rest.split_last()?;
        Some(Self {
            op,
            fd,
            parts: *parts,
            id: u32::from_ne_bytes(*id),
            len,
            flags: if fd { flags } else { 0 },
            data: data.to_vec(),
        })
    }

    /// Returns the attribute: `struct can_frame` or `struct canfd_frame`, and a byte that specifies
    /// which parts of it count.
    #[must_use]
    pub fn to_attribute(&self) -> RuleAttribute {
        let (_, _, [classic, fd]) = row(self.op);
        let flags = if self.fd { self.flags } else { 0 };
        let mut value = self.id.to_ne_bytes().to_vec();
        value.extend([self.len, flags, 0, 0]);
        value.extend(&self.data);
        value.resize(size(self.fd) + AROUND - 1, 0);
        value.push(self.parts);
        RuleAttribute {
            kind: if self.fd { fd } else { classic },
            value,
        }
    }
}

impl CanGw for Modify {
    const OPTIONS: &'static str = "mM";
    const ATTRIBUTES: &'static [u16] = &[1, 2, 3, 4, 15, 16, 17, 18];

    fn from_options(
        given: &[&GivenOption<'_>],
        command: OptionSource,
        found: &mut Diagnostics,
    ) -> Vec<(Self, Range<usize>)> {
        let mut kept = [const { None }; OPS.len()];
        let mut count = 0;
        let mut other = None;
        for option in given {
            let fd = option.letter == 'M';
            let modify = match read(option.text, fd) {
                Ok(modify) => modify,
                Err(wrong) => {
                    found.push(option.wrong(&wrong));
                    continue;
                }
            };
            if modify.is_nothing() {
                let message = "this changes nothing; it is left out";
                let hint = "with this, cangate marks its own rules";
                found.push(Diagnostic::warning(option.at.clone(), message).hint(hint));
                continue;
            }
            if fd != command.fd {
                other.get_or_insert(*option);
            }
            count += 1;
            if count > OPS.len() {
                let message = "cangw takes four modifications and ignores this one";
                let d = Diagnostic::warning(option.at.clone(), message);
                found.push(d.hint("leave it out"));
                continue;
            }
            let (at, ..) = row(modify.op);
            if let Some(place) = kept.get_mut(at)
                && place.replace((modify, option.at.clone())).is_some()
            {
                let message = "a rule has one modification of each sort; can-gw takes the last one";
                let d = Diagnostic::warning(option.at.clone(), message);
                found.push(d.hint("leave out the first"));
            }
        }
        if let Some(option) = other.filter(|_| command.has_rule) {
            let (message, hint) = if command.fd {
                (
                    "-m changes classic frames, and -X takes FD frames",
                    "use -M with -X",
                )
            } else {
                (
                    "-M changes FD frames, and this rule takes classic frames",
                    "use -m, or add -X",
                )
            };
            found.push(Diagnostic::error(option.at.clone(), message).hint(hint));
        }
        kept.into_iter().flatten().collect()
    }

    fn rule_part(&self) -> Result<RulePart, String> {
        let (at, ..) = row(self.op);
        Ok(RulePart::Modification(at as u8))
    }

    /// Returns the form of a rule, with a payload operand of the rule's full size.
    fn for_rule(&self, fd: bool) -> Result<Option<Self>, String> {
        let mut modify = self.clone();
        if !fd {
            modify.flags = None;
        }
        let size = size(fd);
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
        Ok((!modify.is_nothing()).then_some(modify))
    }

    fn options(&self, fd: bool) -> String {
        let (_, op, _) = row(self.op);
        let mut elements = String::new();
        for (set, letter) in [
            (self.id.is_some(), 'I'),
            (self.flags.is_some(), 'F'),
            (self.len.is_some(), 'L'),
            (self.data.is_some(), 'D'),
        ] {
            if set {
                elements.push(letter);
            }
        }
        let id = self.raw_id();
        let len = self.len.unwrap_or(0);
        let data = self.data.clone().unwrap_or_else(|| vec![0; size(fd)]);
        if fd {
            let flags = self.flags.unwrap_or(0);
            format!(
                " -M {op}:{elements}:{id:03X}.{flags:X}.{len:X}.{}",
                hex(&data)
            )
        } else {
            format!(" -m {op}:{elements}:{id:03X}.{len:X}.{}", hex(&data))
        }
    }

    /// Returns the attribute. The kernel ignores the operand of a part that is not modified. The
    /// operand is 0 there, so that equal modifications give equal attributes.
    fn to_attribute(&self, fd: bool) -> Option<RuleAttribute> {
        let mut parts = 0;
        for (set, part) in [
            (self.id.is_some(), Modification::ID),
            (self.len.is_some(), Modification::LEN),
            (self.flags.is_some(), Modification::FLAGS),
            (self.data.is_some(), Modification::DATA),
        ] {
            if set {
                parts |= part;
            }
        }
        let mut data = self.data.clone().unwrap_or_default();
        data.resize(size(fd), 0);
        let modification = Modification {
            op: self.op,
            fd,
            parts,
            id: self.raw_id(),
            len: self.len.unwrap_or(0),
            flags: self.flags.unwrap_or(0),
            data,
        };
        Some(modification.to_attribute())
    }

    fn from_attribute(attribute: &RuleAttribute, fd: bool) -> Option<Self> {
        let raw = Modification::of(attribute)?;
        let parts = raw.parts & Modification::parts_of(fd);
        let has = |part| parts & part != 0;
        (parts != 0).then(|| Self {
            op: raw.op,
            id: has(Modification::ID).then_some(IdOperand::Raw(raw.id)),
            len: has(Modification::LEN).then_some(raw.len),
            flags: has(Modification::FLAGS).then_some(raw.flags),
            data: has(Modification::DATA).then_some(raw.data),
        })
    }

    fn normal(attribute: &RuleAttribute) -> Option<RuleAttribute> {
        Some(Modification::of(attribute)?.to_attribute())
    }

    fn needs(all: &[&Self], fd: bool) -> Option<KernelNeed> {
        (!fd && raises_dlc(all)).then_some(KernelNeed {
            since: &[KernelVersion(5, 11, 0)],
            why: |kernel| {
                format!(
                    "it can give a frame a DLC of 9 to 15, which can-gw supports since Linux 5.11, \
                     and this is {kernel}"
                )
            },
        })
    }
}

impl Action {
    /// Replaces modifications of the ID alone by ones with can-gw's operands, which are for the ID
    /// and its flags. `changes` are those of one rule, in can-gw's order. `has_flags`: the rule
    /// takes frames with the RTR or the error flag. If an ID is set for such frames, AND and XOR
    /// are used, because can-gw's SET replaces the flags.
    pub(crate) fn id_with_flags(changes: &mut Vec<Self>, has_flags: bool) {
        let modify = |change: &Self| match change {
            Self::Modify(modify) => Some(modify.clone()),
            _ => None,
        };
        let keeps = |modify: Modify| {
            modify.op == ModifyOp::Set && matches!(modify.id, Some(IdOperand::Id(_)))
        };
        if has_flags && changes.iter().filter_map(modify).any(keeps) {
            let all = changes.iter().filter_map(modify);
            let [and, xor] = together(all.map(|modify| modify.id_masks()));
            for change in changes.iter_mut() {
                if let Self::Modify(modify) = change {
                    modify.id = None;
                }
            }
            changes.retain(|change| !matches!(change, Self::Modify(it) if it.is_nothing()));
            put_id(changes, ModifyOp::And, and);
            put_id(changes, ModifyOp::Xor, xor);
            return;
        }
        for change in changes {
            if let Self::Modify(modify) = change
                && modify.id.is_some()
            {
                modify.id = Some(IdOperand::Raw(modify.raw_id()));
            }
        }
    }
}

/// Combines masks that are applied one after the other into the operands of an AND and a XOR after
/// it.
fn together(all: impl Iterator<Item = [ByteMask; 4]>) -> [u32; 2] {
    let masks = all.fold([ByteMask::SAME; 4], |all, next| {
        core::array::from_fn(|at| match (all.get(at), next.get(at)) {
            (Some(mask), Some(next)) => mask.then(*next),
            _ => ByteMask::SAME,
        })
    });
    [
        u32::from_le_bytes(masks.map(|mask| mask.and)),
        u32::from_le_bytes(masks.map(|mask| mask.xor)),
    ]
}

/// Gives the modification with this operation an operand for the ID; adds a modification if there
/// is none.
fn put_id(changes: &mut Vec<Action>, op: ModifyOp, operand: u32) {
    let (place, ..) = row(op);
    let id = Some(IdOperand::Raw(operand));
    let order = |change: &Action| match change {
        Action::Modify(modify) => row(modify.op).0,
        _ => OPS.len(),
    };
    let at = changes.partition_point(|change| order(change) < place);
    match changes.get_mut(at) {
        Some(Action::Modify(modify)) if modify.op == op => modify.id = id,
        _ => changes.insert(
            at,
            Action::Modify(Modify {
                op,
                id,
                len: None,
                flags: None,
                data: None,
            }),
        ),
    }
}

impl Modify {
    /// Returns can-gw's operand for the ID; 0 if there is none. With SET it replaces every flag of
    /// the frame; see [`Action::id_with_flags`].
    fn raw_id(&self) -> u32 {
        match (self.op, self.id) {
            (_, None) => 0,
            (_, Some(IdOperand::Raw(raw))) => raw,
            (op, Some(IdOperand::Id(_))) => {
                let [and, xor] = together([self.id_masks()].into_iter());
                if op == ModifyOp::And { and } else { xor }
            }
        }
    }

    fn is_nothing(&self) -> bool {
        (&self.id, &self.len, &self.flags, &self.data) == (&None, &None, &None, &None)
    }
}

/// Returns whether some length from 0 to 8 becomes a DLC of 9 to 15. `all` are in can-gw's order.
fn raises_dlc(all: &[&Modify]) -> bool {
    let after = |len: u8| {
        all.iter().fold(len, |len, modify| {
            let mask = modify.op.mask(modify.len);
            (len & mask.and) ^ mask.xor
        })
    };
    (0..=8).any(|len| (9..=15).contains(&after(len)))
}

/// Parses `-m` or, with `fd`, `-M`. If no element is named, the modification does nothing.
fn read(text: &str, fd: bool) -> Read<Modify> {
    let hint = if fd { FD } else { CLASSIC };
    let [op, elements, values] = whole(text).split(':', hint)?;
    let Some((of, ..)) = OPS.into_iter().find(|(_, name, ..)| *name == op.text) else {
        return op.wrong(format!("there is no modification `{}`", op.text), hint);
    };
    let (id, flags, len, data) = if fd {
        let [id, flags, len, data] = values.split('.', hint)?;
        (id, Some(flags), len, data)
    } else {
        let [id, len, data] = values.split('.', hint)?;
        (id, None, len, data)
    };
    let id = id.hex(u32::MAX, hint)?;
    let flags = flags.map(|flags| flags.byte(hint)).transpose()?;
    let len = len.byte(hint)?;
    let data = data.bytes(size(fd), hint)?;
    let mut modify = Modify {
        op: of,
        id: None,
        len: None,
        flags: None,
        data: None,
    };
    for (i, c) in elements.text.char_indices() {
        match c {
            'I' => modify.id = Some(IdOperand::Raw(id)),
            'L' => modify.len = Some(len),
            'F' if fd => modify.flags = flags,
            'D' => modify.data = Some(data.clone()),
            c => {
                let part = ArgumentPart {
                    text: &elements.text[i..i + c.len_utf8()],
                    at: elements.at + i,
                };
                return part.wrong(format!("a frame has no element `{c}`"), hint);
            }
        }
    }
    Ok(modify)
}
