//! Finding a device, taking it from its driver and giving it back.

use super::config_space::ConfigSpace;
use crate::link::{ParentDevice, SYSFS};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const DEVICES: &str = "/sys/bus/pci/devices";
const DRIVERS: &str = "/sys/bus/pci/drivers";

/// An override that is not the name of a driver: with it, no driver takes the device.
const NOBODY: &str = "cangate-direct";

/// Time within which a driver must have set a device up.
const PROBE: Duration = Duration::from_secs(5);

/// The UIO driver for devices that raise an interrupt line.
pub const UIO_PCI_GENERIC: &str = "uio_pci_generic";

/// The kernel driver that a device gets while a process drives it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeviceHeir {
    /// No driver: the process polls the device.
    Nobody,
    /// A UIO driver with this name, through which the process waits for interrupts.
    Uio(&'static str),
}

impl DeviceHeir {
    /// For devices that raise an interrupt line.
    pub const LINE: Self = Self::Uio(UIO_PCI_GENERIC);

    const fn name(self) -> &'static str {
        match self {
            Self::Nobody => NOBODY,
            Self::Uio(driver) => driver,
        }
    }
}

/// An error of a PCI device.
#[derive(thiserror::Error, Debug)]
pub enum PciError {
    /// There is no such interface or address.
    #[error("there is no PCI device {0}: `lspci -D` lists addresses, `ip link` lists interfaces")]
    Missing(String),
    /// The interface does not belong to a PCI device.
    #[error(
        "{0} is an interface, but not of a PCI card: only controllers on PCI cards can be driven directly"
    )]
    NotPci(String),
    /// The interface's number on its card is too large.
    #[error(
        "{interface} has the number {channel} on its card (`dev_port` or `dev_id` in /sys/class/net/{interface}), and the \
         largest that cangate drives is 255: use the interface by the kernel's driver (`kind = \"socketcan\"`)"
    )]
    Channel {
        /// The interface.
        interface: String,
        /// Its number.
        channel: u32,
    },
    /// An operation on a file of sysfs or of a device failed.
    #[error("cannot {what} {}: {source}{}", path.display(), advice(source))]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The UIO driver does not exist, or does not take the device.
    #[error(
        "{address} has no interrupt for a process: load the kernel's module {driver}, or poll it, \
         which needs none (`mode = \"poll\"`, or `poll = \"200us\"` for shared memory)"
    )]
    NoUio {
        /// The device.
        address: String,
        /// The driver.
        driver: &'static str,
    },
    /// The device was handed back, but its driver did not take it.
    #[error("{address} was returned, but the driver {driver} did not accept it: see `dmesg`")]
    NotTaken {
        /// The device.
        address: String,
        /// Its driver.
        driver: String,
    },
    /// A region does not have a required property.
    #[error("region {region} of {address} {why}")]
    Region {
        /// The device.
        address: String,
        /// The region, from 0.
        region: u8,
        /// The violated property.
        why: &'static str,
    },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            " (driving a card directly needs root and a kernel without lockdown)"
        }
        _ => "",
    }
}

/// Vendor and device IDs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DeviceClass {
    /// The vendor ID.
    pub vendor: u16,
    /// The device ID.
    pub device: u16,
}

/// A PCI device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PciDevice {
    address: String,
    class: DeviceClass,
}

impl PciDevice {
    /// Finds a device by its address (`0000:00:12.0`) or by the name of its network interface. For
    /// an interface, also returns its number on the card, from 0.
    ///
    /// # Errors
    /// [`PciError::Missing`], [`PciError::NotPci`], [`PciError::Channel`].
    pub fn find(name: &str) -> Result<(Self, Option<u8>), PciError> {
        if name.is_empty() || name.contains(['/', '\0']) || name == "." || name == ".." {
            return Err(PciError::Missing(name.to_owned()));
        }
        if let Some(card) = Self::at(name) {
            return Ok((card, None));
        }
        if !Path::new(SYSFS).join("class/net").join(name).exists() {
            return Err(PciError::Missing(name.to_owned()));
        }
        let not_pci = || PciError::NotPci(name.to_owned());
        let device = ParentDevice::read(Path::new(SYSFS), name).ok_or_else(not_pci)?;
        let card = Self::at(&device.name).ok_or_else(not_pci)?;
        Ok((card, Some(channel_on_card(name, device.channel)?)))
    }

    fn at(address: &str) -> Option<Self> {
        let folder = Path::new(DEVICES).join(address);
        let number = |file| {
            let text = fs::read_to_string(folder.join(file)).ok()?;
            u16::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
        };
        Some(Self {
            address: address.to_owned(),
            class: DeviceClass {
                vendor: number("vendor")?,
                device: number("device")?,
            },
        })
    }

    /// Returns the address: domain, bus, device, function.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the vendor and device IDs.
    #[must_use]
    pub const fn class(&self) -> DeviceClass {
        self.class
    }

    /// Returns the device's folder in sysfs.
    pub(super) fn folder(&self) -> PathBuf {
        Path::new(DEVICES).join(&self.address)
    }

    /// Returns the driver that has the device at present.
    #[must_use]
    pub fn driver(&self) -> Option<String> {
        let link = fs::read_link(self.folder().join("driver")).ok()?;
        Some(link.file_name()?.to_str()?.to_owned())
    }

    /// Returns the device's network interfaces in this network namespace.
    #[must_use]
    pub fn interfaces(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder().join("net"));
        let names = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Returns whether a driver override is set, so that the usual driver does not get the device.
    #[must_use]
    pub fn is_overridden(&self) -> bool {
        let text = fs::read_to_string(self.folder().join("driver_override"));
        text.is_ok_and(|text| !matches!(text.trim(), "" | "(null)"))
    }

    /// Takes the device away from its driver: its network interfaces vanish, and the heir gets it.
    /// The device then decodes its regions and does not access memory on its own; of its
    /// interrupts, only messages (MSI) that a UIO driver enables are delivered.
    ///
    /// # Errors
    /// [`PciError`]. [`give_back`] undoes the steps that were done.
    pub fn take(&self, heir: DeviceHeir) -> Result<(), PciError> {
        let folder = self.folder();
        if let DeviceHeir::Uio(driver) = heir
            && !Path::new(DRIVERS).join(driver).exists()
        {
            // Where modprobe is missing, the user has loaded the module already, or the error asks
            // for it.
            let _ = std::process::Command::new("modprobe").arg(driver).output();
            if !Path::new(DRIVERS).join(driver).exists() {
                return Err(self.no_uio(driver));
            }
        }
        let name = heir.name();
        write(&folder.join("driver_override"), name)?;
        if let Some(driver) = self.driver().filter(|driver| driver != name) {
            write(
                &Path::new(DRIVERS).join(driver).join("unbind"),
                &self.address,
            )?;
        }
        let config = ConfigSpace::open(self)?;
        // A message is an access to memory: a driver that has enabled messages keeps that
        // permission.
        if heir == DeviceHeir::LINE || self.driver().as_deref() != Some(name) {
            config.quiet()?;
        }
        match heir {
            DeviceHeir::Nobody => write(&folder.join("enable"), "1")?,
            DeviceHeir::Uio(driver) => {
                if self.driver().as_deref() != Some(driver) {
                    write(Path::new("/sys/bus/pci/drivers_probe"), &self.address)?;
                }
                if self.driver().as_deref() != Some(driver) {
                    return Err(self.no_uio(driver));
                }
            }
        }
        config.decode()
    }

    pub(super) fn no_uio(&self, driver: &'static str) -> PciError {
        PciError::NoUio {
            address: self.address.clone(),
            driver,
        }
    }
}

/// Hands a device back to the kernel's driver of this name, whichever driver has it at present, and
/// waits until the driver has it. A device that the driver already has is left with it.
///
/// # Errors
/// [`PciError`]; [`PciError::NotTaken`] where the driver does not take the device.
pub fn give_back(address: &str, driver: Option<&str>) -> Result<(), PciError> {
    let card = PciDevice::at(address).ok_or_else(|| PciError::Missing(address.to_owned()))?;
    let folder = card.folder();
    // From here on, no interrupts and no memory accesses until the driver has set the device up.
    ConfigSpace::open(&card)?.quiet()?;
    let now = card.driver();
    // An empty line removes the override.
    write(&folder.join("driver_override"), "\n")?;
    if now.is_some() && now.as_deref() != driver {
        let heir = now.unwrap_or_default();
        write(&Path::new(DRIVERS).join(heir).join("unbind"), address)?;
    } else if now.is_none() {
        // `PciDevice::take` enabled the device; the driver enables it again.
        let _ = fs::write(folder.join("enable"), "0");
    }
    let Some(driver) = driver else {
        return Ok(());
    };
    if card.driver().as_deref() != Some(driver) {
        write(Path::new("/sys/bus/pci/drivers_probe"), address)?;
    }
    let start = Instant::now();
    while card.driver().as_deref() != Some(driver) {
        if start.elapsed() > PROBE {
            return Err(PciError::NotTaken {
                address: address.to_owned(),
                driver: driver.to_owned(),
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Returns the number of an interface on its card; 0 where the driver reports none.
fn channel_on_card(interface: &str, reported: Option<u32>) -> Result<u8, PciError> {
    let channel = reported.unwrap_or(0);
    u8::try_from(channel).map_err(|_| PciError::Channel {
        interface: interface.to_owned(),
        channel,
    })
}

fn write(path: &Path, text: &str) -> Result<(), PciError> {
    fs::write(path, text).map_err(|source| PciError::File {
        what: "write to",
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_beyond_a_byte_is_an_error() {
        for (reported, channel) in [(None, 0), (Some(0), 0), (Some(255), 255)] {
            assert_eq!(channel_on_card("can0", reported).unwrap(), channel);
        }
        for large in [256, u32::MAX] {
            let error = channel_on_card("can0", Some(large))
                .unwrap_err()
                .to_string();
            let place = format!("can0 has the number {large} on its card");
            assert!(error.starts_with(&place), "{error}");
        }
    }

    #[test]
    fn what_is_not_there_is_reported() {
        for name in ["", ".", "..", "a/b", "no-such-interface", "ffff:ff:1f.7"] {
            assert!(
                matches!(PciDevice::find(name), Err(PciError::Missing(_))),
                "{name}"
            );
        }
        assert!(matches!(PciDevice::find("lo"), Err(PciError::NotPci(_))));
        let error = give_back("ffff:ff:1f.7", None).unwrap_err();
        assert!(error.to_string().contains("lspci"), "{error}");
    }
}
