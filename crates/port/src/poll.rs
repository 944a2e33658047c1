//! Waiting for any of many ports.

use crate::Wait;
pub use linux::Poll;
use linux::poll::Watch;

/// The descriptor, where there is one; the deadline is the caller's to keep.
impl From<Wait> for Option<Watch> {
    fn from(wait: Wait) -> Self {
        let Wait {
            readable, writable, ..
        } = wait;
        wait.fd.map(|fd| Watch {
            fd,
            readable,
            writable,
        })
    }
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
        let watch = Watch {
            fd: 7,
            readable: false,
            writable: true,
        };
        assert_eq!(Option::from(wait), Some(watch));
        assert_eq!(Option::<Watch>::from(Wait::default()), None);
    }
}
