//! The path of the control socket, and the lock that shows which process owns it.
//!
//! A lock file next to the socket (`NAME.lock`, held with flock(2)) shows which process listens.
//! The kernel releases the lock when its holder dies, however it dies. So a gateway can distinguish
//! a socket that a killed gateway left behind from one that is in use, without connecting to it.

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// The maximum length in bytes of a Unix socket's path (`sun_path` in unix(7), less the final
/// zero).
const LONGEST_PATH: usize = 107;

/// The user id of root, who may do everything anyway.
const ROOT: u32 = 0;

/// The reason why the path of a control socket cannot be claimed.
#[derive(thiserror::Error, Debug)]
pub enum SocketError {
    /// Another gateway uses it.
    #[error(
        "{path}: a gateway{holder} listens there already: stop it, or set another `control` in \
         [gateway]"
    )]
    InUse {
        /// The socket.
        path: PathBuf,
        /// " (process N)", if the process is known.
        holder: String,
    },
    /// Another program listens there.
    #[error("{path}: another program listens there: set another `control` in [gateway]")]
    Foreign {
        /// The socket.
        path: PathBuf,
    },
    /// The path is taken by a file that is not a socket.
    #[error("{path}: this is not a socket; it is left alone: set another `control` in [gateway]")]
    NoSocket {
        /// The file.
        path: PathBuf,
    },
    /// Any user could put another socket there.
    #[error("{folder}: others may write there: `chmod 700` it, or set another `control`")]
    Open {
        /// The folder.
        folder: PathBuf,
    },
    /// The owner of the folder, or the owner of a link to it, could replace the socket or the lock
    /// at any time.
    #[error(
        "{folder}: this folder {link}belongs to user {owner}, who could replace what the gateway puts there: `chown` it \
         to user {user}, who runs the gateway, or set another `control`"
    )]
    ForeignFolder {
        /// The folder.
        folder: PathBuf,
        /// "is a link that ", if it is a link.
        link: &'static str,
        /// The user id of its owner.
        owner: u32,
        /// The user id of this process.
        user: u32,
    },
    /// The path of the lock is taken by a file that this user did not create.
    #[error("{path}: {what}; it is left alone: remove it, or set another `control` in [gateway]")]
    ForeignLock {
        /// The lock file's path.
        path: PathBuf,
        /// A description of the file at that path.
        what: String,
    },
    /// The path is longer than the path of a socket can be.
    #[error("{path}: a socket's path has at most {LONGEST_PATH} bytes: set a shorter `control`")]
    TooLong {
        /// The socket.
        path: PathBuf,
    },
    /// The operating system reported an error.
    #[error("{path}: {doing} failed ({source}): make the folder writable or set another `control`")]
    Os {
        /// The file or folder.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The operating system's error.
        source: std::io::Error,
    },
}

/// Returns the path of the control socket that a gateway of this name creates:
/// `$XDG_RUNTIME_DIR/cangate/NAME.sock`, or `/run/cangate/NAME.sock` where there is no such
/// variable. A service `cangate@NAME` has a user and a folder of its own
/// (`RuntimeDirectory=cangate-NAME`): `/run/cangate-NAME/NAME.sock`.
#[must_use]
pub fn default_path(name: &str) -> PathBuf {
    let given = std::env::var_os("RUNTIME_DIRECTORY").map(PathBuf::from);
    let service = service_path(name);
    if given.is_some() && given.as_deref() == service.parent() {
        return service;
    }
    folder().join(format!("{name}.sock"))
}

/// Returns the path of the control socket of the service `cangate@NAME`.
#[must_use]
pub fn service_path(name: &str) -> PathBuf {
    service_folder(Path::new("/run"), name).join(format!("{name}.sock"))
}

/// The prefix of the name of a service's folder, before the gateway's name.
const SERVICE: &str = "cangate-";

fn service_folder(run: &Path, name: &str) -> PathBuf {
    run.join(format!("{SERVICE}{name}"))
}

/// Finds the existing control sockets of services: `NAME.sock` in `cangate-NAME`, in this folder
/// (`/run`). Also returns the number of folders that this user may not read.
#[must_use]
pub fn services(run: &Path) -> (Vec<PathBuf>, usize) {
    let mut found = Vec::new();
    let mut closed = 0;
    for entry in std::fs::read_dir(run).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|name| name.strip_prefix(SERVICE)) else {
            continue;
        };
        let socket = service_folder(run, name).join(format!("{name}.sock"));
        match std::fs::symlink_metadata(&socket) {
            Ok(there) if there.file_type().is_socket() => found.push(socket),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => closed += 1,
            _ => {}
        }
    }
    found.sort();
    (found, closed)
}

/// Returns the folder of control sockets: `cangate` in `$XDG_RUNTIME_DIR`, or in `/run` where there
/// is no such variable.
#[must_use]
pub fn folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let absolute = runtime.filter(|path| path.is_absolute());
    absolute
        .unwrap_or_else(|| PathBuf::from("/run"))
        .join("cangate")
}

/// A control socket that this process owns until this value is dropped.
pub(crate) struct ClaimedSocket {
    path: PathBuf,
    lock_path: PathBuf,
    // Held, not used: closing it releases the lock.
    _lock: File,
    pub(crate) listener: UnixListener,
}

impl ClaimedSocket {
    /// Claims the path; the socket of a dead gateway is replaced.
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
        let lock_path = with_suffix(path, ".lock");
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
        // While this process holds the lock, it owns both files. A file that cannot be removed is
        // replaced by the next gateway.
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

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Creates the last folder of the path, with mode 0700. An existing folder must belong to this user
/// or to root, and must not be writable by other users, unless it is sticky like /tmp, where other
/// users cannot remove our files.
fn make_folder(folder: &Path) -> Result<(), SocketError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(os(folder, "making the folder")(error)),
    }
    let user = rustix::process::geteuid().as_raw();
    // Check a link as well as the folder behind it.
    for (link, found) in [
        ("is a link that ", std::fs::symlink_metadata(folder)),
        ("", std::fs::metadata(folder)),
    ] {
        let found = found.map_err(os(folder, "reading the permissions of the folder"))?;
        if !link.is_empty() && !found.file_type().is_symlink() {
            continue;
        }
        let owner = found.uid();
        if owner != user && owner != ROOT {
            return Err(SocketError::ForeignFolder {
                folder: folder.to_owned(),
                link,
                owner,
                user,
            });
        }
        // The mode of a link has no meaning.
        let mode = found.mode();
        if link.is_empty() && mode & 0o022 != 0 && mode & 0o1000 == 0 {
            return Err(SocketError::Open {
                folder: folder.to_owned(),
            });
        }
    }
    Ok(())
}

/// Opens the lock file, or creates it. In a folder where other users may create files (/tmp), one
/// of them may have put something at its path: a link to a file that would be emptied, a file whose
/// lock they hold, a pipe. Each of these is left unchanged.
fn open_lock(lock_path: &Path) -> Result<File, SocketError> {
    let foreign = |what: String| SocketError::ForeignLock {
        path: lock_path.to_owned(),
        what,
    };
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(lock_path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(foreign("a link is at the place of the lock".to_owned()));
        }
        Err(error) => return Err(os(lock_path, "opening the lock")(error)),
    };
    let found = file.metadata().map_err(os(lock_path, "reading the lock"))?;
    let user = rustix::process::geteuid().as_raw();
    if !found.file_type().is_file() {
        return Err(foreign("no file is at the place of the lock".to_owned()));
    }
    if found.uid() != user {
        let owner = found.uid();
        return Err(foreign(format!(
            "the lock belongs to user {owner}, and user {user} runs the gateway"
        )));
    }
    // A count of 0 means that the last holder has just removed it.
    if found.nlink() > 1 {
        return Err(foreign(
            "a hard link to another file is at the place of the lock".to_owned(),
        ));
    }
    Ok(file)
}

fn take_lock(path: &Path, lock_path: &Path) -> Result<File, SocketError> {
    loop {
        let mut file = open_lock(lock_path)?;
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
        // The last holder may have removed the file after this process opened it and before it
        // locked it: then a lock on it protects nothing.
        let ours = file.metadata().map_err(os(lock_path, "reading the lock"))?;
        match std::fs::symlink_metadata(lock_path) {
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

/// Checks that the file at the path is a socket on which no process listens; any other file is left
/// unchanged.
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
    match linux::listener::connect(path) {
        // `AGAIN`: the queue of waiting connections is full, so a program listens there.
        Ok(_) | Err(Errno::AGAIN) => Err(SocketError::Foreign {
            path: path.to_owned(),
        }),
        Err(_) => Ok(()),
    }
}

/// Listens in a folder of mode 0700 first and moves the socket to its path with its final mode, so
/// that no other user can connect at any moment; the move replaces a dead socket.
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
    fn a_second_gateway_gets_the_name_of_the_owner() {
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
    fn what_others_have_put_at_the_locks_place_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("gate.sock");
        let lock = temp.path().join("gate.sock.lock");
        let precious = temp.path().join("precious");
        std::fs::write(&precious, "precious").unwrap();
        let claim = || ClaimedSocket::claim(&path).err().unwrap().to_string();

        std::os::unix::fs::symlink(&precious, &lock).unwrap();
        assert!(claim().contains("a link is at the place"), "{}", claim());
        std::fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink(temp.path().join("nothing"), &lock).unwrap();
        assert!(claim().contains("a link is at the place"), "{}", claim());
        assert!(!temp.path().join("nothing").exists());
        std::fs::remove_file(&lock).unwrap();
        std::fs::hard_link(&precious, &lock).unwrap();
        assert!(claim().contains("a hard link"), "{}", claim());
        std::fs::remove_file(&lock).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &lock, rustix::fs::Mode::RUSR).unwrap();
        assert!(claim().contains("no file is at the place"), "{}", claim());
        std::fs::remove_file(&lock).unwrap();
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
        ClaimedSocket::claim(&path).unwrap();
    }

    #[test]
    fn a_lock_and_a_folder_of_another_user_are_refused() {
        const OTHER: u32 = 65534;
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED because only root can give files to other users");
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("theirs");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("gate.sock");
        let lock = folder.join("gate.sock.lock");
        let claim = || ClaimedSocket::claim(&path).err().unwrap().to_string();

        std::fs::write(&lock, "").unwrap();
        std::os::unix::fs::chown(&lock, Some(OTHER), None).unwrap();
        assert!(claim().contains("belongs to user 65534"), "{}", claim());
        std::fs::remove_file(&lock).unwrap();

        std::os::unix::fs::chown(&folder, Some(OTHER), None).unwrap();
        assert!(
            claim().contains("this folder belongs to user 65534"),
            "{}",
            claim()
        );
        // The owner of a sticky folder can rename everything in it.
        std::fs::set_permissions(&folder, Permissions::from_mode(0o1777)).unwrap();
        assert!(
            claim().contains("this folder belongs to user 65534"),
            "{}",
            claim()
        );
        std::os::unix::fs::chown(&folder, Some(ROOT), None).unwrap();
        drop(ClaimedSocket::claim(&path).unwrap());

        let link = temp.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(OTHER), None).unwrap();
        let through = ClaimedSocket::claim(&link.join("gate.sock")).err().unwrap();
        assert!(
            through.to_string().contains("is a link that belongs"),
            "{through}"
        );
    }

    #[test]
    fn a_socket_where_many_wait_is_not_waited_for() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("gate.sock");
        let _foreign = UnixListener::bind(&path).unwrap();
        // Until the kernel would make the next connection wait.
        let mut waiting = Vec::new();
        while let Ok(stream) = linux::listener::connect(&path) {
            waiting.push(stream);
        }
        assert!(matches!(
            ClaimedSocket::claim(&path),
            Err(SocketError::Foreign { .. })
        ));
    }

    #[test]
    fn services_have_a_folder_each() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(services(temp.path()), (vec![], 0));
        let body = temp.path().join("cangate-body");
        for folder in ["cangate", "cangate-empty", "other", "cangate-body"] {
            std::fs::create_dir(temp.path().join(folder)).unwrap();
        }
        let socket = body.join("body.sock");
        let _listener = UnixListener::bind(&socket).unwrap();
        // The socket of a virtual machine, and a file that is not a socket.
        let _machine = UnixListener::bind(body.join("vm1.sock")).unwrap();
        std::fs::write(temp.path().join("cangate-empty/empty.sock"), "").unwrap();
        assert_eq!(services(temp.path()), (vec![socket], 0));
        assert_eq!(
            service_path("body"),
            Path::new("/run/cangate-body/body.sock")
        );
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
