//! Standard output, as far as a run has to know about it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Has everybody who could read standard output closed it?
#[must_use]
pub fn standard_output_is_closed() -> bool {
    let stdout = std::io::stdout();
    let at_once = Timespec::default();
    let mut fds = [PollFd::new(&stdout, PollFlags::OUT)];
    let gone = PollFlags::ERR | PollFlags::HUP;
    poll(&mut fds, Some(&at_once)).is_ok_and(|_| fds[0].revents().intersects(gone))
}
