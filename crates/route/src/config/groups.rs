//! Parameter groups of J1939: `pgn` and `source`.
//!
//! An extended ID of J1939 has a priority (3 bits), a parameter group number (18 bits), and the
//! address of the sender (8 bits); of a group that is sent to one address (PDU format below F0),
//! the low byte of the number is that address instead (SAE J1939-21, section 5.2).

use super::keys::RouteKeys;
use crate::{IdFilter, IdSet};
use ::config::{Diagnostic, Diagnostics, TomlTable, TomlValue};
use alloc::{format, string::String, vec::Vec};
use frame::CanId;
use signals::{LARGEST_GROUP, group_id_mask, is_broadcast_group, parameter_group};

/// Bits of an ID that hold the address of the sender.
const SOURCE_MASK: u32 = 0xFF;

/// The groups of the transport protocols: connection management and data (SAE J1939-21, section
/// 5.10), for up to 1785 bytes and for more.
const TRANSPORTS: [(u32, u32); 2] = [(0xEC00, 0xEB00), (0xC800, 0xC700)];

/// Returns the filters for `pgn` and `source`; empty where neither is given.
pub(super) fn filters(
    keys: &RouteKeys<'_>,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
) -> Vec<IdFilter> {
    let groups = numbers("pgn", keys.pgn.as_ref(), table, found, group);
    let sources = numbers("source", keys.source.as_ref(), table, found, source);
    for other in ["id", "filter"] {
        if let (Some(key), true) = (
            ["pgn", "source"].iter().find(|key| table.has(key)),
            table.has(other),
        ) {
            let message = format!("`{key}` and `{other}` both choose the IDs");
            let hint = format!(
                "leave out one of them, or write two routes; `{other}` can match any bits of an ID"
            );
            table.wrong(key, message, hint, found);
        }
    }
    warn_of_half_transports(&groups, table, found);
    let group_bits = |group: &u32| (group << 8, group_id_mask(*group));
    let source_bits = |source: &u32| (*source, SOURCE_MASK);
    let any = [(0, 0)];
    let groups: Vec<_> = groups.iter().map(group_bits).collect();
    let sources: Vec<_> = sources.iter().map(source_bits).collect();
    if groups.is_empty() && sources.is_empty() {
        return Vec::new();
    }
    let groups = if groups.is_empty() { &any[..] } else { &groups };
    let sources = if sources.is_empty() {
        &any[..]
    } else {
        &sources
    };
    let both = groups
        .iter()
        .flat_map(|group| sources.iter().map(move |source| (group, source)));
    let filters = both.map(|((group, group_mask), (source, source_mask))| IdFilter {
        set: IdSet::Masked {
            id: CanId::EFF_FLAG | group | source,
            mask: CanId::EFF_FLAG | group_mask | source_mask,
        },
        inverted: false,
    });
    filters.collect()
}

/// Reads a number or a list of numbers: integers, or hex digits in quotes.
fn numbers(
    key: &str,
    value: Option<&TomlValue<'_>>,
    table: &TomlTable<'_>,
    found: &mut Diagnostics,
    check: fn(u32) -> Result<u32, (String, String)>,
) -> Vec<u32> {
    let Some(value) = value else {
        return Vec::new();
    };
    let values = value.one_or_list();
    if values.is_empty() {
        let hint = "leave it out to take all";
        value.wrong(format!("`{key}` is an empty list"), hint, found);
    }
    let mut numbers = Vec::new();
    for value in values {
        let number = match (value.as_integer(), value.as_str()) {
            (Some(number), _) => u32::try_from(number).ok(),
            (None, Some(text)) => {
                let digits = text.trim();
                let digits = digits.strip_prefix("0x").unwrap_or(digits);
                let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
                if !is_hex {
                    let message = format!("`{key}`: `{text}` is not a number");
                    if key == "source" {
                        // In other programs, `source` is the port.
                        let span = table.key_span(key).unwrap_or_else(|| value.span());
                        let hint =
                            "did you mean `from`? `source` is the address of a sender in J1939";
                        found.push(Diagnostic::error(span, message).hint(hint));
                        return Vec::new();
                    }
                    value.wrong(message, "write it as 65265, or as \"FEF1\" (hex)", found);
                    continue;
                }
                u32::from_str_radix(digits, 16).ok()
            }
            (None, None) => {
                value.expected(
                    "a number such as 65265, or hex digits such as \"FEF1\"",
                    found,
                );
                continue;
            }
        };
        match check(number.unwrap_or(u32::MAX)) {
            Ok(number) if numbers.contains(&number) => {
                value.wrong(
                    format!("`{key}` has this number twice"),
                    "name it once",
                    found,
                );
            }
            Ok(number) => numbers.push(number),
            Err((message, hint)) => value.wrong(message, hint, found),
        }
    }
    numbers
}

fn group(number: u32) -> Result<u32, (String, String)> {
    if number > LARGEST_GROUP {
        return Err((
            "a parameter group number has 18 bits: 3FFFF is the largest".into(),
            "a whole ID belongs into `id`, such as \"18FEF100\"".into(),
        ));
    }
    if !is_broadcast_group(number) && number & 0xFF != 0 {
        let whole = number & !0xFF;
        return Err((
            format!(
                "{number:04X} is not a parameter group: groups below F000 are sent to one address, and their low byte is 0"
            ),
            format!("write {whole} (\"{whole:04X}\"); it takes the frames to all addresses"),
        ));
    }
    Ok(number)
}

fn source(number: u32) -> Result<u32, (String, String)> {
    if number > SOURCE_MASK {
        return Err((
            "a source address is 0 to 255".into(),
            "write it as 42, or as \"2A\" (hex)".into(),
        ));
    }
    Ok(number)
}

/// Warns of a route that takes one of the two groups of a transport protocol only: no session of it
/// can be completed on the other side.
fn warn_of_half_transports(groups: &[u32], table: &TomlTable<'_>, found: &mut Diagnostics) {
    for (management, data) in TRANSPORTS {
        let (has, other) = match (groups.contains(&management), groups.contains(&data)) {
            (true, false) => (management, data),
            (false, true) => (data, management),
            _ => continue,
        };
        let message = format!(
            "the route takes group {has:04X} of the transport protocol, but not {other:04X}: no message of \
             several frames can be received behind it"
        );
        let span = table.value_span("pgn");
        let hint = format!("add {other} (\"{other:04X}\"), here and in the opposite direction");
        found.push(Diagnostic::warning(span, message).hint(hint));
    }
}

/// Returns the words for a filter that is one of parameter groups: group, source.
pub(super) fn words(id: u32, mask: u32) -> Option<String> {
    let (number, bits) = (id & CanId::EFF_MASK, mask & CanId::EFF_MASK);
    if id & mask & CanId::EFF_FLAG == 0 || mask & (CanId::RTR_FLAG | CanId::ERR_FLAG) != 0 {
        return None;
    }
    let group = parameter_group(CanId::eff(number).ok()?)?;
    if bits & !SOURCE_MASK != group_id_mask(group) {
        return None;
    }
    let of_group = format!("parameter group {group:04X}");
    Some(match bits & SOURCE_MASK {
        0 => format!("{of_group} of any source"),
        SOURCE_MASK => format!("{of_group} of source {:02X}", number & SOURCE_MASK),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{messages, one};
    use crate::config::{describe, to_toml};

    /// The IDs of messages on heavy vehicles (SAE J1939-71: CCVS is 65265, EEC1 61444; request
    /// 59904).
    #[test]
    fn parameter_groups_are_taken_with_any_priority() {
        let takes = |keys: &str, raw: u32| {
            let route = one(keys);
            route.matching.ids.iter().any(|filter| match filter.set {
                IdSet::Masked { id, mask } => (raw ^ id) & mask == 0,
                IdSet::Range { .. } => false,
            })
        };
        let eff = |number: u32| number | CanId::EFF_FLAG;
        for pgn in [
            "pgn = 65265",
            "pgn = \"FEF1\"",
            "pgn = 0xFEF1",
            "pgn = [61444, 65265]",
        ] {
            for priority in 0..8 {
                assert!(takes(pgn, eff(priority << 26 | 0x00FE_F100)), "{pgn}");
            }
            assert!(takes(pgn, eff(0x18FE_F12A)));
            assert!(!takes(pgn, eff(0x18FE_F200)));
            assert!(!takes(pgn, eff(0x19FE_F100)), "another data page");
            assert!(!takes(pgn, 0x100), "SFF");
        }
        // A request to any address.
        assert!(takes("pgn = 59904", eff(0x18EA_00F9)));
        assert!(takes("pgn = 59904", eff(0x18EA_FFF9)));
        assert!(!takes("pgn = 59904", eff(0x18EB_00F9)));
        let both = "pgn = [65265, 61444]\nsource = [0, \"2A\"]";
        assert!(takes(both, eff(0x0CF0_0400)));
        assert!(takes(both, eff(0x18FE_F12A)));
        assert!(!takes(both, eff(0x18FE_F101)));
        assert!(takes("source = \"2A\"", eff(0x1234_562A)));
        assert!(!takes("source = \"2A\"", eff(0x1234_562B)));
    }

    #[test]
    fn mistakes_are_named() {
        for (lines, message) in [
            (
                "pgn = 65265\nid = '123'",
                "`pgn` and `id` both choose the IDs",
            ),
            (
                "source = 1\nfilter = '123:7FF'",
                "`source` and `filter` both choose the IDs",
            ),
            ("pgn = []", "`pgn` is an empty list"),
            (
                "pgn = 'EngineSpeed'",
                "`pgn`: `EngineSpeed` is not a number",
            ),
            (
                "pgn = '18FEF100'",
                "a parameter group number has 18 bits: 3FFFF is the largest",
            ),
            (
                "pgn = -1",
                "a parameter group number has 18 bits: 3FFFF is the largest",
            ),
            ("source = 256", "a source address is 0 to 255"),
            ("source = 'can0'", "`source`: `can0` is not a number"),
            ("pgn = [65265, 'FEF1']", "`pgn` has this number twice"),
            (
                "pgn = 60161",
                "EB01 is not a parameter group: groups below F000 are sent to one address, and their low byte is 0",
            ),
            (
                "pgn = 60416",
                "the route takes group EC00 of the transport protocol, but not EB00: no message of several frames \
                 can be received behind it",
            ),
        ] {
            assert_eq!(messages(lines), [message], "{lines}");
        }
        assert_eq!(messages("pgn = ['EC00', 'EB00']"), [""; 0]);
    }

    #[test]
    fn a_route_is_described_by_its_groups() {
        let route = one("pgn = [65265, 59904]\nsource = '2A'");
        let ports = crate::config::tests::ports();
        let text = describe(&route, &ports);
        assert!(
            text.contains("parameter group FEF1 of source 2A or parameter group EA00 of source 2A"),
            "{text}"
        );
        let text = to_toml(core::slice::from_ref(&route), &ports);
        let again = crate::config::tests::good(&text);
        assert_eq!(again, [route]);
    }
}
