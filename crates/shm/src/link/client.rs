//! The client: a peer that is this process.

use super::message::NumberInbox;
use super::{MEMORY, VERSION};
use crate::layout::ShmSide;
use linux::listener::connect;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Failure of the connection to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LinkError {
    /// The server has ended, or closed the connection to this process.
    #[error("the server has ended, or two peers are connected already")]
    Ended,
    /// It sends a number that an ivshmem server does not send at this point.
    #[error("the server sent {0}, which is not valid in the ivshmem protocol here")]
    Said(i64),
    /// It has assigned this process a number other than 0 or 1: it has more than two peers.
    #[error(
        "the server gives the number {0}: memory is shared by the peers 0 and 1 (`cangate shm` is such a server)"
    )]
    Number(i64),
    /// A required file descriptor is missing.
    #[error("the server has sent no file descriptor with {0}")]
    Missing(i64),
    /// The system's error.
    #[error("the connection to the server fails")]
    System(#[source] Errno),
}

/// A connection to a server. Its methods never wait.
#[derive(Debug)]
pub struct ShmClient {
    stream: UnixStream,
    epoll: OwnedFd,
    inbox: NumberInbox,
    greeted: bool,
    ended: bool,
    side: Option<ShmSide>,
    memory: Option<OwnedFd>,
    own: Option<OwnedFd>,
    other: Option<OwnedFd>,
}

impl ShmClient {
    /// Connects to the server.
    ///
    /// # Errors
    /// The error of connect(2): no server listens there.
    pub fn connect(path: &Path) -> Result<Self, Errno> {
        let stream = connect(path)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &stream, EventData::new_u64(0), EventFlags::IN)?;
        Ok(Self {
            stream,
            epoll,
            inbox: NumberInbox::default(),
            greeted: false,
            ended: false,
            side: None,
            memory: None,
            own: None,
            other: None,
        })
    }

    /// Consumes the doorbell, and processes the server's messages.
    ///
    /// # Errors
    /// [`LinkError`], once; the memory and the doorbells remain usable, but peers that connect or
    /// disconnect are not reported any more.
    pub fn work(&mut self) -> Result<(), LinkError> {
        if let Some(own) = &self.own {
            let _ = rustix::io::read(own, &mut [0_u8; 8]);
        }
        if self.ended {
            return Ok(());
        }
        let outcome = self.read_messages();
        if outcome.is_err() {
            self.ended = true;
            // The stream would remain readable forever.
            let _ = epoll::delete(&self.epoll, &self.stream);
        }
        outcome
    }

    fn read_messages(&mut self) -> Result<(), LinkError> {
        // A server sends only a few numbers to a peer; the rest of an endless stream is read by
        // later calls.
        for _ in 0..16 {
            let received = self.inbox.receive(&self.stream);
            let received = received.map_err(|errno| match errno {
                Errno::CONNRESET | Errno::PIPE => LinkError::Ended,
                errno => LinkError::System(errno),
            })?;
            let Some((number, fd)) = received else {
                return Ok(());
            };
            self.handle_message(number, fd)?;
        }
        Ok(())
    }

    fn handle_message(&mut self, number: i64, fd: Option<OwnedFd>) -> Result<(), LinkError> {
        if !std::mem::replace(&mut self.greeted, true) {
            return match number {
                VERSION => Ok(()),
                other => Err(LinkError::Said(other)),
            };
        }
        let Some(side) = self.side else {
            let side = u64::try_from(number).ok().and_then(ShmSide::from_number);
            self.side = Some(side.ok_or(LinkError::Number(number))?);
            return Ok(());
        };
        if self.memory.is_none() {
            if number != MEMORY {
                return Err(LinkError::Said(number));
            }
            self.memory = Some(fd.ok_or(LinkError::Missing(number))?);
            return Ok(());
        }
        if number == i64::from(side.number()) {
            let own = fd.ok_or(LinkError::Missing(number))?;
            // A server with several doorbells for each peer sends the first one first.
            if self.own.is_none() {
                epoll::add(&self.epoll, &own, EventData::new_u64(1), EventFlags::IN)
                    .map_err(LinkError::System)?;
                self.own = Some(own);
            }
        } else if number == i64::from(side.other().number()) {
            self.other = match (fd, self.other.take()) {
                (Some(_), Some(first)) => Some(first),
                (fd, _) => fd,
            };
        }
        // Other numbers are peers that are not part of this pair.
        Ok(())
    }

    /// Returns the side of this process, and the memory, when the server has sent everything.
    #[must_use]
    pub fn ready(&self) -> Option<(ShmSide, BorrowedFd<'_>)> {
        self.own.as_ref()?;
        Some((self.side?, self.memory.as_ref()?.as_fd()))
    }

    /// Returns whether the other peer is connected.
    #[must_use]
    pub const fn other_is_there(&self) -> bool {
        self.other.is_some()
    }

    /// Rings the other peer's doorbell.
    pub fn ring(&self) {
        if let Some(other) = &self.other {
            // If the counter is full (EAGAIN), the other peer will look anyway.
            let _ = rustix::io::write(other, &1_u64.to_ne_bytes());
        }
    }
}

/// Readable when there is something to do: the doorbell was rung, or the server has sent something.
impl AsFd for ShmClient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
