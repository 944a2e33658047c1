//! The arguments of cangw's options.
//!
//! cangw takes them apart with scanf, which also accepts what is too long or followed by
//! something else and then uses a part of it. That is reported here instead.

use crate::text::scan::{Part, Read, whole};
use crate::{Crc8, Crc8Profile, IdFilter, IdSet, Modify, ModifyOp, XorSum};
use alloc::format;
use frame::{CanId, dlc};

const FILTER: &str = "write -f ID:MASK, or -f ID~MASK for the others, in hex: 123:C00007FF";
const CLASSIC: &str = "write -m AND|OR|XOR|SET:ILD:ID.LEN.DATA in hex, DATA always 16 digits";
const FD: &str = "write -M AND|OR|XOR|SET:IFLD:ID.FLAGS.LEN.DATA in hex, DATA always 128 digits";
const XOR: &str = "write -x FROM:TO:RESULT:INIT, the first three decimal, INIT in hex";
const CRC: &str = "write -c FROM:TO:RESULT:INIT:XOR:TABLE, TABLE with 512 hex digits";
const PROFILE: &str = "write -p 1:XX, -p 2: and 32 hex digits, or -p 3:";

/// `-f`. The second value says that an inversion was asked for which the kernel ignores.
///
/// cangw inverts by setting bit 29 of the ID (`CAN_INV_FILTER`), so that bit inverts in either
/// form; beside a mask for error frames the kernel does not look at it.
pub(super) fn filter(text: &str) -> Read<(IdFilter, bool)> {
    let tilde = text.contains('~') && !text.contains(':');
    let [id, mask] = whole(text).split(if tilde { '~' } else { ':' }, FILTER)?;
    let id = id.hex(u32::MAX, FILTER)?;
    let mask = mask.hex(u32::MAX, FILTER)?;
    let asked = tilde || id & CanId::ERR_FLAG != 0;
    let errors = mask & CanId::ERR_FLAG != 0;
    let set = IdSet::Masked {
        id: id & !CanId::ERR_FLAG,
        mask,
    };
    let filter = IdFilter {
        set,
        inverted: asked && !errors,
    };
    Ok((filter, tilde && errors))
}

/// `-m`, or with `fd` `-M`. Where nothing is named that is to be changed, it does nothing.
pub(super) fn modify(text: &str, fd: bool) -> Read<Modify> {
    let hint = if fd { FD } else { CLASSIC };
    let [op, elements, values] = whole(text).split(':', hint)?;
    let op = match op.text {
        "AND" => ModifyOp::And,
        "OR" => ModifyOp::Or,
        "XOR" => ModifyOp::Xor,
        "SET" => ModifyOp::Set,
        other => return op.wrong(format!("there is no modification `{other}`"), hint),
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
    let data = data.bytes(if fd { dlc::FD_MAX } else { dlc::CLASSIC_MAX }, hint)?;
    let mut modify = Modify {
        op,
        id: None,
        len: None,
        flags: None,
        data: None,
    };
    for (i, c) in elements.text.char_indices() {
        match c {
            'I' => modify.id = Some(id),
            'L' => modify.len = Some(len),
            'F' if fd => modify.flags = flags,
            'D' => modify.data = Some(data.clone()),
            c => {
                let part = Part {
                    text: &elements.text[i..i + c.len_utf8()],
                    at: elements.at + i,
                };
                return part.wrong(format!("a frame has no element `{c}`"), hint);
            }
        }
    }
    Ok(modify)
}

/// `-x`
pub(super) fn xor_sum(text: &str, size: usize) -> Read<XorSum> {
    let [from, to, result, init] = whole(text).split(':', XOR)?;
    Ok(XorSum {
        from: from.index(size, XOR)?,
        to: to.index(size, XOR)?,
        result: result.index(size, XOR)?,
        init: init.byte(XOR)?,
    })
}

/// `-c`
pub(super) fn crc8(text: &str, size: usize) -> Read<Crc8> {
    let [from, to, result, init, final_xor, table] = whole(text).split(':', CRC)?;
    let bytes = table.bytes(256, CRC)?;
    let Ok(entries) = <[u8; 256]>::try_from(bytes) else {
        return table.wrong("the table has 256 bytes", CRC);
    };
    Ok(Crc8 {
        from: from.index(size, CRC)?,
        to: to.index(size, CRC)?,
        result: result.index(size, CRC)?,
        init: init.byte(CRC)?,
        final_xor: final_xor.byte(CRC)?,
        table: entries,
        profile: Crc8Profile::None,
    })
}

/// `-p`
pub(super) fn profile(text: &str) -> Read<Crc8Profile> {
    let (number, rest) = text.split_once(':').unwrap_or((text, ""));
    let data = Part {
        text: rest,
        at: number.len() + 1,
    };
    match number {
        "1" => Ok(Crc8Profile::OneByte(data.byte(PROFILE)?)),
        "2" => {
            let bytes = data.bytes(16, PROFILE)?;
            match <[u8; 16]>::try_from(bytes) {
                Ok(bytes) => Ok(Crc8Profile::Sixteen(bytes)),
                Err(_) => data.wrong("the profile has 16 bytes", PROFILE),
            }
        }
        "3" => Ok(Crc8Profile::SffIdXor),
        other => whole(number).wrong(format!("there is no CRC8 profile `{other}`"), PROFILE),
    }
}

/// `-l`; the kernel takes 1 to its `max_hops`, which is at most 6.
pub(super) fn hops(text: &str) -> Read<u8> {
    match text.parse::<u8>() {
        Ok(n @ 1..=6) => Ok(n),
        _ => whole(text).wrong(
            format!("`{text}` is no number of hops"),
            "can-gw allows 1 to 6",
        ),
    }
}

/// `-u`
pub(super) fn uid(text: &str) -> Read<u32> {
    whole(text).hex(u32::MAX, "write the identifier in hex")
}

/// `-s` and `-d`
pub(super) fn interface(text: &str) -> Read<()> {
    let bad = |c: char| matches!(c, '/' | ':') || c.is_whitespace() || c.is_control();
    if matches!(text, "" | "." | "..") || text.len() > 15 || text.contains(bad) {
        let what = format!("`{text}` is no name of an interface");
        let hint = "Linux allows 1 to 15 bytes without `/`, `:` and white space";
        return whole(text).wrong(what, hint);
    }
    if text.starts_with('-') {
        // getopt takes it all the same, and cangw then finds no interface of that name.
        let hint = "write the interface's name behind -s and -d";
        return whole(text).wrong(format!("`{text}` is an option, no interface"), hint);
    }
    Ok(())
}
