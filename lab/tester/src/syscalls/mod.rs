//! The cost of moving frames, by each way to receive and to send (syscalls-2014 §3.1, §4.1).
//!
//! Bursts of frames are sent by one socket and received by another on the same interface. Only
//! moving them is timed, by CLOCK_MONOTONIC.
//!
//! * On a virtual interface (vcan, vxcan) frames wait at the other socket when the call that sends
//!   them returns. Figures cover system calls, sockets and the protocol layer; sending includes the
//!   delivery to the other socket.
//! * On any other interface frames take time on the bus, and the receiving socket gets the driver's
//!   echo. Sending includes the driver, and its interrupts during the call; a burst is at most as
//!   long as the interface's queue.
//!
//! Ways to receive are all fed by the same sendmmsg(2), and frames from all ways to send are
//! received by the same read(2), so that only the way itself differs.

mod error;
mod fit;
mod measure;
mod rings;
mod sockets;
mod ways;

pub use error::BurstError;
pub use fit::LinearFit;
pub use measure::{BurstPoint, SyscallResults, WayRow, measure};
pub use ways::WayDirection;

/// The maximum number of frames of a burst: the papers'.
pub const MAX_BURST: u32 = 50_000;

/// Returns the numbers of frames from 1 to `most`, three per decade (1, 2, 5), and `most` itself.
#[must_use]
pub fn steps(most: u32) -> Vec<u32> {
    let decades = std::iter::successors(Some(1u32), |d| d.checked_mul(10));
    let all = decades.flat_map(|d| [1, 2, 5].map(|n| d.saturating_mul(n)));
    let mut steps: Vec<u32> = all.take_while(|&n| n < most).collect();
    steps.push(most);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_steps_a_decade() {
        assert_eq!(steps(1), [1]);
        assert_eq!(steps(7), [1, 2, 5, 7]);
        assert_eq!(steps(100), [1, 2, 5, 10, 20, 50, 100]);
        assert_eq!(steps(MAX_BURST).last(), Some(&50_000));
        assert_eq!(steps(u32::MAX).last(), Some(&u32::MAX));
    }
}
