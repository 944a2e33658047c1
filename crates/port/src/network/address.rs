//! The key `allow` in `gateway.toml`: which senders a port allows.

use config::read::{ReadKey, by};
use config::{Diagnostics, TomlValue, ValueShape};
use std::fmt;
use std::net::IpAddr;

/// The addresses with a common prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AddressRange {
    first: IpAddr,
    bits: u32,
}

impl AddressRange {
    /// Returns the range of one address.
    pub(crate) fn one(address: IpAddr) -> Self {
        let address = address.to_canonical();
        let bits = if address.is_ipv4() { 32 } else { 128 };
        Self {
            first: address,
            bits,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let Some((address, bits)) = text.split_once('/') else {
            return Some(Self::one(text.parse().ok()?));
        };
        let all = Self::one(address.parse().ok()?);
        let bits = bits.parse().ok().filter(|bits| *bits <= all.bits)?;
        Some(Self { bits, ..all })
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        let differing = |a: u128, b: u128, width: u32| {
            let low = width - self.bits;
            low < width && (a ^ b) >> low != 0
        };
        // A client of IPv4 at a socket of IPv6 has a mapped address.
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                !differing(u128::from(a.to_bits()), u128::from(b.to_bits()), 32)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => !differing(a.to_bits(), b.to_bits(), 128),
            _ => false,
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        match (self.first, self.bits) {
            (IpAddr::V4(_), 32) | (IpAddr::V6(_), 128) => Ok(()),
            (_, bits) => write!(f, "/{bits}"),
        }
    }
}

/// Returns the type of the key `allow`: addresses, or ranges such as `"192.0.2.0/24"`.
pub(crate) fn allow<'t>() -> impl ReadKey<'t, Value = Vec<AddressRange>> {
    let shape = || ValueShape::OneOrList(Box::new(ValueShape::Text));
    by(shape, |value: &TomlValue<'t>, found: &mut Diagnostics| {
        let mut ranges = Vec::new();
        for one in value.one_or_list() {
            let text = one.string(found)?.value;
            match AddressRange::parse(text) {
                Some(range) => ranges.push(range),
                None => {
                    let message = format!("`{text}` is not a valid address or range of addresses");
                    let hint = "write \"192.0.2.7\", \"192.0.2.0/24\" or \"2001:db8::/32\"";
                    one.wrong(message, hint, found);
                }
            }
        }
        Some(ranges)
    })
}

/// Returns whether a sender is allowed: any one where there is no list.
pub(crate) fn is_allowed(allow: Option<&[AddressRange]>, sender: IpAddr) -> bool {
    allow.is_none_or(|ranges| ranges.iter().any(|range| range.contains(sender)))
}

/// Returns the words of `cangate check` for a list.
pub(crate) fn allow_words(allow: Option<&[AddressRange]>) -> String {
    let Some(ranges) = allow else {
        return String::new();
    };
    let all: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    match &*all {
        [] => "; allows no sender".to_owned(),
        _ => format!("; allows {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn ranges() {
        let cases = [
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.8", false),
            ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("192.0.2.0/24", "::ffff:192.0.2.9", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::1", "::1", true),
            ("::ffff:192.0.2.7", "192.0.2.7", true),
        ];
        for (range, address, contained) in cases {
            let parsed = AddressRange::parse(range).unwrap();
            assert_eq!(
                parsed.contains(address.parse().unwrap()),
                contained,
                "{range} {address}"
            );
            assert_eq!(AddressRange::parse(&parsed.to_string()), Some(parsed));
        }
        for wrong in [
            "",
            "host",
            "192.0.2.0/33",
            "::/129",
            "192.0.2.0/",
            "192.0.2.0/x",
        ] {
            assert_eq!(AddressRange::parse(wrong), None, "{wrong}");
        }
        let list = [AddressRange::parse("192.0.2.0/24").unwrap()];
        assert!(is_allowed(None, Ipv4Addr::LOCALHOST.into()));
        assert!(!is_allowed(Some(&list), Ipv4Addr::LOCALHOST.into()));
        assert!(!is_allowed(Some(&[]), Ipv4Addr::LOCALHOST.into()));
    }
}
