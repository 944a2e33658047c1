//! A slow and obvious implementation: each checksum bit by bit over a list of bytes.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test uses a part of it, and fuzzing, too"
)]

pub mod draw;

use e2e::{BytePlace, DataIdMode, P01Settings, P04Settings, ProtectionSettings};
use frame::CanId;

/// Shifts each bit through a register of `width` bits.
pub fn crc(width: u32, polynomial: u64, initial: u64, is_reflected: bool, bytes: &[u8]) -> u64 {
    let top = 1 << (width - 1);
    let mask = u64::MAX >> (64 - width);
    let mut register = initial;
    for byte in bytes {
        for bit in 0..8 {
            let number = if is_reflected { bit } else { 7 - bit };
            let input = byte >> number & 1 == 1;
            let out = register & top != 0;
            register = register << 1 & mask;
            if input != out {
                register ^= polynomial;
            }
        }
    }
    if is_reflected {
        register.reverse_bits() >> (64 - width)
    } else {
        register
    }
}

/// Returns the bytes without those from `at` to before `end`.
fn cut(data: &[u8], at: usize, end: usize) -> Vec<u8> {
    [&data[..at], &data[end..]].concat()
}

fn place(place: BytePlace, len: usize) -> usize {
    match place {
        BytePlace::At(index) => usize::from(index),
        BytePlace::Last => len - 1,
    }
}

/// The number of protected bytes that the settings state.
pub fn stated_length(settings: &ProtectionSettings) -> Option<u16> {
    use ProtectionSettings as S;
    match settings {
        S::P01(s) | S::P11(s) => s.length,
        S::P02(s) | S::P22(s) => s.length,
        S::P04(s) | S::P07(s) | S::P08(s) => s.length,
        S::P04m(s) | S::P07m(s) => s.header.length,
        S::P05(s) | S::P06(s) => s.length,
        S::Crc8(s) => s.common.length,
        S::Crc16(s) => s.common.length,
        S::Sum8(s) => s.common.length,
        S::NibbleSum(s) => s.common.length,
        S::XorSum(s) => s.common.length,
    }
}

/// Writes the fields with fixed values and the checksum into the data; their counter stays.
pub fn protect(settings: &ProtectionSettings, id: CanId, data: &mut [u8]) {
    use ProtectionSettings as S;
    let len = data.len();
    match settings {
        S::P01(s) | S::P11(s) => p01(s, data),
        S::P02(s) | S::P22(s) => {
            let at = usize::from(s.offset);
            let mut bytes = cut(data, at, at + 1);
            bytes.push(s.ids[usize::from(data[at + 1] & 15)]);
            data[at] = crc(8, 0x2F, 0xFF, false, &bytes) as u8 ^ 0xFF;
        }
        S::P04(s) => p04(s, None, data),
        S::P04m(s) => p04(&s.header, Some(method(&s.method)), data),
        S::P07(s) => p07(s, None, data),
        S::P07m(s) => p07(&s.header, Some(method(&s.method)), data),
        S::P08(s) => {
            let header = &mut data[usize::from(s.offset)..];
            header[4..8].copy_from_slice(&(len as u32).to_be_bytes());
            header[12..16].copy_from_slice(&s.data_id.to_be_bytes());
            let at = usize::from(s.offset);
            let sum = crc32p4(&cut(data, at, at + 4));
            data[at..at + 4].copy_from_slice(&sum.to_be_bytes());
        }
        S::P05(s) => {
            let at = usize::from(s.offset);
            let mut bytes = cut(data, at, at + 2);
            bytes.extend([s.data_id as u8, (s.data_id >> 8) as u8]);
            let sum = crc(16, 0x1021, 0xFFFF, false, &bytes);
            data[at] = sum as u8;
            data[at + 1] = (sum >> 8) as u8;
        }
        S::P06(s) => {
            let at = usize::from(s.offset);
            data[at + 2] = (len >> 8) as u8;
            data[at + 3] = len as u8;
            let mut bytes = cut(data, at, at + 2);
            bytes.extend([(s.data_id >> 8) as u8, s.data_id as u8]);
            let sum = crc(16, 0x1021, 0xFFFF, false, &bytes);
            data[at] = (sum >> 8) as u8;
            data[at + 1] = sum as u8;
        }
        S::Crc8(s) => {
            let at = place(s.result, len);
            let mut bytes = cut(data, at, at + 1);
            if s.is_backward {
                bytes.reverse();
            }
            let sum = crc(8, s.polynomial.into(), s.initial.into(), false, &bytes);
            data[at] = sum as u8 ^ s.final_xor;
        }
        S::Crc16(_) => {
            let mut bytes = data[2..].to_vec();
            bytes.extend([id.number() as u8, (id.number() >> 8) as u8]);
            let numbers = [(8, 0x5F29), (16, 0x041D), (24, 0x819D), (32, 0x9F5B)];
            let number = numbers.iter().find(|(one, _)| *one == len);
            let sum = crc(16, 0x1021, 0, false, &bytes) ^ number.map_or(0, |(_, number)| *number);
            data[0] = sum as u8;
            data[1] = (sum >> 8) as u8;
        }
        S::Sum8(s) => {
            let at = place(s.result, len);
            let mut sum = u32::from(s.start);
            if s.adds_id {
                let mut number = id.number();
                while number > 0 {
                    sum += number & 0xFF;
                    number >>= 8;
                }
            }
            if s.adds_length {
                sum += len as u32;
            }
            sum += cut(data, at, at + 1)
                .iter()
                .map(|byte| u32::from(*byte))
                .sum::<u32>();
            data[at] = sum as u8;
        }
        S::NibbleSum(s) => {
            let at = place(s.result, len);
            data[at] &= if s.is_high { 0x0F } else { 0xF0 };
            let mut sum = i32::from(s.start);
            if id.is_eff() {
                sum += i32::from(s.eff_extra);
            }
            if s.subtracts_id {
                let mut number = id.number() as i32;
                while number > 0 {
                    sum -= number & 0xF;
                    number >>= 4;
                }
            }
            for byte in &*data {
                sum -= i32::from(byte >> 4) + i32::from(byte & 0xF);
            }
            let nibble = sum.rem_euclid(16) as u8;
            data[at] |= if s.is_high { nibble << 4 } else { nibble };
        }
        S::XorSum(s) => {
            let at = place(s.result, len);
            let bytes = cut(data, at, at + 1);
            data[at] = bytes.iter().fold(s.start, |sum, byte| sum ^ byte);
        }
    }
}

fn p01(s: &P01Settings, data: &mut [u8]) {
    let [low, high] = s.data_id.to_le_bytes();
    if s.mode == DataIdMode::Nibble {
        let byte = &mut data[usize::from(s.nibble / 8)];
        if s.nibble.is_multiple_of(8) {
            *byte = *byte & 0xF0 | high;
        } else {
            *byte = *byte & 0x0F | high << 4;
        }
    }
    let counter = data[usize::from(s.counter / 8)] >> (s.counter % 8) & 15;
    let mut bytes = match s.mode {
        DataIdMode::Both => vec![low, high],
        DataIdMode::Alternating if counter % 2 == 1 => vec![high],
        DataIdMode::Alternating | DataIdMode::Low => vec![low],
        DataIdMode::Nibble => vec![low, 0],
    };
    let at = usize::from(s.crc);
    bytes.extend(cut(data, at, at + 1));
    data[at] = crc(8, 0x1D, 0, false, &bytes) as u8;
}

fn crc32p4(bytes: &[u8]) -> u32 {
    !crc(32, 0xF4AC_FB13, 0xFFFF_FFFF, true, bytes) as u32
}

fn method(fields: &e2e::MethodFields) -> u32 {
    u32::from(fields.is_response) << 30 | u32::from(fields.is_error) << 28 | fields.source
}

fn p04(s: &P04Settings, method: Option<u32>, data: &mut [u8]) {
    let len = data.len();
    let at = usize::from(s.offset);
    let header = &mut data[at..];
    header[..2].copy_from_slice(&(len as u16).to_be_bytes());
    header[4..8].copy_from_slice(&s.data_id.to_be_bytes());
    if let Some(method) = method {
        header[12..16].copy_from_slice(&method.to_be_bytes());
    }
    let sum = crc32p4(&cut(data, at + 8, at + 12));
    data[at + 8..at + 12].copy_from_slice(&sum.to_be_bytes());
}

fn p07(s: &P04Settings, method: Option<u32>, data: &mut [u8]) {
    let len = data.len();
    let at = usize::from(s.offset);
    let header = &mut data[at..];
    header[8..12].copy_from_slice(&(len as u32).to_be_bytes());
    header[16..20].copy_from_slice(&s.data_id.to_be_bytes());
    if let Some(method) = method {
        header[20..24].copy_from_slice(&method.to_be_bytes());
    }
    let bytes = cut(data, at, at + 8);
    let sum = !crc(64, 0x42F0_E1EB_A9EA_3693, u64::MAX, true, &bytes);
    data[at..at + 8].copy_from_slice(&sum.to_be_bytes());
}
