//! The parts of PCI that the machine needs: configuration space by the ports 0xCF8 and 0xCFC, one
//! bus, MSI-X.

mod config;
mod msix;
mod root;

pub(crate) use config::{BarSpace, PciConfig};
pub use msix::MsixMessage;
pub(crate) use msix::{InterruptWires, MsixTable};
pub(crate) use root::{ADDRESS, DATA, PciFunction, PciRoot};
