//! Addresses in `gateway.toml`: where a port listens, and what it connects to.

use config::read::{ReadKey, by};
use config::{TomlValue, ValueShape};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};

/// Returns the type of a key with the address at which a port listens: a port of the loopback
/// interface, or an address and a port.
pub(crate) fn listen<'t>() -> impl ReadKey<'t, Value = SocketAddr> {
    let shape = || ValueShape::Any(vec![ValueShape::Integer(1..=65535), ValueShape::Text]);
    by(shape, |value: &TomlValue<'t>, found| {
        if value.as_integer().is_some() {
            let port = value.integer(1..=65535, found)?.value as u16;
            return Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        }
        let Some(text) = value.as_str() else {
            value.expected("a port, or an address and a port", found);
            return None;
        };
        let address: Option<SocketAddr> = text.parse().ok();
        let address = address.filter(|address| address.port() > 0);
        if address.is_none() {
            let name = value.name();
            let hint = "write a port (this machine only), or an address and a port, such as \"192.0.2.1:20000\" or \
                        \"[::]:20000\"";
            let message = format!("`{name}`: `{text}` is not a valid ADDRESS:PORT");
            value.wrong(message, hint, found);
        }
        address
    })
}

/// The address of a peer: a host, by name or number, and a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PeerAddress(String);

impl PeerAddress {
    /// Returns the type of a key with such an address.
    pub(crate) fn key<'t>() -> impl ReadKey<'t, Value = Self> {
        by(
            || ValueShape::Text,
            |value: &TomlValue<'t>, found| {
                let text = value.string(found)?.value;
                let address = Self::parse(text);
                if address.is_none() {
                    let name = value.name();
                    let hint = "write a host and a port, such as \"192.0.2.1:20000\", \"[::1]:20000\" or \
                                \"gateway.example:20000\"";
                    let message = format!("`{name}`: `{text}` is not a valid HOST:PORT");
                    value.wrong(message, hint, found);
                }
                address
            },
        )
    }

    fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let number = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let is_name = |host: &str| {
            let allowed =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
            !host.is_empty() && host.bytes().all(allowed)
        };
        let host_fits = match number {
            Some(number) => number.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6()),
            None => is_name(host),
        };
        let port_fits = port.parse::<u16>().is_ok_and(|port| port > 0);
        (host_fits && port_fits).then(|| Self(text.to_owned()))
    }

    /// Returns the address if it is a number.
    pub(crate) fn number(&self) -> Option<SocketAddr> {
        self.0.parse().ok()
    }

    /// Returns the numeric addresses; asks the system's resolver for a name, which may take its
    /// time.
    ///
    /// # Errors
    /// The resolver's error as a sentence.
    pub(crate) fn resolve(&self) -> Result<Vec<SocketAddr>, String> {
        let found = self.0.to_socket_addrs();
        match found.map(Iterator::collect::<Vec<_>>) {
            Ok(found) if !found.is_empty() => Ok(found),
            Ok(_) => Err(format!("{self} has no address")),
            Err(error) => Err(format!("{self} has no address: {error}")),
        }
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers() {
        for good in [
            "192.0.2.1:1",
            "[::1]:65535",
            "gateway.example:20000",
            "a-b_c:7",
        ] {
            assert_eq!(PeerAddress::parse(good).unwrap().to_string(), good);
        }
        for wrong in [
            "",
            "20000",
            ":1",
            "a:0",
            "a:65536",
            "a:",
            "::1:20000",
            "[x]:1",
            "[192.0.2.1]:1",
            "a b:1",
        ] {
            assert_eq!(PeerAddress::parse(wrong), None, "{wrong}");
        }
        let addresses = PeerAddress::parse("[::1]:7").unwrap().resolve().unwrap();
        assert_eq!(addresses, ["[::1]:7".parse().unwrap()]);
    }
}
