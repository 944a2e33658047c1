//! Conversion from the wait of a half to the descriptor for the kernel.

use linux::poll::PollWatch;
use port::PortWait;

/// Returns the descriptor, if there is one; the caller must keep the deadline.
pub fn poll_watch(wait: PortWait) -> Option<PollWatch> {
    let PortWait {
        readable, writable, ..
    } = wait;
    wait.fd.map(|fd| PollWatch {
        fd,
        readable,
        writable,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_waited_for_by_its_descriptor() {
        let wait = PortWait {
            fd: Some(7),
            writable: true,
            ..PortWait::default()
        };
        let watched = PollWatch {
            fd: 7,
            readable: false,
            writable: true,
        };
        assert_eq!(poll_watch(wait), Some(watched));
        assert_eq!(poll_watch(PortWait::default()), None);
    }
}
