//! `and`, `or`, `xor` and `set` on ID, length, flags and data.

use super::{actions::read, ids, matching::Limits};
use crate::{Action, Modify, ModifyOp};
use ::config::{At, Diagnostic, Diagnostics, Table, Value};
use alloc::{format, vec::Vec};
use frame::{CanId, dlc};

/// The three flag bits above an ID's number.
pub(super) const ID_FLAGS: u32 = CanId::EFF_FLAG | CanId::RTR_FLAG | CanId::ERR_FLAG;

pub(super) fn op_name(op: ModifyOp) -> &'static str {
    match op {
        ModifyOp::And => "and",
        ModifyOp::Or => "or",
        ModifyOp::Xor => "xor",
        ModifyOp::Set => "set",
    }
}

pub(super) fn parse(
    op: ModifyOp,
    value: &Value<'_>,
    limits: Limits,
    found: &mut Diagnostics,
) -> Option<Action> {
    let name = op_name(op);
    let mut table = value.table(format!("`{name}`"), found)?;
    if table.is_empty() {
        let hint = format!("name at least one of `id`, `len`, `flags`, `data` in `{name}`");
        value.wrong(format!("`{name}` changes nothing"), hint, found);
    }
    let id = id(op, &mut table, found);
    let len = table.get("len").and_then(|v| len(op, &v, limits, found));
    let flags = table.get("flags").and_then(|v| flags(&v, limits, found));
    let data = table.get("data").and_then(|v| data(&v, limits, found));
    table.finish(found);
    Some(Action::Modify(Modify {
        op,
        id,
        len,
        flags,
        data,
    }))
}

/// `id` is an ID as candump writes it. `set` takes its format too; the others work on the number
/// and leave the flags alone. `raw_id` is all 32 bits, as can-gw takes them.
fn id(op: ModifyOp, table: &mut Table<'_>, found: &mut Diagnostics) -> Option<u32> {
    let plain = table.get("id");
    let raw = table.get("raw_id");
    if let (Some(_), Some(raw)) = (&plain, &raw) {
        let hint = "leave out one of them";
        raw.wrong("`id` and `raw_id` say the same thing", hint, found);
    }
    if let Some(value) = plain {
        let id = read(&value, ids::id, found)?;
        return Some(match op {
            ModifyOp::Set => id.raw(),
            ModifyOp::And => id.number | ID_FLAGS,
            ModifyOp::Or | ModifyOp::Xor => id.number,
        });
    }
    read(&raw?, ids::raw_id, found)
}

fn len(op: ModifyOp, value: &Value<'_>, limits: Limits, f: &mut Diagnostics) -> Option<u8> {
    let len = value.integer(0..=255, f)?;
    // A classic frame's length is its raw DLC, which goes to 15.
    let most = if limits.kinds.fd || limits.kinds.xl {
        dlc::FD_MAX as i64
    } else {
        15
    };
    if op == ModifyOp::Set && len.value > most {
        let message = format!("no frame of this route can have the length {}", len.value);
        let hint = "every frame would be thrown away; `drop = true` says so";
        f.push(Diagnostic::warning(len.span, message).hint(hint));
    }
    Some(len.value as u8)
}

/// `["brs", "esi"]`, or a byte.
fn flags(value: &Value<'_>, limits: Limits, found: &mut Diagnostics) -> Option<u8> {
    const NAMES: [(&str, u8); 2] = [("brs", frame::flags::BRS), ("esi", frame::flags::ESI)];
    if limits.kinds.classic && !limits.kinds.fd && !limits.kinds.xl {
        let message = "classic frames have no flags that could be changed";
        found.push(Diagnostic::warning(value.span(), message).hint("leave out `flags`"));
    }
    let bits = match value.as_list() {
        Some(list) => {
            let mut bits = 0;
            for value in list {
                bits |= value.one_of(&NAMES, found)?.value;
            }
            value.at(bits)
        }
        None => value.byte(found)?,
    };
    Some(bits.value)
}

fn data(value: &Value<'_>, limits: Limits, found: &mut Diagnostics) -> Option<Vec<u8>> {
    let At { value: bytes, span } = value.hex(found)?;
    let most = limits.payload.min(dlc::FD_MAX);
    if bytes.is_empty() {
        let hint = "write the bytes from byte 0 on, or leave out `data`";
        found.push(Diagnostic::error(span, "`data` holds no byte").hint(hint));
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
