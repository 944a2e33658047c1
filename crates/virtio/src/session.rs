//! A connection with a monitor.

use crate::guest::Guest;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recv, recvmsg, send,
};
use std::io::IoSliceMut;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use vhost::vhost_user::{BackendReqHandler, Error};

/// Bytes before the body of a message: request, flags, size (vhost-user, "Header").
const HEADER: usize = 12;
/// The request that brings the way to the monitor, `VHOST_USER_SET_BACKEND_REQ_FD`.
const SET_BACKEND_REQ: u32 = 21;
/// To the monitor: the configuration has changed, `VHOST_USER_BACKEND_CONFIG_CHANGE_MSG`, version 1, no body.
const CONFIG_CHANGE: [u32; 3] = [2, 1, 0];
/// A monitor that begins a message and does not end it within this time is given up.
const PATIENCE: Duration = Duration::from_millis(200);

/// Messages come here, and change the machine.
pub(crate) struct Session {
    stream: UnixStream,
    handler: BackendReqHandler<Mutex<Guest>>,
    /// The way to the monitor. The crate `vhost` keeps it, and cannot send what is to be sent.
    monitor: Option<OwnedFd>,
    spoke: bool,
}

/// Why a connection has ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// The monitor went.
    #[error("the monitor has closed its connection")]
    Closed,
    /// What it says makes no sense.
    #[error("the monitor's message makes no sense: {0}")]
    Message(String),
}

/// What is at the beginning of the stream, without taking it.
enum Begin {
    Message(u32),
    Part,
    End,
}

impl Session {
    pub(crate) fn new(stream: UnixStream, guest: Arc<Mutex<Guest>>) -> std::io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let handler = BackendReqHandler::from_stream(stream.try_clone()?, guest);
        Ok(Self {
            stream,
            handler,
            monitor: None,
            spoke: false,
        })
    }

    pub(crate) const fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Has a message come? Who only tries whether somebody listens says nothing.
    pub(crate) const fn spoke(&self) -> bool {
        self.spoke
    }

    fn begin(&self) -> Begin {
        let mut header = [0; HEADER];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(&self.stream, &mut header[..], flags) {
            Ok((_, 0)) => Begin::End,
            Ok((_, HEADER)) => {
                let request = header.first_chunk().copied().unwrap_or_default();
                Begin::Message(u32::from_ne_bytes(request))
            }
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Begin::Part,
            Err(_) => Begin::End,
        }
    }

    /// A copy of the descriptor that comes with the next message.
    fn peek_descriptor(&self) -> Option<OwnedFd> {
        let mut byte = [0; HEADER];
        let mut space =
            [const { std::mem::MaybeUninit::uninit() }; rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let slices = &mut [IoSliceMut::new(&mut byte)];
        recvmsg(&self.stream, slices, &mut ancillary, flags).ok()?;
        ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        })
    }

    /// Does what the messages say that are there.
    pub(crate) fn serve(&mut self) -> Result<(), Ended> {
        loop {
            match self.begin() {
                Begin::Part => return Ok(()),
                Begin::End => return Err(Ended::Closed),
                Begin::Message(SET_BACKEND_REQ) => self.monitor = self.peek_descriptor(),
                Begin::Message(_) => {}
            }
            self.spoke = true;
            match self.handler.handle_request() {
                Ok(()) => {}
                // It was answered: the monitor knows what to do.
                Err(Error::InvalidOperation(_) | Error::InvalidParam) => {}
                Err(Error::Disconnected) => return Err(Ended::Closed),
                Err(error) => return Err(Ended::Message(error.to_string())),
            }
        }
    }

    /// Tells the machine that its configuration has changed.
    pub(crate) fn tell(&self) {
        let Some(monitor) = &self.monitor else { return };
        let mut bytes = [0; HEADER];
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(CONFIG_CHANGE) {
            *place = word.to_ne_bytes();
        }
        // A monitor that does not read it asks for the configuration some time.
        let _ = send(
            monitor.as_fd(),
            &bytes,
            SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
        );
    }
}
