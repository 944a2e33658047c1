//! What CAN interfaces are to BPF.

use super::Error;
use crate::links::{Link, Links};
use crate::netlink::Netlink;

impl Link {
    pub(crate) fn carries_fd(&self) -> bool {
        self.mtu >= 72
    }

    pub(crate) fn carries_xl(&self) -> bool {
        self.mtu > 72
    }

    /// Frames in it come from local programs, not from a bus.
    pub(crate) fn is_virtual(&self) -> bool {
        matches!(self.kind.as_str(), "vcan" | "vxcan")
    }

    /// Frames that BPF puts into it vanish: vcan gives back only what it is told to echo, and a
    /// frame that BPF redirects is no frame to echo. With `modprobe vcan echo=1` it can be.
    pub(crate) fn swallows(&self) -> bool {
        self.kind == "vcan" && !self.echo
    }
}

/// All CAN interfaces of this network namespace.
///
/// # Errors
/// What the kernel says.
pub fn interfaces() -> Result<Vec<Link>, Error> {
    let links = Links::read(&mut Netlink::open()?)?;
    Ok(links.all_can().cloned().collect())
}
