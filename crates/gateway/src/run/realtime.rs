//! Locked memory and real-time scheduling, where they are allowed.

use crate::notice::Notice;
use linux::schedule::{NotLocked, schedule_fifo};
use worker::Worker;

/// Returns a function of each crate through which frames pass, for the code around it.
fn frame_path() -> [*const (); 4] {
    [
        Worker::work as *const (),
        route::RoutingTable::compile as *const (),
        port::PortSpec::open as *const (),
        linux::mmsg::MmsgInbox::new as *const (),
    ]
}

/// Locks the memory that the process has used, or uses from now on, and the code through which
/// frames pass, against being paged out. Call this when tables and buffers have been made, because
/// making them is their first use. If it is not allowed, returns a notice.
pub(crate) fn lock_memory() -> Option<Notice> {
    let why = match linux::schedule::lock_used_memory(&frame_path()) {
        Ok(()) => return None,
        Err(why @ NotLocked::Limit(_)) => format!(
            "({why}), so a page fault can delay a frame; raise the limit (systemd: \
             LimitMEMLOCK=infinity, shell: ulimit -l unlimited), give the program CAP_IPC_LOCK, or \
             set lock_memory = false"
        ),
        Err(NotLocked::System(error)) => format!(
            "({error}), so a page fault can delay a frame; set lock_memory = false if that does \
             not matter"
        ),
    };
    Some(Notice::NotLocked { why })
}

/// Gives the calling thread SCHED_FIFO, if that is allowed; returns a notice.
pub(crate) fn schedule(priority: u8) -> Notice {
    match schedule_fifo(priority) {
        Ok(()) => Notice::Realtime { priority },
        Err(error) => Notice::NotRealtime {
            priority,
            why: error.to_string(),
        },
    }
}
