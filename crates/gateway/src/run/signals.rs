//! Signals, as bytes in a socket pair.

use rustix::event::{PollFd, PollFlags};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time after SIGTERM or SIGINT at which the process exits without an orderly shutdown. An
/// orderly shutdown takes at most two seconds, plus the time for its work in the kernel.
const LAST: Duration = Duration::from_secs(10);

/// The requests that arrived as signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SignalRequest {
    /// SIGHUP.
    pub(crate) reload: bool,
    /// SIGTERM or SIGINT.
    pub(crate) stop: bool,
}

/// SIGHUP, SIGTERM and SIGINT, caught until this is dropped.
pub(crate) struct CaughtSignals {
    reload: UnixStream,
    stop: UnixStream,
    ids: Vec<SigId>,
    /// Set when `stop` is no longer read.
    over: Arc<AtomicBool>,
}

impl CaughtSignals {
    pub(crate) fn catch() -> std::io::Result<Self> {
        let (reload, reload_in) = pair()?;
        let (stop, stop_in) = pair()?;
        let mut signals = Self {
            reload,
            stop,
            ids: Vec::with_capacity(6),
            over: Arc::new(AtomicBool::new(false)),
        };
        // After the run the process may still wait for the reader of its summary: then these
        // signals have their default effect again. (Removing the handlers would leave the signals
        // ignored.)
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&signals.over))?;
        }
        let ids = &mut signals.ids;
        let again = stop_in.try_clone()?;
        let (last, last_in) = UnixStream::pair()?;
        for signal in [SIGTERM, SIGINT] {
            ids.push(signal_hook::low_level::pipe::register(
                signal,
                last_in.try_clone()?,
            )?);
        }
        std::thread::Builder::new()
            .name("cangate signals".into())
            .spawn(move || end_at_last(last))?;
        ids.push(signal_hook::low_level::pipe::register(SIGHUP, reload_in)?);
        ids.push(signal_hook::low_level::pipe::register(SIGTERM, stop_in)?);
        ids.push(signal_hook::low_level::pipe::register(SIGINT, again)?);
        // This flag is never read: a caught SIGPIPE does not kill this process when a reader of its
        // standard output, or a client, has gone.
        let ignored = Arc::new(AtomicBool::new(false));
        ids.push(signal_hook::flag::register(SIGPIPE, ignored)?);
        Ok(signals)
    }

    /// Adds two entries to the descriptors to poll.
    pub(crate) fn wait<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.push(PollFd::new(&self.reload, PollFlags::IN));
        fds.push(PollFd::new(&self.stop, PollFlags::IN));
    }

    /// Returns the requests that came since the last call.
    pub(crate) fn take(&mut self) -> SignalRequest {
        SignalRequest {
            reload: empty(&mut self.reload),
            stop: empty(&mut self.stop),
        }
    }
}

/// Exits some time after a signal, in case a thread waits where nothing can wake it up (writing to
/// a standard error that no process reads, or to a file on a server that is gone).
fn end_at_last(mut signal: UnixStream) {
    if signal.read_exact(&mut [0]).is_ok() {
        std::thread::sleep(LAST);
        std::process::exit(1);
    }
}

impl Drop for CaughtSignals {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

fn pair() -> std::io::Result<(UnixStream, UnixStream)> {
    let (here, there) = UnixStream::pair()?;
    here.set_nonblocking(true)?;
    there.set_nonblocking(true)?;
    Ok((here, there))
}

/// Reads all bytes and returns whether there were any.
fn empty(stream: &mut UnixStream) -> bool {
    let mut bytes = [0; 64];
    let mut any = false;
    while matches!(stream.read(&mut bytes), Ok(n) if n > 0) {
        any = true;
    }
    any
}
