//! The control socket's path, and whose it is.
//!
//! A lock file beside the socket (`NAME.lock`, held with flock(2)) says who listens. The kernel
//! drops the lock when its holder dies, however it dies, so a socket that a killed gateway left
//! behind is told from one that is in use without asking anybody.

use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The most bytes of a Unix socket's path (`sun_path` in unix(7), less the closing zero).
const LONGEST_PATH: usize = 107;

/// Why a control socket's path cannot be claimed.
#[derive(thiserror::Error, Debug)]
pub enum SocketError {
    /// Another gateway has it.
    #[error(
        "{path}: a gateway{holder} listens there already: stop it, or set another `control` in \
         [gateway]"
    )]
    InUse {
        /// The socket.
        path: PathBuf,
        /// " (process N)", where that is known.
        holder: String,
    },
    /// Another program listens there.
    #[error("{path}: another program listens there: set another `control` in [gateway]")]
    Foreign {
        /// The socket.
        path: PathBuf,
    },
    /// There is something that is no socket.
    #[error("{path}: this is no socket; it is left alone: set another `control` in [gateway]")]
    NoSocket {
        /// The file.
        path: PathBuf,
    },
    /// Anybody could put another socket there.
    #[error("{folder}: others may write there: `chmod 700` it, or set another `control`")]
    Open {
        /// The folder.
        folder: PathBuf,
    },
    /// Longer than a socket's path can be.
    #[error("{path}: a socket's path has at most {LONGEST_PATH} bytes: set a shorter `control`")]
    TooLong {
        /// The socket.
        path: PathBuf,
    },
    /// The operating system says no.
    #[error("{path}: {doing} failed ({source}): make the folder writable or set another `control`")]
    Os {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// The control socket of the gateway of this name: `$XDG_RUNTIME_DIR/cangate/NAME.sock`, or
/// `/run/cangate/NAME.sock` where there is no such variable.
#[must_use]
pub fn default_path(name: &str) -> PathBuf {
    folder().join(format!("{name}.sock"))
}

/// The folder of control sockets: `cangate` in `$XDG_RUNTIME_DIR`, or in `/run` where
/// there is no such variable.
#[must_use]
pub fn folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let absolute = runtime.filter(|path| path.is_absolute());
    absolute
        .unwrap_or_else(|| PathBuf::from("/run"))
        .join("cangate")
}

/// A control socket that is ours until this is dropped.
pub(crate) struct ClaimedSocket {
    path: PathBuf,
    lock_path: PathBuf,
    // Held, not used: closing it gives the lock up.
    _lock: File,
    pub(crate) listener: UnixListener,
}

impl ClaimedSocket {
    /// Takes the path; a dead gateway's socket is replaced.
    pub(crate) fn claim(path: &Path) -> Result<Self, SocketError> {
        if path.as_os_str().len() > LONGEST_PATH {
            return Err(SocketError::TooLong {
                path: path.to_owned(),
            });
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        make_folder(folder)?;
        let lock_path = beside(path, ".lock");
        let lock = take_lock(path, &lock_path)?;
        clear(path)?;
        let listener = listen(path, folder)?;
        Ok(Self {
            path: path.to_owned(),
            lock_path,
            _lock: lock,
            listener,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ClaimedSocket {
    fn drop(&mut self) {
        // While the lock is held these two are ours. What cannot be removed is replaced by the
        // next gateway.
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(&self.lock_path);
    }
}

fn os<'a>(path: &'a Path, doing: &'static str) -> impl Fn(std::io::Error) -> SocketError + 'a {
    move |source| SocketError::Os {
        path: path.to_owned(),
        doing,
        source,
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes the last part of the path, with mode 0700. A folder that is there must not be writable
/// by others, unless it is sticky as /tmp is, where nobody can take away our files.
fn make_folder(folder: &Path) -> Result<(), SocketError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(os(folder, "making the folder")(error)),
    }
    let mode = std::fs::metadata(folder)
        .map_err(os(folder, "reading the folder's mode"))?
        .mode();
    if mode & 0o022 != 0 && mode & 0o1000 == 0 {
        return Err(SocketError::Open {
            folder: folder.to_owned(),
        });
    }
    Ok(())
}

fn take_lock(path: &Path, lock_path: &Path) -> Result<File, SocketError> {
    loop {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(lock_path)
            .map_err(os(lock_path, "opening the lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(SocketError::InUse {
                    path: path.to_owned(),
                    holder: holder(&mut file),
                });
            }
            Err(error) => return Err(os(lock_path, "locking")(error.into())),
        }
        // The last holder may have removed the file between our opening and our locking it:
        // then a lock on it protects nothing.
        let ours = file.metadata().map_err(os(lock_path, "reading the lock"))?;
        match std::fs::metadata(lock_path) {
            Ok(there) if there.ino() == ours.ino() && there.dev() == ours.dev() => {}
            _ => continue,
        }
        let pid = std::process::id();
        file.set_len(0)
            .and_then(|()| writeln!(file, "{pid}"))
            .map_err(os(lock_path, "writing the lock"))?;
        return Ok(file);
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file
        .rewind()
        .and_then(|()| file.take(20).read_to_string(&mut text));
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!(" (process {pid})"),
        _ => String::new(),
    }
}

/// What is at the path must be a socket on which nobody listens; else it is left alone.
fn clear(path: &Path) -> Result<(), SocketError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(os(path, "looking for an old socket")(error)),
        Ok(there) if !there.file_type().is_socket() => {
            return Err(SocketError::NoSocket {
                path: path.to_owned(),
            });
        }
        Ok(_) => {}
    }
    if UnixStream::connect(path).is_ok() {
        return Err(SocketError::Foreign {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Listens in a folder of mode 0700 first and moves the socket to its place with its final mode,
/// so that at no moment anybody else could connect; the move replaces a dead socket.
fn listen(path: &Path, folder: &Path) -> Result<UnixListener, SocketError> {
    let room = folder.join(format!(".cangate-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&room);
    DirBuilder::new()
        .mode(0o700)
        .create(&room)
        .map_err(os(&room, "making a folder"))?;
    let socket = room.join("s");
    let bound = UnixListener::bind(&socket)
        .map_err(os(path, "making the socket"))
        .and_then(|listener| {
            std::fs::set_permissions(&socket, Permissions::from_mode(0o600))
                .and_then(|()| std::fs::rename(&socket, path))
                .and_then(|()| listener.set_nonblocking(true))
                .map_err(os(path, "putting the socket into its place"))?;
            Ok(listener)
        });
    let _ = std::fs::remove_dir_all(&room);
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn only_the_owner_may_use_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("new/gate.sock");
        let place = ClaimedSocket::claim(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&temp.path().join("new")), 0o700);
        assert_eq!(
            std::fs::read_dir(temp.path().join("new")).unwrap().count(),
            2
        );
        drop(place);
        assert_eq!(
            std::fs::read_dir(temp.path().join("new")).unwrap().count(),
            0
        );
    }

    #[test]
    fn a_second_gateway_is_told_who_has_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("gate.sock");
        let place = ClaimedSocket::claim(&path).unwrap();
        let error = ClaimedSocket::claim(&path).err().unwrap().to_string();
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        drop(place);
        ClaimedSocket::claim(&path).unwrap();
    }

    #[test]
    fn a_dead_socket_is_replaced_and_other_things_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("gate.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a listener leaves its socket behind");
        drop(ClaimedSocket::claim(&path).unwrap());

        let foreign = UnixListener::bind(&path).unwrap();
        assert!(matches!(
            ClaimedSocket::claim(&path),
            Err(SocketError::Foreign { .. })
        ));
        drop(foreign);

        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(
            ClaimedSocket::claim(&path),
            Err(SocketError::NoSocket { .. })
        ));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::set_permissions(temp.path(), Permissions::from_mode(0o777)).unwrap();
        let path = temp.path().join("gate.sock");
        assert!(matches!(
            ClaimedSocket::claim(&path),
            Err(SocketError::Open { .. })
        ));
    }

    #[test]
    fn a_path_that_is_too_long_is_named() {
        let path = PathBuf::from("/tmp").join("x".repeat(120));
        assert!(matches!(
            ClaimedSocket::claim(&path),
            Err(SocketError::TooLong { .. })
        ));
    }
}
