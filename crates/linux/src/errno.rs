//! What a call through libc said.

use rustix::io::Errno;

/// What the last system call of this thread through libc said.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
