//! From a configuration to both halves.

use super::config::{Io, SocketCanConfig};
use super::filter::filters;
use super::line::RawLine;
use super::receive::RawReceive;
use super::shared::Shared;
use super::transmit::RawTransmit;
use crate::{Halves, Interest, PortError};
use linux::can::layout::{CLASSIC_SIZE, FD_SIZE, XL_SIZE};
use linux::can::{Obstacle, OpenError, Options, Socket, Stamps};
use std::sync::Arc;

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
    let filters = filters(&Interest::default());
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
pub(super) fn words(error: &OpenError) -> String {
    match error.obstacle {
        Obstacle::NoCan => "this kernel has no CAN (AF_CAN): load it with `modprobe can`; where \
             the kernel was built without it, use a port of kind = \"bus\" instead, which needs \
             no kernel, or run in a lab guest"
            .to_owned(),
        _ => error.to_string(),
    }
}
