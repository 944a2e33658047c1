//! Locked memory and real-time scheduling, where they are allowed.

use linux::schedule::{NotLocked, schedule_fifo};

/// Keeps all memory of the process, present and future, from being paged out. Says in a warning
/// what to do where that is not allowed.
pub(crate) fn lock_memory() {
    match linux::schedule::lock_memory() {
        Ok(()) => {}
        Err(why @ NotLocked::Limit(_)) => tracing::warn!(
            "memory is not locked: {why}, so a page fault can delay a frame; \
             raise it (systemd: LimitMEMLOCK=infinity, shell: ulimit -l unlimited), give the \
             program CAP_IPC_LOCK, or set lock_memory = false"
        ),
        Err(NotLocked::System(error)) => tracing::warn!(
            "memory is not locked ({error}), so a page fault can delay a frame; \
             set lock_memory = false if that does not matter"
        ),
    }
}

/// Gives the calling thread SCHED_FIFO, or says in a warning what to do.
pub(crate) fn schedule(priority: u8) {
    match schedule_fifo(priority) {
        Ok(()) => tracing::info!("the worker runs with SCHED_FIFO, priority {priority}"),
        Err(error) => tracing::warn!(
            "ordinary scheduling ({error}): other programs can delay frames; \
             allow real-time priorities (systemd: LimitRTPRIO={priority}, \
             /etc/security/limits.conf: rtprio {priority}), give the program CAP_SYS_NICE, \
             or set realtime = false"
        ),
    }
}
