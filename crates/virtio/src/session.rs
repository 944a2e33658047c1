//! A connection with a monitor.

use crate::guest::GuestMachine;
use frame::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread};
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
/// The request that passes the back channel to the monitor, `VHOST_USER_SET_BACKEND_REQ_FD`.
const SET_BACKEND_REQ: u32 = 21;
/// Message to the monitor that the configuration has changed,
/// `VHOST_USER_BACKEND_CONFIG_CHANGE_MSG`, version 1, no body.
const CONFIG_CHANGE: [u32; 3] = [2, 1, 0];
/// The longest body that the crate `vhost` accepts (its `MAX_MSG_SIZE`), bytes. It refuses a header
/// that specifies more, without reading its body.
const LONGEST_BODY: usize = 0x1000;
/// Time within which the body must follow its header, otherwise the connection is closed, ns.
const MESSAGE_TIMEOUT: Nanos = 200_000_000;
/// Maximum number of messages that one call serves. A monitor that sends without pause must not
/// delay the frames of others; QEMU sets a device up with fewer.
const AT_ONCE: usize = 64;
/// Timeout of calls on the socket. No call waits, because each is made only when it can complete
/// ([`MonitorSession::begin`]). This limit is a safeguard against an error in that logic.
const LIMIT: Duration = Duration::from_millis(1);

/// A connection with a monitor, whose messages change the machine's state.
pub(crate) struct MonitorSession {
    stream: UnixStream,
    handler: BackendReqHandler<Mutex<GuestMachine>>,
    /// The back channel to the monitor. The crate `vhost` keeps it, but cannot send
    /// [`CONFIG_CHANGE`].
    monitor: Option<OwnedFd>,
    spoke: bool,
    /// Time at which a header was received whose body is not there yet.
    since: Option<Nanos>,
    /// [`AT_ONCE`] messages were served, and there may be more.
    unread: bool,
}

/// Reason why a connection has ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionEnd {
    /// The monitor closed the connection.
    #[error("the monitor has closed its connection")]
    Closed,
    /// A message of the monitor is invalid.
    #[error("the monitor's message is not valid: {0}")]
    Message(String),
    /// The monitor requests an operation that this process does not support.
    #[error("{0}")]
    Refused(String),
}

/// The state of the stream's beginning, found without consuming it.
enum StreamBegin {
    /// A complete message, with this request.
    Message(u32),
    /// Less than a header.
    Part,
    /// A header whose body has not been received yet.
    Header,
    /// A message, without room for the answer to it.
    Unread,
    End,
}

impl MonitorSession {
    pub(crate) fn new(
        stream: UnixStream,
        guest: Arc<Mutex<GuestMachine>>,
    ) -> std::io::Result<Self> {
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        let handler = BackendReqHandler::from_stream(stream.try_clone()?, guest);
        Ok(Self {
            stream,
            handler,
            monitor: None,
            spoke: false,
            since: None,
            unread: false,
        })
    }

    pub(crate) const fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Returns whether a message has been received. A process that only checks whether the socket
    /// is listening sends none.
    pub(crate) const fn spoke(&self) -> bool {
        self.spoke
    }

    /// Returns the latest time for the next call of [`MonitorSession::serve`], even if nothing is
    /// received.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        if self.unread {
            return Some(0);
        }
        self.since
            .map(|since| since.saturating_add(MESSAGE_TIMEOUT))
    }

    /// Returns what can be done now without waiting.
    ///
    /// The crate `vhost` repeats each call on the socket until it is complete, so that a monitor
    /// that sends half a message, or reads no answers, would block this thread. So a message is
    /// handed to it only when the whole message has been received, and when there is room for the
    /// answer: a Unix stream socket is writable while three quarters of its buffer are free
    /// (`unix_writable`), which is more than the longest answer.
    fn begin(&self) -> StreamBegin {
        let mut header = [0; HEADER];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(&self.stream, &mut header[..], flags) {
            Ok((_, 0)) => return StreamBegin::End,
            Ok((_, HEADER)) => {}
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => return self.without_end(StreamBegin::Part),
            Err(_) => return StreamBegin::End,
        }
        let [request, _, size] = [0, 4, 8].map(|at| {
            let word = header.get(at..).and_then(|rest| rest.first_chunk());
            u32::from_ne_bytes(word.copied().unwrap_or_default())
        });
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let needed = HEADER + if size > LONGEST_BODY { 0 } else { size };
        // All queued bytes, including those behind descriptors, at which a look ahead (MSG_PEEK)
        // ends.
        let queued = ioctl_fionread(&self.stream).unwrap_or(0);
        if queued < needed as u64 {
            return self.without_end(StreamBegin::Header);
        }
        if !self.has(PollFlags::OUT) {
            return StreamBegin::Unread;
        }
        StreamBegin::Message(request)
    }

    /// Returns `End` if the monitor has closed its side, because it cannot complete a message any
    /// more.
    fn without_end(&self, otherwise: StreamBegin) -> StreamBegin {
        if self.has(PollFlags::RDHUP | PollFlags::HUP) {
            StreamBegin::End
        } else {
            otherwise
        }
    }

    fn has(&self, events: PollFlags) -> bool {
        let mut list = [PollFd::new(&self.stream, events)];
        let now = Timespec::default();
        let found = poll(&mut list, Some(&now));
        found.is_ok() && list.iter().any(|entry| entry.revents().intersects(events))
    }

    /// Returns a copy of the descriptor that comes with the next message.
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

    /// Processes the received messages, as far as possible without waiting.
    pub(crate) fn serve(&mut self, now: Nanos) -> Result<(), SessionEnd> {
        self.unread = false;
        for _ in 0..AT_ONCE {
            let begin = self.begin();
            if !matches!(begin, StreamBegin::Header) {
                self.since = None;
            }
            match begin {
                StreamBegin::Part => return Ok(()),
                StreamBegin::Header => {
                    let since = *self.since.get_or_insert(now);
                    if now >= since.saturating_add(MESSAGE_TIMEOUT) {
                        return Err(SessionEnd::Message("its body did not arrive".to_owned()));
                    }
                    return Ok(());
                }
                StreamBegin::Unread => {
                    return Err(SessionEnd::Message("it reads no answers".to_owned()));
                }
                StreamBegin::End => return Err(SessionEnd::Closed),
                StreamBegin::Message(SET_BACKEND_REQ) => self.monitor = self.peek_descriptor(),
                StreamBegin::Message(_) => {}
            }
            self.spoke = true;
            match self.handler.handle_request() {
                Ok(()) => {}
                // The error was sent as the answer: the monitor handles it.
                Err(Error::InvalidOperation(_) | Error::InvalidParam) => {}
                Err(Error::Disconnected) => return Err(SessionEnd::Closed),
                Err(Error::ReqHandlerError(error)) => {
                    return Err(SessionEnd::Refused(error.to_string()));
                }
                Err(error) => return Err(SessionEnd::Message(error.to_string())),
            }
        }
        self.unread = true;
        Ok(())
    }

    /// Notifies the machine that its configuration has changed.
    pub(crate) fn notify_config_change(&self) {
        let Some(monitor) = &self.monitor else { return };
        let mut bytes = [0; HEADER];
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(CONFIG_CHANGE) {
            *place = word.to_ne_bytes();
        }
        // A monitor that does not read this message will read the configuration later.
        let _ = send(
            monitor.as_fd(),
            &bytes,
            SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
        );
    }
}
