//! Locked memory and real-time scheduling, where they are allowed.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};

/// Keeps all memory of the process, present and future, from being paged out. Says in a warning
/// what to do where that is not allowed.
///
/// With a limit below "unlimited" nothing is locked: memory that is allocated later would count
/// against the limit too, and reaching it in the middle of a run would end the run.
pub(crate) fn lock_memory() {
    let limit = getrlimit(Resource::Memlock).current;
    if limit.is_some() && !may_lock_anything() {
        let kib = limit.unwrap_or(0) / 1024;
        tracing::warn!(
            "memory is not locked: the limit is {kib} KiB, so a page fault can delay a frame; \
             raise it (systemd: LimitMEMLOCK=infinity, shell: ulimit -l unlimited), give the \
             program CAP_IPC_LOCK, or set lock_memory = false"
        );
        return;
    }
    if let Err(error) = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
        tracing::warn!(
            "memory is not locked ({error}), so a page fault can delay a frame; \
             set lock_memory = false if that does not matter"
        );
    }
}

/// CAP_IPC_LOCK lifts the limit (capabilities(7)).
fn may_lock_anything() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| {
        sets.effective
            .contains(rustix::thread::CapabilitySet::IPC_LOCK)
    })
}

/// Gives the calling thread SCHED_FIFO, or says in a warning what to do.
pub(crate) fn schedule(priority: u8) {
    match port::schedule_fifo(priority) {
        Ok(()) => tracing::info!("the worker runs with SCHED_FIFO, priority {priority}"),
        Err(error) => tracing::warn!(
            "ordinary scheduling ({error}): other programs can delay frames; \
             allow real-time priorities (systemd: LimitRTPRIO={priority}, \
             /etc/security/limits.conf: rtprio {priority}), give the program CAP_SYS_NICE, \
             or set realtime = false"
        ),
    }
}
