//! Unix sockets that listen at a path.

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The reason why a path could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another process listens at the path.
    #[error("another process has {}", .0.display())]
    Taken(PathBuf),
    /// A file that is not a socket is at the path.
    #[error("{} exists and is not a socket", .0.display())]
    NoSocket(PathBuf),
    /// The system's error.
    #[error("{} cannot be made a socket", .0.display())]
    System(PathBuf, #[source] io::Error),
}

/// A listening socket. Its file is removed when the value is dropped, unless another process has
/// replaced the file.
#[derive(Debug)]
pub struct SocketListener {
    listener: UnixListener,
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

/// Returns the identity (device and inode numbers) of the file at this path.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let there = std::fs::symlink_metadata(path).ok()?;
    Some((there.dev(), there.ino()))
}

impl SocketListener {
    /// Listens at `path`. Replaces a socket at which no process listens any more.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(path: &Path) -> Result<Self, ListenError> {
        let system = |error| ListenError::System(path.to_owned(), error);
        match std::fs::symlink_metadata(path) {
            Err(_) => {}
            Ok(there) if !there.file_type().is_socket() => {
                return Err(ListenError::NoSocket(path.to_owned()));
            }
            // EAGAIN: the queue of waiting connections is full, so a process listens there.
            Ok(_) if matches!(connect(path), Ok(_) | Err(Errno::AGAIN)) => {
                return Err(ListenError::Taken(path.to_owned()));
            }
            Ok(_) => std::fs::remove_file(path).map_err(system)?,
        }
        let listener = UnixListener::bind(path).map_err(system)?;
        listener.set_nonblocking(true).map_err(system)?;
        Ok(Self {
            identity: identity(path),
            path: path.to_owned(),
            listener,
        })
    }

    /// Accepts a connection; `None` where no connection is waiting.
    #[must_use]
    pub fn accept(&self) -> Option<UnixStream> {
        Some(self.listener.accept().ok()?.0)
    }
}

impl AsFd for SocketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for SocketListener {
    fn drop(&mut self) {
        if identity(&self.path) == self.identity {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Connects without waiting, even if the listening process is busy with other connections.
///
/// # Errors
/// The error of connect(2).
pub fn connect(path: &Path) -> rustix::io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    ioctl_fionbio(&socket, false)?;
    Ok(socket.into())
}
