//! The error of a call through libc.

use rustix::io::Errno;

/// Returns the error of this thread's last system call through libc.
pub(crate) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
