//! The state of the system clock: whether it is synchronised, its offset from TAI, and its steps.

use crate::Errno;
use crate::errno::last_errno;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Number of attempts to read two clocks together.
const ATTEMPTS: usize = 3;

/// The state of the system clock (`CLOCK_REALTIME`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockState {
    /// A program (PTP, NTP) synchronises it: the kernel does not report `TIME_ERROR` (adjtimex(2)).
    pub is_synchronised: bool,
    /// The offset of TAI from UTC as the kernel knows it, seconds; 0 if no program has set it. The
    /// kernel's `CLOCK_TAI` has the same offset from the system clock.
    pub tai_offset: i32,
    /// The system clock against the monotonic one.
    pub lead: ClockLead,
}

/// The time by which the system clock is ahead of `CLOCK_MONOTONIC`. Only a step of the system
/// clock changes it: the kernel slews both alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockLead {
    /// The time, ns.
    pub ns: i64,
    /// Its greatest error, ns: the two clocks are read one after the other.
    pub error: i64,
}

/// Reads the state of the system clock, without changing it.
///
/// # Errors
/// The kernel's refusal, for example where a sandbox forbids adjtimex(2).
#[allow(unsafe_code, reason = "adjtimex(2)")]
pub fn state() -> Result<ClockState, Errno> {
    // SAFETY: the structure has integers only, for which zeros are valid.
    let mut answer: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure of the type that the call fills. `modes` is 0: nothing
    // is set.
    let status = unsafe { libc::adjtimex(&raw mut answer) };
    if status < 0 {
        return Err(last_errno());
    }
    Ok(ClockState {
        is_synchronised: status != libc::TIME_ERROR,
        tai_offset: answer.tai,
        lead: lead(),
    })
}

/// Reads the system clock and the monotonic one.
#[must_use]
pub fn lead() -> ClockLead {
    let attempt = |_| {
        let before = nanos(clock_gettime(ClockId::Monotonic));
        let system = nanos(clock_gettime(ClockId::Realtime));
        let after = nanos(clock_gettime(ClockId::Monotonic));
        let error = (after - before) / 2;
        ClockLead {
            ns: system - before - error,
            error: error + 1,
        }
    };
    let all = (0..ATTEMPTS).map(attempt);
    all.min_by_key(|lead| lead.error).unwrap_or_default()
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the parts are shorter on processors of 32 bits"
)]
const fn nanos(time: Timespec) -> i64 {
    (time.tv_sec as i64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::time::{DynamicClockId, clock_gettime_dynamic};
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn the_clock_is_that_of_the_system() {
        let Ok(state) = state() else {
            eprintln!("SKIPPED because adjtimex is forbidden here");
            return;
        };
        let monotonic = nanos(clock_gettime(ClockId::Monotonic));
        let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let expected = i64::try_from(system.as_nanos()).unwrap() - monotonic;
        // The machine may have been busy between the reads.
        let apart = (state.lead.ns - expected).abs();
        assert!(apart < 60_000_000_000, "{state:?} {expected}");
        assert!(state.lead.error >= 1);
        // The kernel's clock in TAI is ahead by the same offset.
        let tai = nanos(clock_gettime_dynamic(DynamicClockId::Tai).unwrap());
        let seconds = (tai - nanos(clock_gettime(ClockId::Realtime))) as f64 / 1e9;
        assert_eq!(seconds.round() as i32, state.tai_offset, "{seconds}");
    }
}
