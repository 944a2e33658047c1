//! The signals between the machines of an experiment: frames on a bus of their own.

use crate::apart::{SIGNALS, StepSignal};
use frame::Frame;
use linux::can::{FrameOptions, FrameSocket, OpenError};
use linux::{Errno, PollSet};

/// The reason why machines cannot wait for one another.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    /// There is no socket for the bus.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A signal cannot be sent or received.
    #[error("{SIGNALS}: cannot {verb} a signal")]
    Socket {
        /// `send` or `receive`.
        verb: &'static str,
        /// The system's error.
        source: Errno,
    },
    /// The machine cannot wait for signals.
    #[error("{SIGNALS}: cannot wait for a signal")]
    Wait(#[source] std::io::Error),
    /// A signal that is not a frame.
    #[error("{SIGNALS}: a signal is not a frame")]
    Frame(#[from] frame::LengthError),
}

/// A machine's access to the signals of the others. It receives those that come after it was
/// opened.
pub(crate) struct SignalLink {
    socket: FrameSocket,
    /// The CAN IDs of the signals that have come.
    come: Vec<u32>,
}

impl SignalLink {
    /// Opens the interface.
    pub(crate) fn open() -> Result<Self, SignalError> {
        let options = FrameOptions {
            hear: true,
            // Stamps would cost the kernel time for each packet of the machine.
            no_stamps: true,
            ..FrameOptions::default()
        };
        Ok(Self {
            socket: FrameSocket::open(SIGNALS, &options)?,
            come: Vec::new(),
        })
    }

    /// Sends a signal to all other machines.
    pub(crate) fn send(&self, signal: StepSignal) -> Result<(), SignalError> {
        let frame = Frame::classic(signal.id(), &[])?;
        let sent = self.socket.send(frame.view());
        sent.map_err(|source| SignalError::Socket {
            verb: "send",
            source,
        })
    }

    /// Waits until the signal has come.
    pub(crate) fn wait(&mut self, signal: StepSignal) -> Result<(), SignalError> {
        let Self { socket, come } = self;
        let mut poll = PollSet::with_capacity(1);
        while !come.contains(&signal.id().raw()) {
            poll.clear();
            poll.add_fd(socket.fd(), true, false);
            poll.wait(None).map_err(SignalError::Wait)?;
            let received = socket.receive(&mut |arrived| come.push(arrived.frame.id().raw()));
            received.map_err(|source| SignalError::Socket {
                verb: "receive",
                source,
            })?;
        }
        Ok(())
    }
}
