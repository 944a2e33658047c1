//! PCI devices that a process drives itself, without a kernel driver.
//!
//! * [`PciDevice`] finds a device by its address or by its network interface.
//! * [`PciDevice::take`] takes it away from the kernel's driver, so that no other driver gets it,
//!   and switches its regions on; [`give_back`] hands it back. Both use sysfs
//!   (`Documentation/ABI/testing/sysfs-bus-pci`).
//! * [`DeviceRegion`] is one of its regions (BAR): memory by mmap(2), ports by `in` and `out` on
//!   x86, or otherwise by reading and writing the file.
//! * [`DeviceInterrupt`] waits for its interrupt, through a UIO driver
//!   (`Documentation/driver-api/uio-howto`).

mod card;
mod config_space;
mod interrupt;
mod ioports;
mod region;

pub use card::{DeviceClass, DeviceHeir, PciDevice, PciError, UIO_PCI_GENERIC, give_back};
pub use config_space::ConfigSpace;
pub use interrupt::DeviceInterrupt;
pub use region::DeviceRegion;
