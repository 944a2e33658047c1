//! The arguments of cangw's options that do not concern changes.

use crate::text::scan::{Read, whole};
use crate::{IdFilter, IdSet};
use alloc::format;
use frame::CanId;

const FILTER: &str = "write -f ID:MASK, or -f ID~MASK for the others, in hex: 123:C00007FF";

/// Parses `-f`. The second value is true if the user asked for an inversion that the kernel
/// ignores.
///
/// cangw inverts by setting bit 29 of the ID (`CAN_INV_FILTER`), so that this bit inverts in either
/// form. If the mask is for error frames, the kernel ignores the bit.
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

/// Parses `-l`; the kernel accepts 1 to its `max_hops`, which is at most 6.
pub(super) fn hops(text: &str) -> Read<u8> {
    match text.parse::<u8>() {
        Ok(n @ 1..=6) => Ok(n),
        _ => whole(text).wrong(
            format!("`{text}` is not a valid number of hops"),
            "can-gw allows 1 to 6",
        ),
    }
}

/// Parses `-u`.
pub(super) fn uid(text: &str) -> Read<u32> {
    whole(text).hex(u32::MAX, "write the identifier in hex")
}

/// Parses `-s` and `-d`.
pub(super) fn interface(text: &str) -> Read<()> {
    let bad = |c: char| matches!(c, '/' | ':') || c.is_whitespace() || c.is_control();
    if matches!(text, "" | "." | "..") || text.len() > 15 || text.contains(bad) {
        let what = format!("`{text}` is not a valid interface name");
        let hint = "Linux allows 1 to 15 bytes without `/`, `:` and white space";
        return whole(text).wrong(what, hint);
    }
    if text.starts_with('-') {
        // getopt accepts it nevertheless, and cangw then finds no interface of that name.
        let hint = "write the interface's name behind -s and -d";
        return whole(text).wrong(format!("`{text}` is an option, not an interface"), hint);
    }
    Ok(())
}
