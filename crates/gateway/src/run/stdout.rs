//! The state of standard output.

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Returns whether all readers of standard output have closed it.
#[must_use]
pub fn standard_output_is_closed() -> bool {
    let stdout = std::io::stdout();
    let at_once = Timespec::default();
    let mut fds = [PollFd::new(&stdout, PollFlags::OUT)];
    let gone = PollFlags::ERR | PollFlags::HUP;
    poll(&mut fds, Some(&at_once)).is_ok_and(|_| fds[0].revents().intersects(gone))
}
