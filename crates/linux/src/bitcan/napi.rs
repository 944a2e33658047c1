//! Busy polling of the module's interfaces.

use super::ioctl;
use super::layout::BitcanNapi;
use crate::Errno;
use rustix::fs::{Mode, OFlags, open};
use rustix::net::netdevice::name_to_index;
use std::os::fd::{AsFd, AsRawFd};

/// The module's control device.
const CONTROL: &str = "/dev/bitcan";

/// Sets the controller that `SO_BUSY_POLL` polls for a raw CAN socket, which the kernel itself does
/// not do: a socket of another family learns it from the packets that it receives, a CAN socket
/// never does.
///
/// # Errors
/// ENOENT: there is no `/dev/bitcan`. EACCES: the process is not root's. ENODEV: the interface is
/// not one of the module, or not in the socket's network namespace. EOPNOTSUPP: its controller is
/// not an `mscan`, whose driver alone has a NAPI instance, or the kernel has no busy polling
/// (PREEMPT_RT). ENOTTY: the module is older.
pub fn set_napi(socket: impl AsFd, interface: &str) -> Result<(), Errno> {
    let device = open(CONTROL, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let socket = socket.as_fd();
    let napi = BitcanNapi {
        socket: socket.as_raw_fd(),
        ifindex: name_to_index(socket, interface)?,
    };
    ioctl::napi(&device, &napi)
}
