//! The kernel filters of a raw CAN socket as a classic BPF program, for sockets that get frames
//! before the CAN protocol does, and the mark by which a port recognises the frames that it sent.

use crate::RawFilter;
use frame::{CanId, flags};
use linux::classic_bpf::{ClassicInstruction, MARK};

/// Instruction that keeps all of a frame.
const KEEP: ClassicInstruction = ClassicInstruction::keep(u32::MAX);
const DROP: ClassicInstruction = ClassicInstruction::keep(0);
/// Memory word in which the program keeps the frame's first word.
const ID: u32 = 0;
/// Offset of the byte that distinguishes XL frames from others (`canxl_frame.flags`).
const FLAGS: u32 = 4;

/// Returns a program that drops frames with this mark, and keeps all others.
pub(super) fn not_own(mark: u32) -> Vec<ClassicInstruction> {
    let mut program = without(mark);
    program.push(KEEP);
    program
}

fn without(mark: u32) -> Vec<ClassicInstruction> {
    vec![
        ClassicInstruction::load(MARK),
        ClassicInstruction::jump_equal(mark, 0, 1),
        DROP,
    ]
}

/// Returns a program that lets through the frames that a raw socket with these filters gets
/// (raw(7), `can_rcv_filter` in net/can/af_can.c), and all error frames; but not frames with this
/// mark, nor XL frames if `xl` is false.
///
/// An instruction loads four bytes most significant first, while the ID is in the machine's order:
/// the byte order of the constants is changed instead.
pub(super) fn program(
    filters: &[RawFilter],
    own: Option<u32>,
    xl: bool,
) -> Vec<ClassicInstruction> {
    let mut program = own.map(without).unwrap_or_default();
    if !xl {
        program.extend([
            ClassicInstruction::load_byte(FLAGS),
            ClassicInstruction::jump_any(u32::from(flags::XL_XLF), 0, 1),
            DROP,
        ]);
    }
    program.extend([
        ClassicInstruction::load(0),
        ClassicInstruction::jump_any(turned(CanId::ERR_FLAG), 0, 1),
        KEEP,
    ]);
    let filters: Vec<(u32, RawFilter)> = filters.iter().filter_map(reduced).collect();
    if filters
        .iter()
        .any(|(inverted, f)| *inverted == 0 && f.mask == 0)
    {
        program.push(KEEP);
        return program;
    }
    program.push(ClassicInstruction::store(ID));
    let mut mask = None;
    for (inverted, filter) in filters {
        if mask != Some(filter.mask) {
            program.extend([
                ClassicInstruction::recall(ID),
                ClassicInstruction::and(turned(filter.mask)),
            ]);
            mask = Some(filter.mask);
        }
        let (same, other) = if inverted == 0 { (0, 1) } else { (1, 0) };
        program.extend([
            ClassicInstruction::jump_equal(turned(filter.id), same, other),
            KEEP,
        ]);
    }
    program.push(DROP);
    program
}

/// Reduces a filter as the kernel does (`can_rcv_list_find`): returns whether it is inverted, and
/// the remaining ID and mask. `None` for a filter of error frames, which are kept in any case.
fn reduced(filter: &RawFilter) -> Option<(u32, RawFilter)> {
    let inverted = filter.id & RawFilter::INVERTED;
    let mut mask = filter.mask;
    if mask & CanId::ERR_FLAG != 0 {
        return None;
    }
    if mask & CanId::EFF_FLAG != 0 && filter.id & CanId::EFF_FLAG == 0 {
        mask &= CanId::SFF_MASK | CanId::EFF_FLAG | CanId::RTR_FLAG;
    }
    let id = filter.id & mask;
    Some((inverted, RawFilter { id, mask }))
}

/// Converts a word of the frame to the byte order of a load.
const fn turned(word: u32) -> u32 {
    word.to_be()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::classic_bpf::MOST_INSTRUCTIONS;
    use proptest::prelude::*;

    /// Runs a program as the kernel does (Documentation/networking/filter.rst): only the
    /// instructions that programs here are made of.
    fn run(program: &[ClassicInstruction], frame: &[u8], mark: u32) -> u32 {
        let (mut a, mut memory, mut at) = (0u32, [0u32; 16], 0);
        loop {
            let i = program[at];
            at += 1;
            match i.code {
                0x20 if i.k == MARK => a = mark,
                0x20 => match frame.get(i.k as usize..).and_then(|b| b.first_chunk()) {
                    Some(b) => a = u32::from_be_bytes(*b),
                    None => return 0,
                },
                0x30 => match frame.get(i.k as usize) {
                    Some(b) => a = u32::from(*b),
                    None => return 0,
                },
                0x54 => a &= i.k,
                0x02 => memory[i.k as usize] = a,
                0x60 => a = memory[i.k as usize],
                0x15 => at += usize::from(if a == i.k { i.jt } else { i.jf }),
                0x45 => at += usize::from(if a & i.k == 0 { i.jf } else { i.jt }),
                0x06 => return i.k,
                code => panic!("instruction {code:#x}"),
            }
        }
    }

    /// Returns whether a raw socket gets a frame, after net/can/af_can.c: each filter separately.
    fn raw_socket_gets(filters: &[RawFilter], id: u32) -> bool {
        if id & CanId::ERR_FLAG != 0 {
            return true;
        }
        filters.iter().any(|f| {
            let wants_sff = f.mask & CanId::EFF_FLAG != 0 && f.id & CanId::EFF_FLAG == 0;
            let mask = if wants_sff {
                f.mask & 0xC000_07FF
            } else {
                f.mask
            };
            let same = id & mask == f.id & !RawFilter::INVERTED & mask;
            same != (f.id & RawFilter::INVERTED != 0)
        })
    }

    fn frame(id: u32) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&id.to_ne_bytes());
        bytes[4] = 8;
        bytes
    }

    #[test]
    fn own_frames_are_left_out_whatever_they_are() {
        for program in [
            not_own(7),
            program(&[RawFilter { id: 0, mask: 0 }], Some(7), true),
        ] {
            assert_eq!(run(&program, &frame(0x123), 7), 0);
            assert_eq!(run(&program, &frame(0x2000_0004), 7), 0);
            assert_eq!(run(&program, &frame(0x123), 0), u32::MAX);
            assert_eq!(run(&program, &frame(0x123), 8), u32::MAX);
        }
    }

    #[test]
    fn xl_frames_only_where_asked_for() {
        let everything = [RawFilter { id: 0, mask: 0 }];
        let mut xl = frame(0x123);
        xl[4] = flags::XL_XLF;
        assert_eq!(run(&program(&everything, None, false), &xl, 0), 0);
        assert_eq!(run(&program(&everything, None, true), &xl, 0), u32::MAX);
        assert_eq!(run(&program(&[], None, true), &xl, 0), 0);
    }

    fn filter() -> impl Strategy<Value = RawFilter> {
        let mask = prop_oneof![
            Just(0xC000_07FF),
            Just(0xDFFF_FFFF),
            Just(0x7FF),
            Just(0),
            any::<u32>().prop_map(|mask| mask & !CanId::ERR_FLAG),
        ];
        let id = prop_oneof![
            any::<u32>(),
            0u32..0x800,
            (0u32..0x800).prop_map(|id| id | RawFilter::INVERTED),
        ];
        (id, mask).prop_map(|(id, mask)| RawFilter { id, mask })
    }

    proptest! {
        #[test]
        fn the_program_lets_through_what_a_raw_socket_gets(
            filters in prop::collection::vec(filter(), 0..12),
            ids in prop::collection::vec(any::<u32>(), 20),
        ) {
            let program = program(&filters, Some(1), true);
            let near = filters.iter().flat_map(|f| [f.id, f.id & 0x7FF, f.id | CanId::EFF_FLAG]);
            for id in near.chain(ids) {
                let kept = run(&program, &frame(id), 0) != 0;
                prop_assert_eq!(kept, raw_socket_gets(&filters, id), "{:08X}", id);
            }
        }

        /// Checks that a program fits with as many filters as a raw socket takes, each with a
        /// mask of its own.
        #[test]
        fn the_most_filters_fit(seed in any::<u32>()) {
            let filters: Vec<_> = (0..linux::can::MOST_FILTERS as u32)
                .map(|i| RawFilter { id: seed ^ i, mask: (i + 1) | 0x8000_0000 })
                .collect();
            prop_assert!(program(&filters, Some(1), false).len() <= MOST_INSTRUCTIONS);
        }
    }
}
