//! All interfaces at one moment.

use super::interface::{IFINFO, NetLink, RTM_GETLINK, RTM_NEWLINK, link};
use crate::netlink::{Error, NetlinkSocket, failed};
use std::collections::BTreeMap;

/// All interfaces at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetLinks {
    by_name: BTreeMap<String, NetLink>,
    names: BTreeMap<u32, String>,
}

impl FromIterator<NetLink> for NetLinks {
    fn from_iter<T: IntoIterator<Item = NetLink>>(all: T) -> Self {
        let mut links = Self::default();
        for link in all {
            links.names.insert(link.index, link.name.clone());
            links.by_name.insert(link.name.clone(), link);
        }
        links
    }
}

impl IntoIterator for NetLinks {
    type Item = NetLink;
    type IntoIter = std::collections::btree_map::IntoValues<String, NetLink>;

    /// Iterates by name.
    fn into_iter(self) -> Self::IntoIter {
        self.by_name.into_values()
    }
}

impl NetLinks {
    /// Queries the kernel, on a socket of its own.
    ///
    /// # Errors
    /// [`Error`]
    pub fn now() -> Result<Self, Error> {
        Self::read(&mut NetlinkSocket::open()?)
    }

    /// Queries the kernel.
    ///
    /// # Errors
    /// [`Error`]
    pub fn read(netlink: &mut NetlinkSocket) -> Result<Self, Error> {
        let listed = netlink.list(RTM_GETLINK, vec![0; IFINFO])?;
        let listed = listed.map_err(failed("listing the interfaces"))?;
        let links = listed.iter().filter(|(kind, _)| *kind == RTM_NEWLINK);
        Ok(links
            .map(|(_, body)| link(body))
            .collect::<Result<_, _>>()?)
    }

    /// Returns the index of the CAN interface with this name.
    #[must_use]
    pub fn can(&self, name: &str) -> Option<u32> {
        let link = self.by_name.get(name)?;
        link.can.then_some(link.index)
    }

    /// Returns the interface with this name, whether of CAN or not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&NetLink> {
        self.by_name.get(name)
    }

    /// Returns the interface with this index.
    #[must_use]
    pub fn at(&self, index: u32) -> Option<&NetLink> {
        self.by_name.get(self.names.get(&index)?)
    }

    /// Iterates over the CAN interfaces, by name.
    pub fn all_can(&self) -> impl Iterator<Item = &NetLink> {
        self.by_name.values().filter(|link| link.can)
    }

    /// Returns the name of an interface; `#7` for one that has just disappeared.
    #[must_use]
    pub fn name(&self, index: u32) -> String {
        let name = self.names.get(&index);
        name.cloned().unwrap_or_else(|| format!("#{index}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_linux_has_a_loopback_interface_and_it_is_none_of_can() {
        let mut netlink = NetlinkSocket::open().unwrap();
        let links = NetLinks::read(&mut netlink).unwrap();
        let lo = links.get("lo").unwrap();
        assert_eq!((lo.can, links.name(lo.index).as_str()), (false, "lo"));
        assert_eq!(links.at(lo.index), Some(lo));
        assert!(lo.mtu >= 16 && lo.xdp == 0);
        assert_eq!((links.can("lo"), links.can("no-such-if")), (None, None));
        assert_eq!(links.name(u32::MAX), "#4294967295");
        let found = NetLink::find("lo").unwrap();
        assert_eq!(found.index, lo.index);
        let again: NetLinks = links.clone().into_iter().collect();
        assert_eq!(again, links);
    }
}
