//! Real-time scheduling and locked memory for the tester (gateway-2011 §2).

use linux::schedule::{lock_memory, schedule_fifo};

/// Runs `work` in a thread of its own, so that its priority ends with it: a caller that kept the
/// priority could prevent the kernel's threads from running. Timers have the lowest real-time
/// priority on a kernel with PREEMPT_RT, and getrandom(2) spins until one has run.
pub(crate) fn in_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Gives the calling thread SCHED_FIFO with this priority, where there is one, and keeps all memory
/// of the process from being paged out. Returns, in sentences, what was not allowed and what to do
/// about it; the run goes on without it.
#[must_use]
pub fn prepare(priority: Option<u8>) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(priority) = priority
        && let Err(error) = schedule_fifo(priority)
    {
        warnings.push(format!(
            "ordinary scheduling ({error}): other programs can delay sending, and one at a time \
             the next frame; allow real-time priorities (/etc/security/limits.conf: rtprio \
             {priority}), or run as root. Stamps are the kernel's and do not suffer"
        ));
    }
    if let Err(why) = lock_memory() {
        warnings.push(format!(
            "memory is not locked ({why}): a page fault can delay sending; raise the limit \
             (ulimit -l unlimited), or run as root"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::gettid;

    #[test]
    fn the_callers_thread_stays_as_it_was() {
        let here = gettid();
        assert_ne!(in_own_thread(gettid), here);
        let caught = std::panic::catch_unwind(|| in_own_thread(|| panic!("as it was")));
        let words = caught.unwrap_err();
        assert_eq!(words.downcast_ref::<&str>(), Some(&"as it was"));
    }
}
