//! Linux CAN interfaces, by raw sockets (`AF_CAN`, `CAN_RAW`).
//!
//! * Frames are received by `recvmmsg` into buffers that are allocated once, and handed over
//!   there; they are sent by `sendmmsg` from a ring in the kernel's own layout.
//!   With [`Io::ReadWrite`] they are moved one by one, by `read` and `write`.
//! * The kernel leaves out what no route can use, as far as its 512 filters reach.
//! * Stamps are the kernel's (Unix time, in or shortly after the receive interrupt), or the
//!   controller's own if that is asked for and the driver has them. The kernel begins to stamp a
//!   moment after the first socket asks for it; frames from before have the gateway's stamp.
//! * A port outlives its interface: down, bus-off and unplugged are counted, frames for it are
//!   refused meanwhile, and it is taken up again when an interface of that name is back.
//! * Both halves share one socket, because a socket alone does not receive what is sent on it.
//!   Frames that *other* programs on this machine send on the interface are received.
//! * Sent frames are seen by local listeners (candump) only where their route says `echo`, as
//!   with can-gw. An interface that does not echo by itself, such as a vcan, is the exception:
//!   there frames get to anybody by this way only.

mod burst;
mod control;
mod filter;
pub(crate) mod layout;
mod line;
mod netlink;
mod raw;
mod receive;
mod shared;
mod sys;
mod transmit;

pub use burst::{Burst, MOST_A_CALL};
pub use netlink::{Controller, ControllerState, controller};
pub use raw::{Arrival, LinkState, RAW_BATCH, RawOptions, RawSocket};

use crate::{Halves, Interest, PortError};
use layout::{CLASSIC_SIZE, FD_SIZE, XL_SIZE};
use receive::RawReceive;
use rustix::io::Errno;
use shared::Shared;
use std::sync::Arc;
use sys::{ARPHRD_CAN, Socket, Wishes};
use transmit::RawTransmit;

/// The system calls that move frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Io {
    /// `recvmmsg` and `sendmmsg`: many frames a call, with the kernel's stamps.
    #[default]
    Mmsg,
    /// `read` and `write`: one frame a call, as the simplest gateway in user space does it
    /// (syscalls-2014 §3.2.4). Frames have the gateway's own stamps, and what the socket lost is
    /// asked for when somebody looks at the counters.
    ReadWrite,
}

/// A CAN interface and what to do with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketCanConfig {
    /// The interface's name.
    pub interface: String,
    /// Take and send FD frames, where the interface can.
    pub fd: bool,
    /// Take and send XL frames, where the interface can.
    pub xl: bool,
    /// Frames that are kept while the interface has no room; at least 1.
    pub queue: usize,
    /// The socket's receive buffer in bytes; the kernel's default where absent.
    pub receive_buffer: Option<u32>,
    /// The controller's stamps instead of the kernel's, where the driver has them. Their epoch
    /// is the controller's.
    pub hardware_stamps: bool,
    /// How frames are moved.
    pub io: Io,
}

/// Opens an interface. It may be down, but it must be there.
///
/// # Errors
/// [`PortError`] that says what is missing (CAN in the kernel, the interface) and what to do.
pub fn open(port: &str, config: &SocketCanConfig) -> Result<Halves, PortError> {
    let name = &config.interface;
    let fail = |what: String, errno: Errno| PortError {
        port: port.to_owned(),
        what,
        source: Some(errno.into()),
    };
    let mut socket = Socket::open(name).map_err(|e| fail(no_socket(e), e))?;
    let wishes = Wishes {
        fd: config.fd,
        xl: config.xl,
        hardware_stamps: config.hardware_stamps,
        receive_buffer: config.receive_buffer,
        io: config.io,
    };
    socket
        .prepare(wishes)
        .map_err(|e| fail(no_option(e, config), e))?;
    let filters = filter::filters(&Interest::default());
    let shared = Shared::attach(socket, port, name, filters)
        .map_err(|e| fail(no_interface(e, name, &can_interfaces()), e))?;
    let shared = Arc::new(shared);
    let size = match (config.fd, config.xl) {
        (_, true) => XL_SIZE,
        (true, false) => FD_SIZE,
        (false, false) => CLASSIC_SIZE,
    };
    let rx = RawReceive::new(Arc::clone(&shared), size, config.hardware_stamps);
    let queue = config.queue.max(1);
    let tx = RawTransmit::new(shared, queue, size, config.fd, config.xl);
    Ok((Box::new(rx), Box::new(tx)))
}

/// What is missing where no raw CAN socket can be opened.
fn no_socket(errno: Errno) -> String {
    match errno {
        Errno::AFNOSUPPORT => "this kernel has no CAN (AF_CAN): load it with `modprobe can`; \
             where the kernel was built without it, use a port of kind = \"bus\" instead, which \
             needs no kernel, or run in a lab guest"
            .to_owned(),
        Errno::PROTONOSUPPORT => {
            "this kernel has CAN but no raw sockets: load them with `modprobe can-raw`".to_owned()
        }
        Errno::MFILE | Errno::NFILE => {
            "no more sockets can be opened: raise the limit of open files (`ulimit -n`)".to_owned()
        }
        _ => "cannot open a raw CAN socket".to_owned(),
    }
}

fn no_option(errno: Errno, config: &SocketCanConfig) -> String {
    match errno {
        Errno::NOPROTOOPT if config.xl => {
            "this kernel has no CAN XL, which is in Linux since 6.2: leave out `xl = true`"
                .to_owned()
        }
        Errno::NOPROTOOPT => "this kernel's raw CAN sockets lack an option, FD frames or error \
             frames: Linux 3.6 or later is needed"
            .to_owned(),
        _ => format!("cannot set up a raw CAN socket for {}", config.interface),
    }
}

fn no_interface(errno: Errno, name: &str, there: &[String]) -> String {
    let there = if there.is_empty() {
        "this machine has no CAN interface; make a virtual one with \
         `ip link add dev vcan0 type vcan && ip link set vcan0 up`"
            .to_owned()
    } else {
        format!("CAN interfaces here: {}", there.join(", "))
    };
    match errno {
        Errno::NODEV if hardware_type(name).is_some_and(|kind| kind != ARPHRD_CAN) => {
            format!("{name} is no CAN interface; {there}")
        }
        Errno::NODEV | Errno::NXIO => format!("there is no interface {name}; {there}"),
        _ => format!("cannot attach to {name}; {there}"),
    }
}

fn hardware_type(interface: &str) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/sys/class/net/{interface}/type")).ok()?;
    text.trim().parse().ok()
}

/// The CAN interfaces of this machine, by name.
fn can_interfaces() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten();
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| hardware_type(name) == Some(ARPHRD_CAN))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests;
