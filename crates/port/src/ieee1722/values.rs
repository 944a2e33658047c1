//! Values of keys, and where keys apply.

use config::{Diagnostics, TomlTable, TomlValue, ValueShape};
use net::ieee1722::MessageVersion;

/// Values of `version`.
const VERSIONS: [(i64, MessageVersion); 2] = [(1, MessageVersion::V1), (2, MessageVersion::V2)];

/// The shape of `version`.
pub(super) fn versions() -> ValueShape {
    ValueShape::Integer(1..=2)
}

/// Reads the version of messages.
pub(super) fn version(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<MessageVersion> {
    let number = value.integer(1..=2, found)?.value;
    let known = VERSIONS.iter().find(|(known, _)| *known == number);
    known.map(|(_, version)| *version)
}

/// Reads the ID of a stream.
pub(super) fn stream(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<u64> {
    let text = value.string(found)?.value;
    let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = u64::from_str_radix(text, 16).ok().filter(|_| digits);
    if id.is_none() {
        let hint = "write 16 hex digits, such as \"AABBCCDDEEFF0001\": a MAC address and a number";
        value.wrong(format!("`{text}` is not a valid stream ID"), hint, found);
    }
    id
}

/// Checks that a port is on UDP or on Ethernet.
pub(super) fn check_ends(table: &TomlTable<'_>, found: &mut Diagnostics) {
    let (is_ethernet, others) = match table.has("interface") {
        true => (true, &["listen", "connect", "allow", "dscp"][..]),
        false => (false, &["peer", "vlan_priority"][..]),
    };
    for key in others {
        if table.has(key) {
            let (message, hint) = match is_ethernet {
                true => (
                    format!("`{key}` is for UDP"),
                    "leave it out: with `interface`, the stream is on Ethernet; or leave out `interface`",
                ),
                false => (
                    format!("`{key}` is for Ethernet"),
                    "add `interface`, such as `interface = \"eth0\"`, or leave it out",
                ),
            };
            table.wrong(key, message, hint, found);
        }
    }
    if !is_ethernet && !table.has("connect") && !table.is_misnamed("interface") {
        let hint = "add `connect = \"HOST:PORT\"`, at which the other side listens; on Ethernet, `interface = \"eth0\"`";
        table.missing("connect", hint, found);
    }
}
