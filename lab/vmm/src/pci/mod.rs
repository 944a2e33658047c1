//! The parts of PCI that the machine needs: configuration space by the ports 0xCF8 and 0xCFC, one
//! bus, MSI-X.

mod config;
mod msix;
mod root;

pub(crate) use config::{Config, Space};
pub use msix::Message;
pub(crate) use msix::{Msix, Wires};
pub(crate) use root::{ADDRESS, DATA, Function, Root};
