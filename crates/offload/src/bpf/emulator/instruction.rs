//! Instructions of BPF, decoded (RFC 9669).

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    /// The opcode.
    pub(super) code: u8,
    /// The number of the destination register.
    pub(super) dst: usize,
    /// The number of the source register; a kind of call or of constant in some instructions.
    pub(super) src: usize,
    /// The distance of a jump or of an access to memory.
    pub(super) off: i64,
    /// The constant, extended to 64 bits with its sign; of [`LOAD_CONSTANT`] all 64 bits.
    pub(super) imm: u64,
}

/// The classes of opcodes: their low three bits.
pub(super) mod class {
    pub(in super::super) const LDX: u8 = 1;
    pub(in super::super) const ST: u8 = 2;
    pub(in super::super) const STX: u8 = 3;
    pub(in super::super) const ALU32: u8 = 4;
    pub(in super::super) const JMP: u8 = 5;
    pub(in super::super) const JMP32: u8 = 6;
    pub(in super::super) const ALU64: u8 = 7;
}

/// The second operand is a register, not the constant.
pub(super) const FROM_REGISTER: u8 = 0x08;
/// A constant of 64 bits, in two slots.
pub(super) const LOAD_CONSTANT: u8 = 0x18;
/// A jump without a condition.
pub(super) const JUMP: u8 = 0x05;
/// A call of a helper (`src` 0) or of a function of the program (`src` 1).
pub(super) const CALL: u8 = 0x85;
/// The end of a function.
pub(super) const EXIT: u8 = 0x95;

/// Returns the result of an arithmetic instruction.
///
/// # Panics
/// Panics at an instruction that the compiler does not make.
pub(super) fn arithmetic(code: u8, a: u64, b: u64) -> u64 {
    let is_wide = code & 7 == class::ALU64;
    let (a32, b32) = (a as u32, b as u32);
    let of_32 = |number: u32| u64::from(number);
    match (code & 0xF0, is_wide) {
        (0x00, true) => a.wrapping_add(b),
        (0x00, false) => of_32(a32.wrapping_add(b32)),
        (0x10, true) => a.wrapping_sub(b),
        (0x10, false) => of_32(a32.wrapping_sub(b32)),
        (0x20, true) => a.wrapping_mul(b),
        (0x20, false) => of_32(a32.wrapping_mul(b32)),
        (0x30, true) => a.checked_div(b).unwrap_or(0),
        (0x30, false) => of_32(a32.checked_div(b32).unwrap_or(0)),
        (0x40, true) => a | b,
        (0x40, false) => of_32(a32 | b32),
        (0x50, true) => a & b,
        (0x50, false) => of_32(a32 & b32),
        (0x60, true) => a << (b & 63),
        (0x60, false) => of_32(a32 << (b & 31)),
        (0x70, true) => a >> (b & 63),
        (0x70, false) => of_32(a32 >> (b & 31)),
        (0x80, true) => a.wrapping_neg(),
        (0x80, false) => of_32(a32.wrapping_neg()),
        (0x90, true) => a.checked_rem(b).unwrap_or(a),
        (0x90, false) => of_32(a32.checked_rem(b32).unwrap_or(a32)),
        (0xA0, true) => a ^ b,
        (0xA0, false) => of_32(a32 ^ b32),
        (0xB0, true) => b,
        (0xB0, false) => of_32(b32),
        (0xC0, true) => (a.cast_signed() >> (b & 63)).cast_unsigned(),
        (0xC0, false) => of_32((a32.cast_signed() >> (b & 31)).cast_unsigned()),
        other => panic!("arithmetic {other:02X?}"),
    }
}

/// Returns the lowest `bits` bits with their bytes in the other order, as `be16` to `be64` do on
/// a little-endian machine; those of `le16` to `le64` stay.
pub(super) fn byte_order(code: u8, number: u64, bits: u64) -> u64 {
    let kept = number << (64 - bits) >> (64 - bits);
    match code & FROM_REGISTER {
        0 => kept,
        _ => kept.swap_bytes() >> (64 - bits),
    }
}

/// Returns whether a conditional jump is taken.
///
/// # Panics
/// Panics at an instruction that the compiler does not make.
pub(super) fn jumps(code: u8, a: u64, b: u64) -> bool {
    let is_wide = code & 7 == class::JMP;
    let (a, b) = match is_wide {
        true => (a, b),
        false => (u64::from(a as u32), u64::from(b as u32)),
    };
    let signed = |number: u64| match is_wide {
        true => number.cast_signed(),
        false => (number as u32).cast_signed().into(),
    };
    let (of_a, of_b) = (signed(a), signed(b));
    match code & 0xF0 {
        0x10 => a == b,
        0x20 => a > b,
        0x30 => a >= b,
        0x40 => a & b != 0,
        0x50 => a != b,
        0x60 => of_a > of_b,
        0x70 => of_a >= of_b,
        0xA0 => a < b,
        0xB0 => a <= b,
        0xC0 => of_a < of_b,
        0xD0 => of_a <= of_b,
        other => panic!("jump {other:02X}"),
    }
}
