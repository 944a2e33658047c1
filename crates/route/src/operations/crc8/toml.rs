//! `crc8`.

use super::{Crc8, Crc8Profile};
use crate::operations::checksum_toml::{ByteRange, index_words, range, range_keys};
use crate::operations::toml::Toml;
use crate::text::{limits::FrameLimits, words::hex};
use ::config::{Diagnostic, Diagnostics, KeySpec, TomlTable, TomlValue, ValueShape};
use alloc::vec;
use alloc::vec::Vec;
use alloc::{format, string::String};

impl Toml for Crc8 {
    const KEYS: &'static [&'static str] = &["crc8"];

    fn keys() -> Vec<KeySpec> {
        let mut keys = range_keys();
        let profile = vec![
            KeySpec::new(
                "one_byte",
                ValueShape::Byte,
                "The checksum continues over this byte.",
            ),
            KeySpec::new(
                "sixteen",
                ValueShape::Hex,
                "It continues over one of these 16 bytes, by the counter in byte 1.",
            ),
            KeySpec::new(
                "sff_id_xor",
                ValueShape::Flag,
                "It continues over the XOR of the ID's lowest two bytes.",
            ),
        ];
        keys.extend([
            KeySpec::new(
                "final_xor",
                ValueShape::Byte,
                "The result is XORed with it. Default \"00\".",
            ),
            KeySpec::new(
                "polynomial",
                ValueShape::Byte,
                "Without its top bit: \"1D\" is SAE J1850, \"2F\" AUTOSAR.",
            ),
            KeySpec::new(
                "table",
                ValueShape::Hex,
                "The whole table of 256 bytes, in place of `polynomial`.",
            ),
            KeySpec::new(
                "profile",
                ValueShape::OneKey(profile),
                "The bytes after the payload in the checksum.",
            ),
        ]);
        let about = "Writes a CRC8 of payload bytes into one of them.";
        vec![KeySpec::new("crc8", ValueShape::Table(keys), about)]
    }

    fn parse(
        _: &'static str,
        value: &TomlValue<'_>,
        limits: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let mut table = value.table("`crc8`", found)?;
        let range = range(&mut table, limits, found);
        let final_xor = table.byte("final_xor", found).map_or(0, |b| b.value);
        let crc = crc_table(&mut table, found);
        let profile = match table.get("profile") {
            Some(value) => profile(&value, found),
            None => Some(Crc8Profile::None),
        };
        table.finish(found);
        let range = range?;
        let ByteRange { at, init } = range;
        Some(Self {
            from: at.from,
            to: at.to,
            result: at.result,
            init,
            final_xor,
            table: crc?,
            profile: profile?,
        })
    }

    fn write(&self) -> (&'static str, String) {
        let table = match polynomial_of(&self.table) {
            Some(polynomial) => format!("polynomial = \"{polynomial:02X}\""),
            None => format!("table = \"{}\"", hex(&self.table)),
        };
        let profile = match &self.profile {
            Crc8Profile::None => String::new(),
            Crc8Profile::OneByte(byte) => format!(", profile = {{ one_byte = \"{byte:02X}\" }}"),
            Crc8Profile::Sixteen(bytes) => {
                format!(", profile = {{ sixteen = \"{}\" }}", hex(bytes))
            }
            Crc8Profile::SffIdXor => ", profile = { sff_id_xor = true }".into(),
        };
        let text = format!(
            "{{ from = {}, to = {}, result = {}, init = \"{:02X}\", final_xor = \"{:02X}\", \
             {table}{profile} }}",
            self.from, self.to, self.result, self.init, self.final_xor
        );
        ("crc8", text)
    }

    fn describe(&self) -> String {
        let table = match polynomial_of(&self.table) {
            Some(polynomial) => format!("polynomial {polynomial:02X}"),
            None => "its own table".into(),
        };
        let profile = match &self.profile {
            Crc8Profile::None => String::new(),
            Crc8Profile::OneByte(byte) => format!(", then over {byte:02X}"),
            Crc8Profile::Sixteen(_) => ", then over one of sixteen bytes by counter".into(),
            Crc8Profile::SffIdXor => ", then over the ID's bytes".into(),
        };
        format!(
            "writes a CRC8 of {} to {} ({table}, from {:02X}, XOR {:02X}{profile}) into {}",
            index_words(self.from),
            index_words(self.to),
            self.init,
            self.final_xor,
            index_words(self.result)
        )
    }
}

/// Parses `polynomial = "1D"` or `table = "…"`, 256 bytes.
fn crc_table(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Option<[u8; 256]> {
    let polynomial = table.get("polynomial");
    let whole = table.get("table");
    match (polynomial, whole) {
        (Some(_), Some(whole)) => {
            let hint = "leave out one of them";
            whole.wrong(
                "`polynomial` and `table` specify the same thing",
                hint,
                found,
            );
            None
        }
        (Some(value), None) => {
            let polynomial = value.byte(found)?.value;
            if polynomial & 1 == 0 {
                let message = "a CRC polynomial ends in a one";
                let hint = "write it without its top bit, most significant bit first: \"1D\" is \
                            SAE J1850, \"2F\" AUTOSAR";
                found.push(Diagnostic::warning(value.span(), message).hint(hint));
            }
            Some(Crc8::table_of(polynomial))
        }
        (None, Some(value)) => bytes::<256>(&value, found),
        (None, None) => {
            let hint = "add `polynomial = \"1D\"`, or `table = \"…\"` with its 256 bytes";
            table.missing("polynomial", hint, found);
            None
        }
    }
}

/// Parses exactly `N` bytes in hex.
fn bytes<const N: usize>(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<[u8; N]> {
    let read = value.hex(found)?;
    let count = read.value.len();
    match <[u8; N]>::try_from(read.value) {
        Ok(bytes) => Some(bytes),
        Err(_) => {
            let message = format!("{N} bytes are needed here, this has {count}");
            found.push(Diagnostic::error(read.span, message));
            None
        }
    }
}

/// Parses `{ one_byte = "12" }`, `{ sixteen = "…" }` or `{ sff_id_xor = true }`.
fn profile(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Crc8Profile> {
    let mut table = value.table("`profile`", found)?;
    let one = table.get("one_byte");
    let sixteen = table.get("sixteen");
    let id = table.get("sff_id_xor");
    let count = [&one, &sixteen, &id].iter().filter(|p| p.is_some()).count();
    if count != 1 {
        let hint = "write { one_byte = \"12\" }, { sixteen = \"…\" } or { sff_id_xor = true }";
        value.wrong("`profile` names one of can-gw's profiles", hint, found);
        return None;
    }
    table.finish(found);
    if let Some(value) = one {
        return Some(Crc8Profile::OneByte(value.byte(found)?.value));
    }
    if let Some(value) = sixteen {
        return Some(Crc8Profile::Sixteen(bytes::<16>(&value, found)?));
    }
    let value = id?;
    sff_id_xor(&value, found)
}

fn sff_id_xor(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Crc8Profile> {
    if value.boolean(found)?.value {
        return Some(Crc8Profile::SffIdXor);
    }
    value.wrong(
        "`sff_id_xor` is chosen by `true`",
        "leave out `profile`",
        found,
    );
    None
}

/// Returns the polynomial from which a table was made, if there is one.
fn polynomial_of(table: &[u8; 256]) -> Option<u8> {
    (Crc8::table_of(table[1]) == *table).then_some(table[1])
}
