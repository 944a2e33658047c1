//! Whether the sender of a datagram is on this machine.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};

/// Number of addresses that are remembered.
const MAX_KNOWN: usize = 16;

/// The machine of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SenderPlace {
    /// This machine.
    Here,
    /// Another machine.
    Elsewhere,
    /// The system could not tell, for example for lack of descriptors.
    Unknown,
}

/// The addresses of senders, each with its machine.
pub(super) struct SenderPlaces {
    /// The addresses, with port 0. An address of IPv6 has its scope: a link-local one has a meaning
    /// on its link only.
    known: Vec<(SocketAddr, SenderPlace)>,
    /// Binds a socket to an address.
    bind: fn(SocketAddr) -> io::Result<()>,
}

impl Default for SenderPlaces {
    fn default() -> Self {
        Self::new(|address| UdpSocket::bind(address).map(drop))
    }
}

impl SenderPlaces {
    fn new(bind: fn(SocketAddr) -> io::Result<()>) -> Self {
        Self {
            known: Vec::new(),
            bind,
        }
    }

    /// Returns the machine of a sender. The system lets a socket have only addresses of this
    /// machine. Another refusal leaves the place unknown, and the next datagram asks again.
    pub(super) fn find(&mut self, sender: SocketAddr) -> SenderPlace {
        let mut address = sender;
        address.set_port(0);
        if let SocketAddr::V6(address) = &mut address {
            address.set_flowinfo(0);
        }
        if let Some((_, place)) = self.known.iter().find(|(known, _)| *known == address) {
            return *place;
        }
        let place = match (self.bind)(address) {
            Ok(()) => SenderPlace::Here,
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => SenderPlace::Elsewhere,
            Err(_) => return SenderPlace::Unknown,
        };
        if self.known.len() == MAX_KNOWN {
            self.known.remove(0);
        }
        self.known.push((address, place));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::Errno;
    use std::net::{Ipv6Addr, SocketAddrV6};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn addresses_of_this_machine_and_of_others() {
        let mut places = SenderPlaces::default();
        for (address, place) in [
            ("127.0.0.1:7", SenderPlace::Here),
            ("127.0.0.1:8", SenderPlace::Here),
            // A network for documents (RFC 5737), which no machine has.
            ("192.0.2.1:7", SenderPlace::Elsewhere),
        ] {
            assert_eq!(places.find(address.parse().unwrap()), place, "{address}");
        }
        assert_eq!(places.known.len(), 2);
    }

    /// A link-local address belongs to a link: the system refuses it without the link's number.
    #[test]
    fn an_address_keeps_its_scope() {
        let address =
            |port, flow, scope| SocketAddrV6::new(Ipv6Addr::LOCALHOST, port, flow, scope).into();
        let mut places = SenderPlaces::new(|address| {
            let SocketAddr::V6(address) = address else {
                return Err(Errno::INVAL.into());
            };
            assert_eq!((address.port(), address.flowinfo()), (0, 0));
            match address.scope_id() {
                3 => Ok(()),
                4 => Err(Errno::ADDRNOTAVAIL.into()),
                _ => Err(Errno::INVAL.into()),
            }
        });
        for _ in 0..2 {
            assert_eq!(places.find(address(7, 1, 3)), SenderPlace::Here);
            assert_eq!(places.find(address(7, 1, 4)), SenderPlace::Elsewhere);
            assert_eq!(places.find(address(7, 1, 0)), SenderPlace::Unknown);
        }
    }

    #[test]
    fn a_refusal_for_another_reason_is_not_remembered() {
        static IS_SHORT: AtomicBool = AtomicBool::new(true);
        let sender = "127.0.0.1:7".parse().unwrap();
        let mut places = SenderPlaces::new(|_| match IS_SHORT.load(Relaxed) {
            true => Err(Errno::MFILE.into()),
            false => Ok(()),
        });
        assert_eq!(places.find(sender), SenderPlace::Unknown);
        IS_SHORT.store(false, Relaxed);
        assert_eq!(places.find(sender), SenderPlace::Here);
    }
}
