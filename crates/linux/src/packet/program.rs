//! The selection of the frames that a packet socket takes, as a program for the kernel (classic
//! BPF, `Documentation/networking/filter.rst`).
//!
//! The meaning is that of raw CAN sockets' filters (raw(7), `net/can/af_can.c`), applied to each
//! interface separately.

use crate::can::CanFilter;
use crate::classic_bpf::{ClassicInstruction, DEVICE_TYPE, INTERFACE, MOST_INSTRUCTIONS};
use frame::CanId;

/// `ARPHRD_CAN`
const CAN: u32 = 280;
const KEEP: ClassicInstruction = ClassicInstruction::keep(u32::MAX);
const DROP: ClassicInstruction = ClassicInstruction::keep(0);
/// `CAN_INV_FILTER`
const INVERTED: u32 = 0x2000_0000;

// Comparisons that `ClassicInstruction` has no name for (`uapi/linux/bpf_common.h`).
pub(super) const MORE: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
pub(super) const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;

/// The frames that are taken from some interfaces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CaptureRule {
    /// Indices of the interfaces; `None`: all CAN interfaces that no earlier rule names.
    pub interfaces: Option<Vec<u32>>,
    /// Filters of which a data or remote frame must pass at least one; an empty list means every
    /// frame.
    pub filters: Vec<CanFilter>,
}

/// A program for [`super::BlockRing::set_filter`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterProgram(pub(super) Vec<ClassicInstruction>);

/// The error for more filters than the kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the filters need {0} instructions, the kernel takes 4096: leave some out, or use masks \
     (`100:700`) in place of many IDs"
)]
pub struct TooLong(pub usize);

impl FilterProgram {
    /// Returns a program that takes no frame.
    #[must_use]
    pub fn nothing() -> Self {
        Self(vec![DROP])
    }

    /// Returns a program that takes the frames which the first rule that names a frame's interface
    /// lets through; error frames of the controller are taken from all interfaces of the rules, or
    /// from none.
    ///
    /// # Errors
    /// [`TooLong`]
    pub fn new(rules: &[CaptureRule], error_frames: bool) -> Result<Self, TooLong> {
        let mut code = vec![
            ClassicInstruction::load(DEVICE_TYPE),
            ClassicInstruction::jump_equal(CAN, 1, 0),
            DROP,
        ];
        for rule in rules {
            let body = body(&rule.filters, error_frames);
            let Some(interfaces) = &rule.interfaces else {
                code.extend(body);
                continue;
            };
            for (first, last) in ranges(interfaces) {
                code.push(ClassicInstruction::load(INTERFACE));
                code.push(compare(AT_LEAST, first, 1, 0));
                code.push(go(body.len() + 2));
                code.push(compare(MORE, last, 0, 1));
                code.push(go(body.len()));
                code.extend_from_slice(&body);
            }
        }
        code.push(DROP);
        if code.len() > MOST_INSTRUCTIONS {
            return Err(TooLong(code.len()));
        }
        Ok(Self(code))
    }

    /// Returns the instructions.
    #[must_use]
    pub fn instructions(&self) -> &[ClassicInstruction] {
        &self.0
    }
}

/// Returns the instructions that decide on a frame; they decide in every case.
fn body(filters: &[CanFilter], error_frames: bool) -> Vec<ClassicInstruction> {
    if filters.is_empty() && error_frames {
        return vec![KEEP];
    }
    let error = swapped(CanId::ERR_FLAG);
    let mut code = vec![
        ClassicInstruction::load(0),
        ClassicInstruction::and(error),
        ClassicInstruction::jump_equal(0, 1, 0),
        if error_frames { KEEP } else { DROP },
    ];
    for filter in filters {
        let (id, mask, inverted) = parts(filter);
        code.push(ClassicInstruction::load(0));
        code.push(ClassicInstruction::and(swapped(mask)));
        let (then, or_else) = if inverted { (1, 0) } else { (0, 1) };
        code.push(ClassicInstruction::jump_equal(
            swapped(id & mask),
            then,
            or_else,
        ));
        code.push(KEEP);
    }
    code.push(if filters.is_empty() { KEEP } else { DROP });
    code
}

/// Returns the ID, the mask as the kernel applies it, and whether the filter is inverted
/// (`can_rcv_list_find`).
fn parts(filter: &CanFilter) -> (u32, u32, bool) {
    let inverted = filter.id & INVERTED != 0;
    let (id, mut mask) = (filter.id & !INVERTED, filter.mask & !CanId::ERR_FLAG);
    if mask & CanId::EFF_FLAG != 0 && id & CanId::EFF_FLAG == 0 {
        mask &= CanId::SFF_MASK | CanId::EFF_FLAG | CanId::RTR_FLAG;
    }
    (id, mask, inverted)
}

/// Swaps a value: a load of four bytes reads them as big-endian; the kernel's frames have the
/// machine's byte order.
const fn swapped(value: u32) -> u32 {
    u32::from_be_bytes(value.to_ne_bytes())
}

/// Combines the indices into as few ranges as possible.
fn ranges(indices: &[u32]) -> Vec<(u32, u32)> {
    let mut sorted = indices.to_vec();
    sorted.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for index in sorted {
        match ranges.last_mut() {
            Some((_, last)) if index <= last.saturating_add(1) => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    ranges
}

const fn compare(code: u16, k: u32, jt: u8, jf: u8) -> ClassicInstruction {
    ClassicInstruction { code, jt, jf, k }
}

/// Returns an unconditional jump. Jumps of a condition reach only 255 instructions; this one
/// reaches as far as a program is long.
const fn go(over: usize) -> ClassicInstruction {
    ClassicInstruction::jump(over as u32)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Executes the program as the kernel does.
    fn run(program: &FilterProgram, device: u32, interface: u32, frame: &[u8]) -> bool {
        let (mut at, mut a) = (0, 0_u32);
        let code = |i: ClassicInstruction| i.code;
        loop {
            let i = program.0[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { i.jt } else { i.jf });
            match i.code {
                c if c == code(DROP) => return i.k != 0,
                c if c == code(go(0)) => at += i.k as usize,
                c if c == code(ClassicInstruction::and(0)) => a &= i.k,
                c if c == code(ClassicInstruction::jump_equal(0, 0, 0)) => at += jump(a == i.k),
                MORE => at += jump(a > i.k),
                AT_LEAST => at += jump(a >= i.k),
                c if c == code(ClassicInstruction::load(0)) => {
                    a = match i.k {
                        DEVICE_TYPE => device,
                        INTERFACE => interface,
                        from => u32::from_be_bytes(frame[from as usize..][..4].try_into().unwrap()),
                    };
                }
                other => panic!("{other}"),
            }
        }
    }

    /// Applies the rules as raw(7) documents them.
    fn passes(rules: &[CaptureRule], errors: bool, interface: u32, id: u32) -> bool {
        let names = |rule: &&CaptureRule| {
            let all = rule.interfaces.as_ref();
            all.is_none_or(|list| list.contains(&interface))
        };
        let Some(rule) = rules.iter().find(names) else {
            return false;
        };
        if id & CanId::ERR_FLAG != 0 {
            return errors;
        }
        rule.filters.is_empty()
            || rule.filters.iter().any(|f| {
                let short = f.mask & CanId::EFF_FLAG != 0 && f.id & CanId::EFF_FLAG == 0;
                let mask = if short {
                    f.mask & (CanId::SFF_MASK | CanId::EFF_FLAG | CanId::RTR_FLAG)
                } else {
                    f.mask
                };
                let agrees = (id ^ f.id) & mask & !CanId::ERR_FLAG == 0;
                agrees != (f.id & INVERTED != 0)
            })
    }

    pub(in crate::packet) fn filter() -> impl Strategy<Value = CanFilter> {
        let mask = prop_oneof![
            Just(0xC000_07FF),
            Just(0xDFFF_FFFF),
            Just(0x700),
            any::<u32>()
        ];
        (any::<u32>(), mask).prop_map(|(id, mask)| CanFilter { id, mask })
    }

    fn rule() -> impl Strategy<Value = CaptureRule> {
        let interfaces = prop::option::weighted(0.8, prop::collection::vec(1_u32..12, 0..5));
        let filters = prop_oneof![
            prop::collection::vec(filter(), 0..3),
            prop::collection::vec(filter(), 70..90)
        ];
        (interfaces, filters).prop_map(|(interfaces, filters)| CaptureRule {
            interfaces,
            filters,
        })
    }

    proptest! {
        #[test]
        fn the_program_decides_as_the_rules_do(
            rules in prop::collection::vec(rule(), 0..4), errors in any::<bool>(),
            ids in prop::collection::vec(any::<u32>(), 8),
        ) {
            let program = FilterProgram::new(&rules, errors).unwrap();
            let near = rules.iter().flat_map(|r| &r.filters).map(|f| f.id & !INVERTED);
            for id in ids.iter().copied().chain(near.take(20)) {
                for interface in 1..12 {
                    let frame = [id.to_ne_bytes(), [0; 4], [0; 4], [0; 4]].concat();
                    let passed = run(&program, CAN, interface, &frame);
                    prop_assert_eq!(passed, passes(&rules, errors, interface, id),
                        "{:08X} on {}", id, interface);
                    prop_assert!(!run(&program, 1, interface, &frame), "no CAN");
                }
            }
        }
    }

    #[test]
    fn neighbours_are_one_range_and_too_much_is_refused() {
        assert_eq!(ranges(&[5, 3, 4, 9, 4]), [(3, 5), (9, 9)]);
        let filters = vec![CanFilter { id: 1, mask: 1 }; 1100];
        let rule = CaptureRule {
            interfaces: None,
            filters,
        };
        assert!(
            matches!(FilterProgram::new(&[rule], true), Err(TooLong(n)) if n > MOST_INSTRUCTIONS)
        );
    }
}
