//! The state of the system clock: whether it is synchronised, its offset from TAI, and its steps.

use crate::Errno;
use crate::errno::last_errno;
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

/// Number of attempts to read two clocks together.
const ATTEMPTS: usize = 3;

const SECOND: i64 = 1_000_000_000;

/// The state of the system clock (`CLOCK_REALTIME`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockState {
    /// Whether a program (PTP, NTP) synchronises it: the kernel does not report `TIME_ERROR`
    /// (adjtimex(2)). `None` if the kernel refuses the answer, for example where a sandbox forbids
    /// the call.
    pub is_synchronised: Option<bool>,
    /// The offset of TAI from UTC as the kernel knows it (`CLOCK_TAI`), seconds; 0 if no program
    /// has set it.
    pub tai_offset: i64,
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
#[must_use]
pub fn state() -> ClockState {
    // Without the clock, which Linux has since 3.10, the offset is 0.
    let tai = || {
        clock_gettime_dynamic(DynamicClockId::Tai)
            .unwrap_or_else(|_| clock_gettime(ClockId::Realtime))
    };
    let ahead = compare(|| clock_gettime(ClockId::Realtime), tai);
    ClockState {
        is_synchronised: adjusted().ok().map(|(is_synchronised, _)| is_synchronised),
        tai_offset: (ahead.ns + SECOND / 2).div_euclid(SECOND),
        lead: lead(),
    }
}

/// Reads the system clock and the monotonic one.
#[must_use]
pub fn lead() -> ClockLead {
    compare(
        || clock_gettime(ClockId::Monotonic),
        || clock_gettime(ClockId::Realtime),
    )
}

/// Returns the time by which the second clock is ahead of the first one.
fn compare(first: impl Fn() -> Timespec, second: impl Fn() -> Timespec) -> ClockLead {
    let attempt = |_| {
        let before = nanos(first());
        let between = nanos(second());
        let after = nanos(first());
        // The first clock can be set between.
        let error = after.saturating_sub(before).saturating_abs() / 2;
        ClockLead {
            ns: between.saturating_sub(before).saturating_sub(error),
            error: error + 1,
        }
    };
    let all = (0..ATTEMPTS).map(attempt);
    all.min_by_key(|lead| lead.error).unwrap_or_default()
}

/// Asks the kernel whether its clock is synchronised; returns the offset of TAI, too, seconds.
#[allow(unsafe_code, reason = "adjtimex(2)")]
fn adjusted() -> Result<(bool, i64), Errno> {
    // SAFETY: the structure has integers only, for which zeros are valid.
    let mut answer: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a structure of the type that the call fills. `modes` is 0: nothing
    // is set.
    let status = unsafe { libc::adjtimex(&raw mut answer) };
    if status < 0 {
        return Err(last_errno());
    }
    Ok((status != libc::TIME_ERROR, answer.tai.into()))
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the parts are shorter on processors of 32 bits"
)]
const fn nanos(time: Timespec) -> i64 {
    (time.tv_sec as i64)
        .wrapping_mul(SECOND)
        .wrapping_add(time.tv_nsec as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn the_clock_is_that_of_the_system() {
        let state = state();
        let monotonic = nanos(clock_gettime(ClockId::Monotonic));
        let system = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let expected = i64::try_from(system.as_nanos()).unwrap() - monotonic;
        // The machine may have been busy between the reads.
        let apart = (state.lead.ns - expected).abs();
        assert!(apart < 60_000_000_000, "{state:?} {expected}");
        assert!(state.lead.error >= 1);
    }

    /// The clock in TAI is ahead by the offset that adjtimex(2) has.
    #[test]
    fn the_offset_of_tai_is_that_of_the_kernel() {
        let Ok((is_synchronised, tai_offset)) = adjusted() else {
            eprintln!("SKIPPED because adjtimex is forbidden here");
            return;
        };
        let state = state();
        assert_eq!(state.tai_offset, tai_offset);
        assert_eq!(state.is_synchronised, Some(is_synchronised));
    }

    #[test]
    fn the_second_clock_is_between_two_reads_of_the_first() {
        use std::cell::Cell;
        let time = |ns: i64| Timespec {
            tv_sec: 0,
            tv_nsec: ns as _,
        };
        // Reads take 40, 2 and 60 ns; the clock is 37 s ahead.
        let (reads, now) = (Cell::new(0), Cell::new(0));
        let first = || {
            reads.set(reads.get() + 1);
            now.set(now.get() + [0, 40, 0, 2, 0, 60][reads.get() - 1]);
            time(now.get())
        };
        let second = || Timespec {
            tv_sec: 37,
            ..time(now.get() + 1)
        };
        let lead = compare(first, second);
        assert_eq!(
            lead,
            ClockLead {
                ns: 37 * SECOND,
                error: 2
            }
        );
    }
}
