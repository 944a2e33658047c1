//! Signals of this process.

#![allow(unsafe_code, reason = "signal(2)")]

/// Makes this process ignore SIGTERM, SIGINT, SIGHUP and SIGPIPE from now on. For a helper process
/// that ends when its task is done.
pub fn ignore_termination() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: the disposition is SIG_IGN, so that no code of this process runs in a handler;
        // the signals exist, and the call reads and writes no memory of this process.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// From now on a write beyond the limit on file sizes (`ulimit -f`) fails with EFBIG, as
/// setrlimit(2) documents, and does not end this process by SIGXFSZ: the limit concerns one file,
/// and the process can continue to write others.
pub fn ignore_file_size_limit() {
    // SAFETY: as in `ignore_termination`.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
