//! The device behind a network interface, as sysfs describes it
//! (`Documentation/ABI/testing/sysfs-class-net`, `sysfs-bus-usb` of the kernel).

use std::fs;
use std::path::{Path, PathBuf};

/// The folder in which Linux mounts sysfs.
pub const SYSFS: &str = "/sys";

/// The most bytes that are read from a file: sysfs has at most a page in each.
const MAX_TEXT: usize = 4096;

/// The device to which an interface belongs: a card, a chip, an adapter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParentDevice {
    /// The bus that it is on: `usb`, `pci`, `spi`, `platform`, …
    pub bus: Option<String>,
    /// Its name on that bus: `1-1.2:1.0`, `0000:03:00.0`, `spi0.0`.
    pub name: String,
    /// The driver that serves it.
    pub driver: Option<String>,
    /// Which of the device's channels the interface is, from 0: as the driver reports it
    /// (`dev_port`, else `dev_id`), or by the order in which the kernel created the interfaces of
    /// the device, where the driver reports the same number for all of them (gs_usb of Linux 6.1).
    pub channel: Option<u32>,
    /// The USB device that it is part of.
    pub usb: Option<UsbDevice>,
}

/// A USB device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UsbDevice {
    /// Its place: the number of the bus and the ports on the way, such as `1-1.2`. It stays the
    /// same as long as the device is plugged in at the same place.
    pub path: String,
    /// The serial number, where the device has one.
    pub serial: Option<String>,
    /// The product's name, by the device.
    pub product: Option<String>,
    /// The manufacturer's name, by the device.
    pub manufacturer: Option<String>,
    /// The IDs of vendor and product, such as `1d50:606f`.
    pub ids: Option<String>,
}

impl ParentDevice {
    /// Reads the device of an interface below `sysfs`, which is [`SYSFS`] except in tests. Returns
    /// `None` where it has none, as virtual interfaces and slcan, or where sysfs is not mounted.
    #[must_use]
    pub fn read(sysfs: &Path, interface: &str) -> Option<Self> {
        // An interface's name has no `/` and is not `..`; a text from elsewhere may.
        if interface.is_empty() || interface.contains('/') || interface.starts_with('.') {
            return None;
        }
        let folder = sysfs.join("class/net").join(interface);
        let place = fs::canonicalize(folder.join("device")).ok()?;
        Some(Self {
            bus: link_name(&place.join("subsystem")),
            name: file_name(&place)?,
            driver: link_name(&place.join("driver")),
            channel: order_in_device(&place, &folder).or_else(|| reported_channel(&folder)),
            usb: usb_device(sysfs, &place),
        })
    }
}

/// Reads a number of an interface, whose folder this is.
fn read_number(folder: &Path, name: &str) -> Option<u32> {
    read_text(&folder.join(name)).and_then(|text| parse_number(&text))
}

/// Returns the channel that the driver reports.
fn reported_channel(folder: &Path) -> Option<u32> {
    match (
        read_number(folder, "dev_port"),
        read_number(folder, "dev_id"),
    ) {
        // Drivers from before Linux 3.15 set only dev_id.
        (Some(0) | None, Some(id)) => Some(id),
        (port, _) => port,
    }
}

/// Returns the place of an interface among those of its device, from 0, in the order in which the
/// kernel created them; `None` if the driver itself tells them apart, or there is only one in this
/// network namespace.
fn order_in_device(place: &Path, folder: &Path) -> Option<u32> {
    let entries = fs::read_dir(place.join("net")).ok()?;
    let all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let own = reported_channel(folder);
    if all.len() < 2 || all.iter().any(|other| reported_channel(other) != own) {
        return None;
    }
    let index = read_number(folder, "ifindex")?;
    let before = all.iter().filter_map(|other| read_number(other, "ifindex"));
    u32::try_from(before.filter(|other| *other < index).count()).ok()
}

/// Returns the USB device that has this place in sysfs, or that has it below itself.
fn usb_device(sysfs: &Path, place: &Path) -> Option<UsbDevice> {
    let root = fs::canonicalize(sysfs).ok()?;
    let folder = place
        .ancestors()
        .take_while(|folder| folder.starts_with(&root))
        .find(|folder| folder.join("idVendor").is_file())?;
    let text = |name| read_text(&folder.join(name));
    let ids = text("idVendor").zip(text("idProduct"));
    Some(UsbDevice {
        path: file_name(folder)?,
        serial: text("serial"),
        product: text("product"),
        manufacturer: text("manufacturer"),
        ids: ids.map(|(vendor, product)| format!("{vendor}:{product}")),
    })
}

/// Returns the last part of the path to which a symbolic link leads.
fn link_name(link: &Path) -> Option<String> {
    let target: PathBuf = fs::read_link(link).ok()?;
    file_name(&target)
}

fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// Returns the text of a file of sysfs; `None` where it is empty or cannot be read. The text comes
/// from the device, which need not be trusted: control characters are left out, so that a terminal
/// can show it.
fn read_text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(bytes.get(..MAX_TEXT).unwrap_or(&bytes)).into_owned();
    let shown: String = text.chars().filter(|c| !c.is_control()).collect();
    let shown = shown.trim();
    (!shown.is_empty()).then(|| shown.to_owned())
}

/// Parses a number of sysfs: decimal, or hexadecimal after `0x`.
fn parse_number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Makes files below a folder.
    fn files(folder: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    /// A sysfs with an adapter of two channels at a hub, as Linux 6.12 shows a candleLight with
    /// gs_usb, and a PCI card.
    fn sysfs() -> tempfile::TempDir {
        let sysfs = tempfile::tempdir().unwrap();
        let root = sysfs.path();
        let usb = root.join("devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1.2");
        let adapter = [
            ("idVendor", "1d50\n"),
            ("idProduct", "606f\n"),
            ("serial", "0037003A\u{1b}[31m5542500A\n"),
            ("product", "candleLight USB to CAN adapter\n"),
            ("manufacturer", "bytewerk\n"),
        ];
        files(&usb, &adapter);
        // The hub is a USB device, too: the nearest one counts.
        files(
            usb.parent().unwrap(),
            &[("idVendor", "05e3\n"), ("serial", "HUB\n")],
        );
        let function = usb.join("1-1.2:1.0");
        let card = root.join("devices/pci0000:00/0000:00:04.0");
        for (device, bus, driver) in [(&function, "usb", "gs_usb"), (&card, "pci", "kvaser_pci")] {
            files(device, &[]);
            let bus = root.join("bus").join(bus);
            files(&bus.join("drivers").join(driver), &[]);
            symlink(&bus, device.join("subsystem")).unwrap();
            symlink(bus.join("drivers").join(driver), device.join("driver")).unwrap();
        }
        for (device, name, port, id) in [
            (Some(&function), "can0", "0\n", "0x0\n"),
            (Some(&function), "can1", "1\n", "0x0\n"),
            (Some(&card), "can2", "0\n", "0x3\n"),
            (None, "vcan0", "0\n", "0x0\n"),
        ] {
            let at = device.map_or_else(|| root.join("devices/virtual"), Clone::clone);
            let interface = at.join("net").join(name);
            files(&interface, &[("dev_port", port), ("dev_id", id)]);
            if let Some(device) = device {
                symlink(device, interface.join("device")).unwrap();
            }
            let class = root.join("class/net");
            files(&class, &[]);
            symlink(&interface, class.join(name)).unwrap();
        }
        sysfs
    }

    #[test]
    fn an_adapter_is_found_by_its_interface() {
        let sysfs = sysfs();
        let read = |name| ParentDevice::read(sysfs.path(), name);
        let expected = ParentDevice {
            bus: Some("usb".to_owned()),
            name: "1-1.2:1.0".to_owned(),
            driver: Some("gs_usb".to_owned()),
            channel: Some(0),
            usb: Some(UsbDevice {
                path: "1-1.2".to_owned(),
                // What would colour a terminal is left out.
                serial: Some("0037003A[31m5542500A".to_owned()),
                product: Some("candleLight USB to CAN adapter".to_owned()),
                manufacturer: Some("bytewerk".to_owned()),
                ids: Some("1d50:606f".to_owned()),
            }),
        };
        assert_eq!(read("can0"), Some(expected.clone()));
        let second = ParentDevice {
            channel: Some(1),
            ..expected
        };
        assert_eq!(read("can1"), Some(second));
    }

    /// gs_usb of Linux 6.1 reports channel 0 for each.
    #[test]
    fn channels_that_the_driver_does_not_number_have_an_order() {
        let sysfs = sysfs();
        let class = sysfs.path().join("class/net");
        // The names need not follow the order.
        for (name, index) in [("can0", "7\n"), ("can1", "6\n"), ("can2", "9\n")] {
            let facts = [("dev_port", "0\n"), ("dev_id", "0x0\n"), ("ifindex", index)];
            files(&class.join(name), &facts);
        }
        let channel = |name| ParentDevice::read(sysfs.path(), name).unwrap().channel;
        assert_eq!((channel("can0"), channel("can1")), (Some(1), Some(0)));
        // The only interface of its device.
        assert_eq!(channel("can2"), Some(0));
    }

    #[test]
    fn a_card_has_no_usb_device_and_a_virtual_interface_has_no_device() {
        let sysfs = sysfs();
        let read = |name| ParentDevice::read(sysfs.path(), name);
        let card = read("can2").unwrap();
        assert_eq!(
            (card.bus.as_deref(), card.name.as_str()),
            (Some("pci"), "0000:00:04.0")
        );
        assert_eq!(card.driver.as_deref(), Some("kvaser_pci"));
        assert_eq!((card.channel, card.usb), (Some(3), None));
        for none in ["vcan0", "can9", "", "..", "../net/can0", "can0/device"] {
            assert_eq!(read(none), None, "{none}");
        }
    }

    #[test]
    fn a_device_without_a_driver_is_still_shown() {
        let sysfs = sysfs();
        let card = sysfs.path().join("devices/pci0000:00/0000:00:04.0");
        fs::remove_file(card.join("driver")).unwrap();
        fs::write(card.join("net/can2/dev_id"), "what\n").unwrap();
        let card = ParentDevice::read(sysfs.path(), "can2").unwrap();
        assert_eq!((card.driver, card.channel), (None, Some(0)));
    }

    /// On any Linux: the loopback interface is no device.
    #[test]
    fn the_loopback_interface_has_no_device() {
        assert_eq!(ParentDevice::read(Path::new(SYSFS), "lo"), None);
    }
}
