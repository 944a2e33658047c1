//! Conversion from the wait of a half to the descriptor for the kernel.

use linux::poll::Watch;
use port::Wait;

/// Returns the descriptor, if there is one; the caller must keep the deadline.
pub(crate) fn watch(wait: Wait) -> Option<Watch> {
    let Wait {
        readable, writable, ..
    } = wait;
    wait.fd.map(|fd| Watch {
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
        let wait = Wait {
            fd: Some(7),
            writable: true,
            ..Wait::default()
        };
        let watched = Watch {
            fd: 7,
            readable: false,
            writable: true,
        };
        assert_eq!(watch(wait), Some(watched));
        assert_eq!(watch(Wait::default()), None);
    }
}
