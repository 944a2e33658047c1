//! Waiting for sockets.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// The time between two looks at timers, while handshakes are under way and otherwise.
pub(crate) const LOOK: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(100)];

/// The events that a socket is waited for, or is ready for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Readiness {
    /// It has something to read, an end or an error.
    pub(crate) read: bool,
    /// It takes something.
    pub(crate) write: bool,
}

impl Readiness {
    /// Something to read.
    pub(crate) const READ: Self = Self {
        read: true,
        write: false,
    };
}

/// Waits until one of the sockets is ready, at most this long, and returns what each is ready for.
/// A socket that is waited for nothing is left out of the waiting.
pub(crate) fn wait<S: AsFd>(
    sockets: &[(S, Readiness)],
    longest: Duration,
) -> io::Result<Vec<Readiness>> {
    let flags = |wanted: &Readiness| {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, wanted.read);
        flags.set(PollFlags::OUT, wanted.write);
        flags
    };
    // An error or a hang-up wakes even without a wish, and would do so without end.
    let wished = |(_, wanted): &&(S, Readiness)| wanted.read || wanted.write;
    let mut polled: Vec<PollFd<'_>> = sockets
        .iter()
        .filter(wished)
        .map(|(socket, wanted)| PollFd::new(socket, flags(wanted)))
        .collect();
    let longest = Timespec::try_from(longest).ok();
    match poll(&mut polled, longest.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut polled = polled.iter();
    let ready = sockets.iter().map(|entry| {
        if !wished(&entry) {
            return Readiness::default();
        }
        let events = polled.next().map_or(PollFlags::empty(), PollFd::revents);
        let is_broken = events.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
        Readiness {
            read: events.contains(PollFlags::IN) || is_broken,
            write: events.contains(PollFlags::OUT) || is_broken,
        }
    });
    Ok(ready.collect())
}
