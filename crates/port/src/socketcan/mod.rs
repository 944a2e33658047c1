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

mod config;
mod filter;
mod line;
mod receive;
mod shared;
mod transmit;

pub use config::{Io, SocketCanConfig};

use crate::{Halves, Interest, PortError};
use line::RawLine;
use linux::can::layout::{CLASSIC_SIZE, FD_SIZE, XL_SIZE};
use linux::can::{Obstacle, OpenError, Options, Socket, Stamps};
use receive::RawReceive;
use shared::Shared;
use std::sync::Arc;
use transmit::RawTransmit;

/// Opens an interface. It may be down, but it must be there.
///
/// # Errors
/// [`PortError`] that says what is missing (CAN in the kernel, the interface) and what to do.
pub fn open(port: &str, config: &SocketCanConfig) -> Result<Halves, PortError> {
    let name = &config.interface;
    let fail = |error: OpenError| PortError {
        port: port.to_owned(),
        what: words(&error),
        source: Some(error.source.into()),
    };
    let socket = Socket::open(name).map_err(fail)?;
    let options = Options {
        fd: config.fd,
        xl: config.xl,
        stamps: match config.io {
            Io::ReadWrite => Stamps::None,
            Io::Mmsg if config.hardware_stamps => Stamps::Hardware,
            Io::Mmsg => Stamps::Kernel,
        },
        receive_buffer: config.receive_buffer,
    };
    socket.configure(&options).map_err(fail)?;
    let line = RawLine::new(socket, config.io);
    let filters = filter::filters(&Interest::default());
    let shared = Shared::attach(line, port, name, filters)
        .map_err(|errno| fail(OpenError::attach(name, errno)))?;
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

/// What is in the way; where it is the kernel, what else a port can be.
fn words(error: &OpenError) -> String {
    match error.obstacle {
        Obstacle::NoCan => "this kernel has no CAN (AF_CAN): load it with `modprobe can`; where \
             the kernel was built without it, use a port of kind = \"bus\" instead, which needs \
             no kernel, or run in a lab guest"
            .to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
