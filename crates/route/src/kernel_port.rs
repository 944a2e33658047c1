//! Ports, as the data paths in the kernel use them.

use crate::PortId;
use alloc::string::String;

/// A port on a Linux interface, as a data path in the kernel uses it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KernelPort {
    /// The name of the interface.
    pub interface: String,
    /// Whether the port receives and sends FD frames, if the interface can.
    pub fd: bool,
}

impl KernelPort {
    /// Returns a port for frames of all kinds on this interface.
    #[must_use]
    pub fn new(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            fd: true,
        }
    }

    /// Returns the interface of a port of a list; `None` if the port is not on a Linux interface.
    #[must_use]
    pub fn interface_of(ports: &[Option<Self>], id: PortId) -> Option<&str> {
        let port = ports.get(usize::from(id.0))?.as_ref()?;
        Some(&port.interface)
    }
}
