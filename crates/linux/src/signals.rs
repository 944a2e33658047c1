//! Signals of this process.

#![allow(unsafe_code, reason = "signal(2)")]

/// From now on this process takes no notice of SIGTERM, SIGINT, SIGHUP and SIGPIPE. For a helper
/// process that ends when its task is done.
pub fn ignore_termination() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: the disposition is SIG_IGN, so that no code of ours runs in a handler; the
        // signals exist, and the call reads and writes no memory of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// From now on a write beyond the limit on files' sizes (`ulimit -f`) fails with EFBIG, as
/// setrlimit(2) says, and does not end this process by SIGXFSZ: it is a matter of one file, and
/// others can be written on.
pub fn ignore_file_size_limit() {
    // SAFETY: as in `ignore_termination`.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
