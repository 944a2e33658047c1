//! The interfaces of this network namespace (`uapi/linux/rtnetlink.h`, `if_link.h`).

use super::error::Error;
use super::netlink::{Netlink, socket};
use super::wire::{HEADER, Malformed, message};
use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NlasIterator};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SocketFlags, recv};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;
/// `ARPHRD_CAN`
const CAN: u16 = 280;
/// Bytes of `struct ifinfomsg`.
const IFINFO: usize = 16;
/// `RTMGRP_LINK`
const GROUP: u32 = 1;

/// An interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Its index, which no other interface has at the same time.
    pub index: u32,
    /// Its name at the moment.
    pub name: String,
    /// It is one of CAN.
    pub can: bool,
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

    /// The name of an interface; `#7` for one that has just gone.
    #[must_use]
    pub fn name(&self, index: u32) -> String {
        let name = self.names.get(&index);
        name.cloned().unwrap_or_else(|| format!("#{index}"))
    }

    /// Asks the kernel.
    pub(super) fn read(netlink: &mut Netlink) -> Result<Self, Error> {
        let sequence = netlink.sequence();
        let flags = NLM_F_REQUEST | NLM_F_DUMP;
        netlink.send(&message(RTM_GETLINK, flags, sequence, &[0; IFINFO]))?;
        let mut links = Self::default();
        loop {
            let datagram = netlink.receive()?;
            if links.take(datagram, sequence)? {
                return Ok(links);
            }
        }
    }

    /// Takes what the kernel listed; true at the end of the list.
    fn take(&mut self, mut bytes: &[u8], sequence: u32) -> Result<bool, Error> {
        while !bytes.is_empty() {
            let buffer = NetlinkBuffer::new_checked(bytes).map_err(|_| Malformed::Message)?;
            let len = buffer.length() as usize;
            let body = bytes.get(HEADER..len).ok_or(Malformed::Message)?;
            if buffer.sequence_number() == sequence {
                match buffer.message_type() {
                    NLMSG_DONE => return Ok(true),
                    NLMSG_ERROR => {
                        return Err(Error::Socket {
                            doing: "listing the interfaces",
                            source: Errno::IO,
                        });
                    }
                    RTM_NEWLINK => self.put(link(body)?),
                    _ => {}
                }
            }
            bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(false)
    }
}

fn link(body: &[u8]) -> Result<Link, Malformed> {
    let Some((&[_, _, t0, t1, i0, i1, i2, i3, ..], attributes)) =
        body.split_first_chunk::<IFINFO>()
    else {
        return Err(Malformed::Message);
    };
    let mut link = Link {
        index: u32::from_ne_bytes([i0, i1, i2, i3]),
        name: String::new(),
        can: u16::from_ne_bytes([t0, t1]) == CAN,
    };
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute.map_err(|_| Malformed::Attribute)?;
        if attribute.kind() == IFLA_IFNAME {
            let text = attribute.value().split(|b| *b == 0).next();
            link.name = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
        }
    }
    Ok(link)
}

/// Says when interfaces come, go, or change.
pub(super) struct Events(OwnedFd);

impl Events {
    pub(super) fn open() -> Result<Self, Error> {
        socket(GROUP, SocketFlags::NONBLOCK).map(Self)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Takes what is there; what it was in detail, nobody needs: the kernel is asked anew. True if
    /// there was anything.
    pub(super) fn drain(&self) -> bool {
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
    use proptest::prelude::*;

    #[test]
    fn every_linux_has_a_loopback_interface_and_it_is_none_of_can() {
        let mut netlink = Netlink::open().unwrap();
        let links = Links::read(&mut netlink).unwrap();
        let lo = links.get("lo").unwrap();
        assert_eq!((lo.can, links.name(lo.index).as_str()), (false, "lo"));
        assert_eq!((links.can("lo"), links.can("no-such-if")), (None, None));
        assert_eq!(links.name(u32::MAX), "#4294967295");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = link(&bytes);
            let _ = Links::default().take(&bytes, 0);
            let _ = Links::default().take(&message(RTM_NEWLINK, 0, 0, &bytes), 0);
        }
    }
}
