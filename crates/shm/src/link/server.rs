//! The server, which accepts peers.

use super::message::{NumberInbox, send};
use super::{MEMORY, PEERS, VERSION};
use crate::layout::LEAST;
use linux::listener::{ListenError, SocketListener};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Reason why a server cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// QEMU accepts no other sizes.
    #[error("{0} bytes is not a valid size of shared memory: use a power of two, {LEAST} or more")]
    Size(usize),
    /// The socket cannot be created.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The memory or a doorbell cannot be created.
    #[error("shared memory cannot be made")]
    System(#[source] Errno),
}

struct ShmPeer {
    stream: UnixStream,
    inbox: NumberInbox,
}

/// The memory, two doorbells and a socket.
pub struct ShmServer {
    listener: SocketListener,
    memory: OwnedFd,
    doorbells: [OwnedFd; PEERS],
    peers: [Option<ShmPeer>; PEERS],
}

/// An event at a server, for a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerEvent {
    /// A peer with this number has connected.
    Came(usize),
    /// A peer with this number has disconnected.
    Went(usize),
    /// A third peer was refused, because both places are taken.
    Refused,
}

impl std::fmt::Display for ServerEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Came(number) => write!(f, "peer {number} has connected"),
            Self::Went(number) => write!(f, "peer {number} has disconnected"),
            Self::Refused => write!(f, "a third peer was rejected: only two share a memory"),
        }
    }
}

impl ShmServer {
    /// Creates memory of `size` bytes and listens for peers at `path`.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn bind(path: &Path, size: usize) -> Result<Self, ServeError> {
        if size < LEAST || !size.is_power_of_two() {
            return Err(ServeError::Size(size));
        }
        let make = || {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let memory = memfd_create("cangate-shm", flags)?;
            ftruncate(&memory, size as u64)?;
            // The seals prevent one peer from removing the memory of the other one.
            let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
            fcntl_add_seals(&memory, seals)?;
            let doorbell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
            Ok((memory, [doorbell()?, doorbell()?]))
        };
        let (memory, doorbells) = make().map_err(ServeError::System)?;
        Ok(Self {
            listener: SocketListener::bind(path)?,
            memory,
            doorbells,
            peers: [None, None],
        })
    }

    /// Waits until something happens, and processes it. Returns `None` as soon as `until` is
    /// readable.
    ///
    /// # Errors
    /// The error of poll(2).
    pub fn serve(&mut self, until: impl AsFd) -> Result<Option<Vec<ServerEvent>>, Errno> {
        let streams = self.peers.iter().flatten().map(|peer| &peer.stream);
        let mut fds = vec![
            PollFd::new(&until, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        fds.extend(streams.map(|stream| PollFd::new(stream, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if fds.first().is_some_and(|fd| !fd.revents().is_empty()) {
            return Ok(None);
        }
        drop(fds);
        Ok(Some(self.work()))
    }

    /// Processes all pending events. Never waits.
    pub fn work(&mut self) -> Vec<ServerEvent> {
        let mut happened = Vec::new();
        for number in 0..PEERS {
            let gone = self.peers.get_mut(number).is_some_and(|place| {
                let gone = place.as_mut().is_some_and(|peer| !peer.is_there());
                gone && place.take().is_some()
            });
            if gone {
                self.went(number, &mut happened);
            }
        }
        while let Some(stream) = self.listener.accept() {
            match self.peers.iter().position(Option::is_none) {
                Some(number) => self.let_in(number, stream, &mut happened),
                None => happened.push(ServerEvent::Refused),
            }
        }
        happened
    }

    fn let_in(&mut self, number: usize, stream: UnixStream, happened: &mut Vec<ServerEvent>) {
        let own = number as i64;
        let tell = || {
            send(&stream, VERSION, None)?;
            send(&stream, own, None)?;
            send(&stream, MEMORY, Some(self.memory.as_fd()))?;
            let others = self.peers.iter().zip(&self.doorbells).zip(0_i64..);
            for ((peer, doorbell), other) in others {
                if peer.is_some() || other == own {
                    send(&stream, other, Some(doorbell.as_fd()))?;
                }
            }
            Ok::<_, Errno>(())
        };
        if tell().is_err() {
            return;
        }
        happened.push(ServerEvent::Came(number));
        let doorbell = self.doorbells.get(number).map(AsFd::as_fd);
        let mut deaf = Vec::new();
        for (peer, other) in self.peers.iter().zip(0..) {
            if let Some(peer) = peer
                && send(&peer.stream, own, doorbell).is_err()
            {
                deaf.push(other);
            }
        }
        if let Some(place) = self.peers.get_mut(number) {
            *place = Some(ShmPeer {
                stream,
                inbox: NumberInbox::default(),
            });
        }
        self.send_away(deaf, happened);
    }

    /// Disconnects peers that do not read their messages.
    fn send_away(&mut self, deaf: Vec<usize>, happened: &mut Vec<ServerEvent>) {
        for number in deaf {
            if let Some(place) = self.peers.get_mut(number) {
                *place = None;
            }
            self.went(number, happened);
        }
    }

    fn went(&mut self, number: usize, happened: &mut Vec<ServerEvent>) {
        happened.push(ServerEvent::Went(number));
        // The next peer with this number must not get a ring for the previous one.
        if let Some(doorbell) = self.doorbells.get(number) {
            let _ = rustix::io::read(doorbell, &mut [0_u8; 8]);
        }
        let mut deaf = Vec::new();
        for (peer, other) in self.peers.iter().zip(0..) {
            if let Some(peer) = peer
                && send(&peer.stream, number as i64, None).is_err()
            {
                deaf.push(other);
            }
        }
        self.send_away(deaf, happened);
    }
}

impl ShmPeer {
    /// Returns whether a peer is connected. A peer sends nothing; so any input is its end, or is
    /// discarded.
    fn is_there(&mut self) -> bool {
        // More than a peer sends by mistake; the rest is read by the next call.
        for _ in 0..16 {
            match self.inbox.receive(&self.stream) {
                Ok(None) => return true,
                Ok(Some(_)) => {}
                Err(_) => return false,
            }
        }
        true
    }
}
