//! Real-time scheduling and locked memory for the tester (gateway-2011 §2).

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};

/// Gives the calling thread SCHED_FIFO with this priority, where there is one, and keeps all
/// memory of the process from being paged out. Says, in sentences, what was not allowed and what
/// to do about it; the run goes on without.
#[must_use]
pub fn prepare(priority: Option<u8>) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(priority) = priority
        && let Err(error) = port::schedule_fifo(priority)
    {
        said.push(format!(
            "ordinary scheduling ({error}): other programs can delay sending, and one at a time \
             the next frame; allow real-time priorities (/etc/security/limits.conf: rtprio \
             {priority}), or run as root. Stamps are the kernel's and do not suffer"
        ));
    }
    if let Err(why) = lock() {
        said.push(format!(
            "memory is not locked ({why}): a page fault can delay sending; raise the limit \
             (ulimit -l unlimited), or run as root"
        ));
    }
    said
}

fn lock() -> Result<(), String> {
    let limit = getrlimit(Resource::Memlock).current;
    let unlimited = rustix::thread::capabilities(None).is_ok_and(|sets| {
        sets.effective
            .contains(rustix::thread::CapabilitySet::IPC_LOCK)
    });
    if let (Some(limit), false) = (limit, unlimited) {
        // Reaching the limit in the middle of a run would end the run.
        return Err(format!("the limit is {} KiB", limit / 1024));
    }
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(|e| e.to_string())
}
