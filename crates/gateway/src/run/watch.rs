//! From what a half waits for to what the kernel watches.

use linux::poll::Watch;
use port::Wait;

/// The descriptor, where there is one; the deadline is the caller's to keep.
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
