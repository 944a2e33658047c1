//! A channel: where its value is in a record, and how a time is computed from it.

use super::block::{Blocks, LE};
use crate::bad::LogFault;

const CONVERSION: LogFault =
    LogFault::Said("a time whose conversion is not linear, which is not read");

/// The type of a channel (`cn_type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChannelType {
    /// Its value is in the record.
    Fixed,
    /// The record has the offset of its value, which is in signal data or in a group of its own.
    Variable,
    /// A time that grows, and is the same for all channels of the group.
    Master,
    /// A master whose value is the number of the record.
    VirtualMaster,
    /// Any other.
    Other,
}

/// A channel, with its place in a record.
#[derive(Clone, Debug)]
pub(super) struct DataChannel {
    pub(super) kind: ChannelType,
    /// Whether a master is a time: seconds.
    pub(super) is_time: bool,
    data_type: u8,
    bit_offset: u32,
    byte_offset: usize,
    bits: u32,
    /// The bit, behind the values, that makes the value invalid.
    invalid_bit: Option<usize>,
    never_valid: bool,
    /// Where the values of variable length are.
    pub(super) data: u64,
    /// Physical value: offset + factor × raw value.
    offset: f64,
    factor: f64,
    /// Why the time cannot be computed.
    pub(super) fault: Option<LogFault>,
}

impl DataChannel {
    /// Reads a CN block. The data of its conversion are only read for a master.
    pub(super) fn read(blocks: &Blocks<'_>, at: u64) -> Result<Self, LogFault> {
        let block = blocks.get_kind(at, b"##CN")?;
        let data = block.data;
        let byte = |at: usize| data.get(at).copied().unwrap_or(0);
        let word = |at: usize| LE.u32(data, at).unwrap_or(0);
        let kind = match byte(0) {
            // Of maximum length: the payload begins where that of a fixed length does.
            0 | 5 => ChannelType::Fixed,
            1 => ChannelType::Variable,
            2 => ChannelType::Master,
            3 => ChannelType::VirtualMaster,
            _ => ChannelType::Other,
        };
        let flags = word(12);
        let is_master = matches!(kind, ChannelType::Master | ChannelType::VirtualMaster);
        let conversion = match block.link(4) {
            0 => Ok((0.0, 1.0)),
            link if is_master => linear(blocks, link),
            _ => Ok((0.0, 1.0)),
        };
        let (offset, factor) = conversion.unwrap_or((0.0, 1.0));
        Ok(Self {
            kind,
            is_time: byte(1) == 1,
            data_type: byte(2),
            bit_offset: byte(3).into(),
            byte_offset: word(4) as usize,
            bits: word(8),
            invalid_bit: (flags & 2 != 0).then_some(word(16) as usize),
            never_valid: flags & 1 != 0,
            data: block.link(5),
            offset,
            factor,
            fault: conversion.err(),
        })
    }

    /// Returns whether the value is valid in this record, whose values have `values` bytes.
    pub(super) fn is_valid(&self, record: &[u8], values: usize) -> bool {
        let invalid = self.invalid_bit.is_some_and(|bit| {
            let byte = record.get(values..).and_then(|bits| bits.get(bit / 8));
            byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        });
        !self.never_valid && !invalid
    }

    /// Returns an integer without its sign.
    pub(super) fn raw(&self, record: &[u8]) -> Option<u64> {
        let size = self.bit_offset.checked_add(self.bits)?.div_ceil(8) as usize;
        if self.bits == 0 || self.bits > 64 || size > 9 {
            return None;
        }
        let bytes = record.get(self.byte_offset..)?.get(..size)?;
        let join = |all: u128, byte: &u8| all << 8 | u128::from(*byte);
        let all = match self.data_type {
            1 | 3 | 5 => bytes.iter().fold(0, join),
            _ => bytes.iter().rev().fold(0, join),
        };
        let value = all >> self.bit_offset & (u128::MAX >> (128 - self.bits));
        u64::try_from(value).ok()
    }

    /// Returns the bytes of its value, which may be more than are used.
    pub(super) fn bytes<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        let rest = record.get(self.byte_offset..)?;
        let size = (self.bits / 8) as usize;
        Some(rest.get(..size).unwrap_or(rest))
    }

    /// Returns a time in ns, of the record with this number.
    pub(super) fn time(&self, record: &[u8], number: u64) -> Option<i128> {
        if self.kind == ChannelType::VirtualMaster {
            return self.nanoseconds(number.into());
        }
        let raw = self.raw(record)?;
        match (self.data_type, self.bits) {
            (0 | 1, _) => self.nanoseconds(raw.into()),
            (2 | 3, bits) => {
                let unused = 64_u32.checked_sub(bits)?;
                self.nanoseconds((raw.cast_signed() << unused >> unused).into())
            }
            (4 | 5, 64) => self.seconds(f64::from_bits(raw)),
            (4 | 5, 32) => self.seconds(f32::from_bits(raw as u32).into()),
            _ => None,
        }
    }

    /// Converts an integer. Where the factor is a whole number of ns, this is exact.
    fn nanoseconds(&self, raw: i128) -> Option<i128> {
        let unit = self.factor * 1e9;
        let whole = unit.round();
        if (1.0..1e18).contains(&whole) && (unit - whole).abs() <= whole * 1e-9 {
            let offset = rounded(self.offset * 1e9)?;
            return raw.checked_mul(whole as i128)?.checked_add(offset);
        }
        self.seconds(raw as f64)
    }

    fn seconds(&self, raw: f64) -> Option<i128> {
        rounded((self.offset + self.factor * raw) * 1e9)
    }
}

/// Rounds a number of ns; `None` where it is not a time of any log.
fn rounded(ns: f64) -> Option<i128> {
    (ns.abs() < 1e20).then(|| ns.round() as i128)
}

/// Reads offset and factor of a CC block.
fn linear(blocks: &Blocks<'_>, at: u64) -> Result<(f64, f64), LogFault> {
    let block = blocks.get_kind(at, b"##CC")?;
    let value = |number: usize| LE.u64(block.data, 24 + 8 * number).map(f64::from_bits);
    match block.data.first() {
        Some(0) => Ok((0.0, 1.0)),
        Some(1) => value(0).zip(value(1)).ok_or(CONVERSION),
        _ => Err(CONVERSION),
    }
}
