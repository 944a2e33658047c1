//! All that the kernel reports about an interface, over rtnetlink and in sysfs.

use super::device::{ParentDevice, SYSFS};
use super::interface::{LinkError, NetLink};
use super::links::NetLinks;
use crate::netlink::Error;
use std::path::Path;

/// An interface with the device behind it: what lists show, and by what a user chooses one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InterfaceFacts {
    /// Its names, state and settings, over rtnetlink.
    pub link: NetLink,
    /// Its device, in sysfs; `None` where it has none: vcan, vxcan, slcan.
    pub device: Option<ParentDevice>,
}

impl InterfaceFacts {
    /// Queries the kernel about all CAN interfaces of this network namespace, by name.
    ///
    /// # Errors
    /// [`Error`] of rtnetlink. Where sysfs is not mounted, no interface has a device.
    pub fn all_can() -> Result<Vec<Self>, Error> {
        let links = NetLinks::now()?;
        let can = links.into_iter().filter(|link| link.can);
        Ok(can.map(|link| Self::of(link, Path::new(SYSFS))).collect())
    }

    /// Queries the kernel about one interface, by its name or one of its alternative names.
    ///
    /// # Errors
    /// [`LinkError`]
    pub fn find(name: &str) -> Result<Self, LinkError> {
        Ok(Self::of(NetLink::find(name)?, Path::new(SYSFS)))
    }

    /// Adds the device of an interface, which is looked up below `sysfs`.
    #[must_use]
    pub fn of(link: NetLink, sysfs: &Path) -> Self {
        let device = ParentDevice::read(sysfs, &link.name);
        Self { link, device }
    }

    /// Returns whether the name, or one of the alternative names, is this one.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        self.link.name == name || self.link.altnames.iter().any(|other| other == name)
    }

    /// Returns the place of its USB device, such as `1-1.2`.
    #[must_use]
    pub fn usb_path(&self) -> Option<&str> {
        let usb = self.device.as_ref()?.usb.as_ref()?;
        Some(&usb.path)
    }

    /// Returns the serial number of its USB device.
    #[must_use]
    pub fn serial(&self) -> Option<&str> {
        self.device.as_ref()?.usb.as_ref()?.serial.as_deref()
    }

    /// Returns the name of its driver. For an interface without a device it is the kind, which the
    /// driver has given: `vcan`, `vxcan`, `slcan`.
    #[must_use]
    pub fn driver(&self) -> Option<&str> {
        let named = self
            .device
            .as_ref()
            .and_then(|device| device.driver.as_deref());
        let kind = Some(self.link.kind.as_str());
        named.or(kind.filter(|kind| self.device.is_none() && !matches!(*kind, "" | "can")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::UsbDevice;

    #[test]
    fn names_and_driver() {
        let link = NetLink {
            name: "can0".to_owned(),
            kind: "can".to_owned(),
            altnames: vec!["body".to_owned(), "chassis-left".to_owned()],
            ..NetLink::default()
        };
        let mut facts = InterfaceFacts::of(link, Path::new("/no/such/folder"));
        assert!(facts.has_name("can0") && facts.has_name("chassis-left"));
        assert!(!facts.has_name("can") && !facts.has_name(""));
        // A controller whose device is unknown: its kind is not a driver.
        assert_eq!(
            (facts.driver(), facts.usb_path(), facts.serial()),
            (None, None, None)
        );
        facts.device = Some(ParentDevice {
            driver: Some("gs_usb".to_owned()),
            usb: Some(UsbDevice {
                path: "1-1.2".to_owned(),
                serial: Some("A7".to_owned()),
                ..UsbDevice::default()
            }),
            ..ParentDevice::default()
        });
        let found = (facts.driver(), facts.usb_path(), facts.serial());
        assert_eq!(found, (Some("gs_usb"), Some("1-1.2"), Some("A7")));
        let made = InterfaceFacts {
            link: NetLink {
                kind: "vcan".to_owned(),
                ..NetLink::default()
            },
            device: None,
        };
        assert_eq!(made.driver(), Some("vcan"));
    }

    #[test]
    fn every_linux_has_a_loopback_interface() {
        let found = InterfaceFacts::find("lo").unwrap();
        assert_eq!((found.link.name.as_str(), found.device), ("lo", None));
        assert!(
            InterfaceFacts::all_can()
                .unwrap()
                .iter()
                .all(|one| one.link.can)
        );
    }
}
