//! Real-time scheduling of the calling thread, and memory that stays in memory.

#![allow(
    unsafe_code,
    reason = "pthread_setschedparam(3), which no safe library offers"
)]

use crate::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use std::io;

/// Gives the calling thread the scheduling class SCHED_FIFO: it runs before every ordinary
/// thread until it waits. `priority` is 1 to 99 (sched(7)).
///
/// # Errors
/// EPERM where neither CAP_SYS_NICE nor RLIMIT_RTPRIO allows it, EINVAL for another priority.
pub fn schedule_fifo(priority: u8) -> io::Result<()> {
    if !(1..=99).contains(&priority) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: `sched_param` is a C struct of integers, for which all zeros are a valid value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = libc::c_int::from(priority);
    // SAFETY: the pointer is to a live `sched_param`, which the call only reads;
    // `pthread_self` has no precondition and names a thread that runs: this one.
    let error = unsafe {
        libc::pthread_setschedparam(
            libc::pthread_self(),
            libc::SCHED_FIFO,
            &raw const parameters,
        )
    };
    if error == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

/// Runs the calling thread with a real-time class, SCHED_FIFO or SCHED_RR?
#[must_use]
pub fn is_realtime() -> bool {
    // SAFETY: the call has no precondition; 0 names the calling thread.
    let class = unsafe { libc::sched_getscheduler(0) };
    // With a flag in it where children do not inherit the class.
    matches!(
        class & !libc::SCHED_RESET_ON_FORK,
        libc::SCHED_FIFO | libc::SCHED_RR
    ) && class >= 0
}

/// Why memory is not locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotLocked {
    /// There is a limit (RLIMIT_MEMLOCK), in bytes. Nothing is locked then: memory that is
    /// allocated later would count against it too, and reaching it in the middle of a run would
    /// end the run.
    #[error("the limit is {} KiB", .0 / 1024)]
    Limit(u64),
    /// mlockall(2) failed.
    #[error("{0}")]
    System(Errno),
}

/// Keeps all memory of the process, present and future, from being paged out.
///
/// # Errors
/// [`NotLocked`]; the memory is as it was.
pub fn lock_memory() -> Result<(), NotLocked> {
    // CAP_IPC_LOCK lifts the limit (capabilities(7)).
    let unlimited =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    match getrlimit(Resource::Memlock).current {
        Some(limit) if !unlimited => Err(NotLocked::Limit(limit)),
        _ => mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(NotLocked::System),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_that_do_not_exist_are_refused() {
        for priority in [0, 100, 255] {
            let error = schedule_fifo(priority).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
        }
    }

    /// Allowed or not depends on the machine; what must not happen is another answer.
    #[test]
    fn allowed_or_refused_by_permission() {
        let result = std::thread::spawn(|| schedule_fifo(1)).join().unwrap();
        if let Err(error) = result {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM));
        }
    }

    #[test]
    fn a_limit_is_said_and_keeps_memory_unlocked() {
        if capabilities(None).is_ok_and(|s| s.effective.contains(CapabilitySet::IPC_LOCK)) {
            eprintln!("SKIPPED because CAP_IPC_LOCK lifts the limit");
            return;
        }
        match getrlimit(Resource::Memlock).current {
            Some(limit) => {
                assert_eq!(lock_memory(), Err(NotLocked::Limit(limit)));
                let status = std::fs::read_to_string("/proc/self/status").unwrap();
                let locked = status.lines().find(|line| line.starts_with("VmLck:"));
                assert!(
                    locked.is_none_or(|line| line.contains(" 0 kB")),
                    "{locked:?}"
                );
            }
            None => eprintln!("SKIPPED because nothing limits locked memory here"),
        }
    }
}
