//! Busy polling of the module's interfaces.

use crate::Errno;
use std::os::fd::AsFd;

/// Tells a raw CAN socket which controller `SO_BUSY_POLL` is to poll, which the kernel does not.
///
/// # Errors
/// EOPNOTSUPP: the module has no such call yet, and no interface is polled.
pub fn tell_napi(_socket: impl AsFd, _interface: &str) -> Result<(), Errno> {
    Err(Errno::OPNOTSUPP)
}
