//! Hardware addresses in `gateway.toml`.

use config::read::{ReadKey, by};
use config::{TomlValue, ValueShape};
use std::fmt;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

/// The hardware address of an Ethernet interface, or of a group of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MacAddress(pub(crate) [u8; 6]);

impl MacAddress {
    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2)?;
            let is_hex = part.bytes().all(|digit| digit.is_ascii_hexdigit());
            *byte = u8::from_str_radix(part, 16).ok().filter(|_| is_hex)?;
        }
        parts.next().is_none().then_some(Self(bytes))
    }

    /// Returns the type of a key with such an address.
    pub(crate) fn key<'t>() -> impl ReadKey<'t, Value = Self> {
        by(
            || ValueShape::Text,
            |value: &TomlValue<'t>, found| {
                let text = value.string(found)?.value;
                let address = Self::parse(text);
                if address.is_none() {
                    let name = value.name();
                    let hint = "write six bytes in hex, such as \"02:00:00:00:00:07\"";
                    let message = format!("`{name}`: `{text}` is not a valid hardware address");
                    value.wrong(message, hint, found);
                }
                address
            },
        )
    }

    /// Returns whether it is that of a group.
    pub(crate) const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Returns the address as a link-local one of IPv6 (RFC 4291, appendix A), by which the parts
    /// that all tunnels share know a sender. `index`: that of the interface.
    pub(crate) fn as_link_local(self, index: u32) -> SocketAddr {
        let [a, b, c, d, e, f] = self.0;
        let word = |high: u8, low: u8| u16::from_be_bytes([high, low]);
        let address = Ipv6Addr::new(
            0xFE80,
            0,
            0,
            0,
            word(a ^ 2, b),
            word(c, 0xFF),
            word(0xFE, d),
            word(e, f),
        );
        SocketAddr::V6(SocketAddrV6::new(address, 0, 0, index))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_addresses() {
        let address = MacAddress::parse("02-00-5E-10-00-aF").unwrap();
        assert_eq!(address.to_string(), "02:00:5e:10:00:af");
        assert_eq!(
            address.as_link_local(3).to_string(),
            "[fe80::5eff:fe10:af%3]:0"
        );
        assert!(!address.is_group());
        assert!(MacAddress::parse("91:e0:f0:00:fe:00").unwrap().is_group());
        for wrong in [
            "",
            "02:00:5e:10:00",
            "02:00:5e:10:00:af:01",
            "2:0:5e:10:0:af",
            "02:00:5e:10:00:+f",
            "02005e1000af",
        ] {
            assert_eq!(MacAddress::parse(wrong), None, "{wrong}");
        }
    }
}
