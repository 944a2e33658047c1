//! From a configuration to both halves.

use super::config::{ReceiveBy, SocketCanConfig, TransmitBy};
use super::filter::filters;
use super::receive::RawReceive;
use super::receive::mmsg::ByRecvmmsg;
use super::receive::read::ByRead;
use super::shared::Shared;
use super::transmit::RawTransmit;
use super::transmit::slots::FromSlots;
use super::way::{ReceiveWay, TransmitWay};
use crate::{Halves, Interest, PollReceive, PollTransmit, PortError};
use linux::can::layout::{CLASSIC_SIZE, FD_SIZE, XL_SIZE};
use linux::can::{Obstacle, OpenError, Options, Socket, Stamps};
use std::sync::Arc;

/// Opens an interface. It may be down, but it must be there.
///
/// # Errors
/// [`PortError`] that says what is missing (CAN in the kernel, the interface, a way to receive or to
/// transmit) and what to do.
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
        stamps: match config.receive {
            ReceiveBy::Recvmmsg | ReceiveBy::IoUring if config.hardware_stamps => Stamps::Hardware,
            ReceiveBy::Recvmmsg | ReceiveBy::IoUring => Stamps::Kernel,
            _ => Stamps::None,
        },
        receive_buffer: config.receive_buffer,
    };
    socket.configure(&options).map_err(fail)?;
    let socket = Arc::new(socket);
    let filters = filters(&Interest::default());
    let shared = Shared::attach(Arc::clone(&socket), port, name, filters)
        .map_err(|errno| fail(OpenError::attach(name, errno)))?;
    let parts = Parts {
        port,
        config,
        shared: &Arc::new(shared),
        socket: &socket,
    };
    Ok((parts.receive()?, parts.transmit()?))
}

/// What the halves are made of.
struct Parts<'a> {
    port: &'a str,
    config: &'a SocketCanConfig,
    shared: &'a Arc<Shared>,
    socket: &'a Arc<Socket>,
}

impl Parts<'_> {
    /// The largest datagram.
    const fn size(&self) -> usize {
        match (self.config.fd, self.config.xl) {
            (_, true) => XL_SIZE,
            (true, false) => FD_SIZE,
            (false, false) => CLASSIC_SIZE,
        }
    }

    fn receive(&self) -> Result<Box<dyn PollReceive>, PortError> {
        let socket = Arc::clone(self.socket);
        let by = self.config.receive;
        Ok(match by {
            ReceiveBy::Recvmmsg => self.receiving(ByRecvmmsg::new(socket, self.size())),
            ReceiveBy::Read => self.receiving(ByRead::new(socket, self.size(), false)),
            ReceiveBy::ReadNonblock => self.receiving(ByRead::new(socket, self.size(), true)),
            ReceiveBy::ReadBusypoll
            | ReceiveBy::Ring
            | ReceiveBy::RingBusy
            | ReceiveBy::IoUring => return Err(self.not_yet("receive", by.word())),
        })
    }

    fn receiving(&self, way: impl ReceiveWay + 'static) -> Box<dyn PollReceive> {
        let shared = Arc::clone(self.shared);
        let stamps = self.config.hardware_stamps;
        Box::new(RawReceive::new(shared, way, stamps))
    }

    fn transmit(&self) -> Result<Box<dyn PollTransmit>, PortError> {
        let socket = Arc::clone(self.socket);
        let (queue, size) = (self.config.queue.max(1), self.size());
        let by = self.config.transmit;
        Ok(match by {
            TransmitBy::Sendmmsg => self.sending(FromSlots::new(socket, queue, size, false)),
            TransmitBy::Write => self.sending(FromSlots::new(socket, queue, size, true)),
            TransmitBy::Ring | TransmitBy::IoUring => {
                return Err(self.not_yet("transmit", by.word()));
            }
        })
    }

    fn sending(&self, way: impl TransmitWay + 'static) -> Box<dyn PollTransmit> {
        let shared = Arc::clone(self.shared);
        let config = self.config;
        let queue = config.queue.max(1);
        Box::new(RawTransmit::new(shared, way, queue, config.fd, config.xl))
    }

    fn not_yet(&self, key: &str, word: &str) -> PortError {
        PortError {
            port: self.port.to_owned(),
            what: format!(
                "`{key} = \"{word}\"` is not built yet: use another way, or leave out `{key}`"
            ),
            source: None,
        }
    }
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
