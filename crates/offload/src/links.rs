//! The interfaces of this network namespace (`uapi/linux/rtnetlink.h`, `if_link.h`).

use crate::netlink::{Failed, Malformed, Netlink, failed, number, socket, text};
use netlink_packet_core::NlasIterator;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, recv};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_XDP: u16 = 43;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_XDP_PROG_ID: u16 = 4;
/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` are no part of an attribute's type.
const TYPE: u16 = 0x3FFF;
/// `ARPHRD_CAN`
const CAN: u16 = 280;
const IFF_UP: u32 = 1;
const IFF_ECHO: u32 = 1 << 18;
/// Bytes of `struct ifinfomsg`.
pub(crate) const IFINFO: usize = 16;
/// `RTMGRP_LINK`
const GROUP: u32 = 1;

/// An interface.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Link {
    /// Its index, which no other interface has at the same time.
    pub index: u32,
    /// Its name at the moment.
    pub name: String,
    /// It is one of CAN.
    pub can: bool,
    /// The size of the largest frame structure that it takes: 16 classic, 72 FD, more XL.
    pub mtu: u32,
    /// Up?
    pub up: bool,
    /// Its driver shows sent frames to local programs itself (`IFF_ECHO`).
    pub echo: bool,
    /// What rtnetlink calls its kind: `vcan`, `vxcan`, `can`, or nothing.
    pub kind: String,
    /// Its XDP program's number; 0 for none.
    pub(crate) xdp: u32,
}

/// All interfaces at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Links {
    by_name: BTreeMap<String, Link>,
    names: BTreeMap<u32, String>,
}

impl Links {
    fn put(&mut self, link: Link) {
        self.names.insert(link.index, link.name.clone());
        self.by_name.insert(link.name.clone(), link);
    }

    /// The index of the CAN interface with a name.
    #[must_use]
    pub fn can(&self, name: &str) -> Option<u32> {
        let link = self.by_name.get(name)?;
        link.can.then_some(link.index)
    }

    /// The interface with a name, of CAN or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Link> {
        self.by_name.get(name)
    }

    /// The interface with an index.
    #[must_use]
    pub fn at(&self, index: u32) -> Option<&Link> {
        self.by_name.get(self.names.get(&index)?)
    }

    /// The CAN interfaces, by name.
    pub fn all_can(&self) -> impl Iterator<Item = &Link> {
        self.by_name.values().filter(|link| link.can)
    }

    /// The name of an interface; `#7` for one that has just gone.
    #[must_use]
    pub fn name(&self, index: u32) -> String {
        let name = self.names.get(&index);
        name.cloned().unwrap_or_else(|| format!("#{index}"))
    }

    /// For tests: all are taken for virtual ones of CAN.
    pub(crate) fn pretend(&mut self) {
        for link in self.by_name.values_mut() {
            link.can = true;
            "vxcan".clone_into(&mut link.kind);
        }
    }

    /// Asks the kernel.
    pub(crate) fn read(netlink: &mut Netlink) -> Result<Self, Failed> {
        let listed = netlink.dump(RTM_GETLINK, &[0; IFINFO])?;
        let mut links = Self::default();
        for (kind, body) in listed.map_err(failed("listing the interfaces"))? {
            if kind == RTM_NEWLINK {
                links.put(link(&body)?);
            }
        }
        Ok(links)
    }
}

fn link(body: &[u8]) -> Result<Link, Malformed> {
    let Some((&[_, _, t0, t1, i0, i1, i2, i3, f0, f1, f2, f3, ..], attributes)) =
        body.split_first_chunk::<IFINFO>()
    else {
        return Err(Malformed::Message);
    };
    let flags = u32::from_ne_bytes([f0, f1, f2, f3]);
    let mut link = Link {
        index: u32::from_ne_bytes([i0, i1, i2, i3]),
        can: u16::from_ne_bytes([t0, t1]) == CAN,
        up: flags & IFF_UP != 0,
        echo: flags & IFF_ECHO != 0,
        ..Link::default()
    };
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute.map_err(|_| Malformed::Attribute)?;
        match attribute.kind() & TYPE {
            IFLA_IFNAME => link.name = text(attribute.value()),
            IFLA_MTU => link.mtu = number(attribute.value()),
            IFLA_LINKINFO => {
                link.kind = text(&inner(attribute.value(), IFLA_INFO_KIND).unwrap_or_default());
            }
            IFLA_XDP => {
                let id = inner(attribute.value(), IFLA_XDP_PROG_ID).unwrap_or_default();
                link.xdp = number(&id);
            }
            _ => {}
        }
    }
    Ok(link)
}

/// An attribute in an attribute.
pub(crate) fn inner(value: &[u8], kind: u16) -> Option<Vec<u8>> {
    NlasIterator::new(value)
        .map_while(Result::ok)
        .find(|attribute| attribute.kind() & TYPE == kind)
        .map(|attribute| attribute.value().to_vec())
}

/// Says when interfaces come, go, or change.
pub(crate) struct Events(OwnedFd);

impl Events {
    pub(crate) fn open() -> Result<Self, Failed> {
        socket(GROUP, SocketFlags::NONBLOCK).map(Self)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Takes what is there; what it was in detail, nobody needs: the kernel is asked anew. True if
    /// there was anything.
    pub(crate) fn drain(&self) -> bool {
        let (mut any, mut buffer) = (false, [0; 4096]);
        loop {
            match recv(&self.0, buffer.as_mut_slice(), RecvFlags::empty()) {
                // Some were lost, because there were too many.
                Ok(_) | Err(Errno::NOBUFS) => any = true,
                Err(Errno::INTR) => {}
                Err(_) => return any,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{message, messages};
    use proptest::prelude::*;

    #[test]
    fn every_linux_has_a_loopback_interface_and_it_is_none_of_can() {
        let mut netlink = Netlink::open().unwrap();
        let links = Links::read(&mut netlink).unwrap();
        let lo = links.get("lo").unwrap();
        assert_eq!((lo.can, links.name(lo.index).as_str()), (false, "lo"));
        assert_eq!(links.at(lo.index), Some(lo));
        assert!(lo.mtu >= 16 && lo.xdp == 0);
        assert_eq!((links.can("lo"), links.can("no-such-if")), (None, None));
        assert_eq!(links.name(u32::MAX), "#4294967295");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = link(&bytes);
            let _ = inner(&bytes, 1);
            let _ = messages(&bytes).count();
            let _ = messages(&message(RTM_NEWLINK, 0, 0, &bytes)).count();
        }
    }
}
