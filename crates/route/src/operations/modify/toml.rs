//! `and`, `or`, `xor` and `set` on ID, length, flags and data.

use super::{IdOperand, Modify, ModifyOp};
use crate::operations::toml::Toml;
use crate::text::{
    ids,
    limits::FrameLimits,
    words::{format_name, hex, id_number, join, payload_bytes},
};
use ::config::{Diagnostic, Diagnostics, KeySpec, SpannedValue, TomlTable, TomlValue, ValueShape};
use alloc::vec;
use alloc::{boxed::Box, format, string::String, vec::Vec};
use frame::{CanId, dlc, flags as fd_flags};

const FLAGS: [(&str, u8); 2] = [("brs", fd_flags::BRS), ("esi", fd_flags::ESI)];

impl Toml for Modify {
    const KEYS: &'static [&'static str] = &["and", "or", "xor", "set"];

    fn keys() -> Vec<KeySpec> {
        let flags = ValueShape::Any(vec![
            ValueShape::List(Box::new(ValueShape::words(&FLAGS))),
            ValueShape::Byte,
        ]);
        let keys = vec![
            KeySpec::new(
                "id",
                ValueShape::Text,
                "Three hex digits (SFF) or eight (EFF).",
            ),
            KeySpec::new(
                "raw_id",
                ValueShape::Text,
                "All 32 bits of SocketCAN's ID, in hex.",
            ),
            KeySpec::new("len", ValueShape::Integer(0..=255), "The length."),
            KeySpec::new(
                "flags",
                flags,
                "The FD flags: [\"brs\", \"esi\"], or a byte.",
            ),
            KeySpec::new("data", ValueShape::Hex, "The payload from byte 0 on."),
        ];
        let about = |key: &str| match key {
            "and" => "ANDs parts of the frame with these.",
            "or" => "ORs parts of the frame with these.",
            "xor" => "XORs parts of the frame with these.",
            _ => "Sets parts of the frame.",
        };
        let of =
            |key: &&'static str| KeySpec::new(key, ValueShape::Table(keys.clone()), about(key));
        Self::KEYS.iter().map(of).collect()
    }

    fn parse(
        key: &'static str,
        value: &TomlValue<'_>,
        limits: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let op = match key {
            "and" => ModifyOp::And,
            "or" => ModifyOp::Or,
            "xor" => ModifyOp::Xor,
            _ => ModifyOp::Set,
        };
        let mut table = value.table(format!("`{key}`"), found)?;
        if table.is_empty() {
            let hint = format!("name at least one of `id`, `len`, `flags`, `data` in `{key}`");
            value.wrong(format!("`{key}` changes nothing"), hint, found);
        }
        let id = id(&mut table, found);
        let len = table.get("len").and_then(|v| len(op, &v, limits, found));
        let flags = table.get("flags").and_then(|v| flags(&v, limits, found));
        let data = table.get("data").and_then(|v| data(&v, limits, found));
        table.finish(found);
        Some(Self {
            op,
            id,
            len,
            flags,
            data,
        })
    }

    fn write(&self) -> (&'static str, String) {
        let key = match self.op {
            ModifyOp::And => "and",
            ModifyOp::Or => "or",
            ModifyOp::Xor => "xor",
            ModifyOp::Set => "set",
        };
        let mut parts: Vec<String> = Vec::new();
        if let Some(operand) = self.id {
            parts.push(id_operand(operand));
        }
        if let Some(len) = self.len {
            parts.push(format!("len = {len}"));
        }
        if let Some(flags) = self.flags {
            parts.push(match flags {
                fd_flags::BRS => "flags = [\"brs\"]".into(),
                fd_flags::ESI => "flags = [\"esi\"]".into(),
                bits => format!("flags = \"{bits:02X}\""),
            });
        }
        if let Some(data) = &self.data {
            parts.push(format!("data = \"{}\"", hex(data)));
        }
        if parts.is_empty() {
            return (key, "{}".into());
        }
        (key, format!("{{ {} }}", parts.join(", ")))
    }

    fn describe(&self) -> String {
        let (verb, sign) = match self.op {
            ModifyOp::Set => ("sets", "to"),
            ModifyOp::And => ("ANDs", "with"),
            ModifyOp::Or => ("ORs", "with"),
            ModifyOp::Xor => ("XORs", "with"),
        };
        let mut parts: Vec<String> = Vec::new();
        match (self.op, self.id) {
            (_, None) => {}
            (ModifyOp::Set, Some(IdOperand::Id(id))) => parts.push(format!(
                "the ID {sign} {} {}",
                format_name(id.is_eff()),
                id_number(id.is_eff(), id.number())
            )),
            (_, Some(IdOperand::Id(id))) => {
                let number = id_number(id.is_eff(), id.number());
                parts.push(format!("the ID {sign} {number}"));
            }
            (_, Some(IdOperand::Raw(raw))) => parts.push(format!("the raw ID {sign} {raw:08X}")),
        }
        if let Some(len) = self.len {
            parts.push(format!("the length {sign} {len}"));
        }
        if let Some(bits) = self.flags {
            let name = match bits {
                fd_flags::BRS => "BRS".into(),
                fd_flags::ESI => "ESI".into(),
                bits => format!("{bits:02X}"),
            };
            parts.push(format!("the FD flags {sign} {name}"));
        }
        if let Some(data) = &self.data {
            parts.push(format!(
                "{} {sign} {}",
                payload_bytes(0, data.len()),
                hex(data)
            ));
        }
        if parts.is_empty() {
            return "changes nothing".into();
        }
        format!("{verb} {}", join(&parts, "and"))
    }
}

/// Parses `id` and `raw_id`. `id` is an ID as candump writes it: `set` uses its format too, the
/// other operations use only the number, and all leave the other flags alone. `raw_id` has all 32
/// bits, as in can-gw.
fn id(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Option<IdOperand> {
    let plain = table.get("id");
    let raw = table.get("raw_id");
    if let (Some(_), Some(raw)) = (&plain, &raw) {
        let hint = "leave out one of them";
        raw.wrong("`id` and `raw_id` specify the same thing", hint, found);
    }
    if let Some(value) = plain {
        let id = ids::read(&value, ids::id, found)?;
        return Some(IdOperand::Id(CanId::from_raw(id.raw())));
    }
    ids::read(&raw?, ids::raw_id, found).map(IdOperand::Raw)
}

fn len(
    op: ModifyOp,
    value: &TomlValue<'_>,
    limits: FrameLimits<'_>,
    f: &mut Diagnostics,
) -> Option<u8> {
    let len = value.integer(0..=255, f)?;
    // A classic frame's length is its raw DLC, which can be up to 15.
    let most = if limits.kinds.fd || limits.kinds.xl {
        dlc::FD_MAX as i64
    } else {
        15
    };
    if op == ModifyOp::Set && len.value > most {
        let message = format!("no frame of this route can have the length {}", len.value);
        let hint = "every frame would be dropped; write `drop = true` for that";
        f.push(Diagnostic::warning(len.span, message).hint(hint));
    }
    Some(len.value as u8)
}

/// Parses `["brs", "esi"]`, or a byte.
fn flags(value: &TomlValue<'_>, limits: FrameLimits<'_>, found: &mut Diagnostics) -> Option<u8> {
    if limits.kinds.classic && !limits.kinds.fd && !limits.kinds.xl {
        let message = "classic frames have no flags that could be changed";
        found.push(Diagnostic::warning(value.span(), message).hint("leave out `flags`"));
    }
    let bits = match value.as_list() {
        Some(list) => {
            let mut bits = 0;
            for value in list {
                bits |= value.one_of(&FLAGS, found)?.value;
            }
            value.at(bits)
        }
        None => value.byte(found)?,
    };
    Some(bits.value)
}

fn data(
    value: &TomlValue<'_>,
    limits: FrameLimits<'_>,
    found: &mut Diagnostics,
) -> Option<Vec<u8>> {
    let SpannedValue { value: bytes, span } = value.hex(found)?;
    let most = limits.payload.min(dlc::FD_MAX);
    if bytes.is_empty() {
        let hint = "write the bytes from byte 0 on, or leave out `data`";
        found.push(Diagnostic::error(span, "`data` is empty").hint(hint));
        return None;
    }
    if bytes.len() > most {
        let message = format!("`data` has {} bytes, {most} is the most here", bytes.len());
        let hint = match most {
            dlc::CLASSIC_MAX => "`kind` takes classic frames only",
            _ => "can-gw's modifications reach as far as an FD frame",
        };
        found.push(Diagnostic::error(span, message).hint(hint));
        return None;
    }
    Some(bytes)
}

fn id_operand(operand: IdOperand) -> String {
    match operand {
        IdOperand::Raw(raw) => format!("raw_id = \"{raw:08X}\""),
        IdOperand::Id(id) => format!("id = \"{}\"", id_number(id.is_eff(), id.number())),
    }
}
