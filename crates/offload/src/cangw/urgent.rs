//! Work that no ordinary thread may interrupt.

#![allow(unsafe_code, reason = "system calls that no safe library offers")]

use libc::{SCHED_FIFO, SCHED_OTHER, c_int, pthread_self, sched_param};

/// The lowest real-time priority: before every ordinary thread, behind the interrupt threads of a
/// PREEMPT_RT kernel, which have 50.
const PRIORITY: c_int = 1;

/// While it lives, the thread that made it runs before every ordinary one, if that is permitted
/// (CAP_SYS_NICE); else nothing is different.
///
/// Between a rule's removal and its successor the kernel may let another thread run. On a busy
/// machine that is a time slice, in which a bus at 1 Mbit/s brings dozens of frames.
pub(super) struct Urgent {
    /// What it was before, if it was changed.
    before: Option<sched_param>,
    /// It belongs to one thread.
    _here: std::marker::PhantomData<*const ()>,
}

impl Urgent {
    pub(super) fn begin() -> Self {
        let (mut policy, mut before) = (0, with(0));
        // SAFETY: both pointers are to live values of the types that the call writes;
        // `pthread_self` has no precondition and names a thread that runs: this one.
        let known = unsafe {
            libc::pthread_getschedparam(pthread_self(), &raw mut policy, &raw mut before)
        };
        let ordinary = known == 0 && policy == SCHED_OTHER;
        let raised = ordinary && set(SCHED_FIFO, PRIORITY);
        Self {
            before: raised.then_some(before),
            _here: std::marker::PhantomData,
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // To lower oneself is always permitted.
            set(SCHED_OTHER, before.sched_priority);
        }
    }
}

fn with(priority: c_int) -> sched_param {
    // SAFETY: `sched_param` is a C struct of integers, for which all zeros are a valid value.
    let mut parameters: sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    parameters
}

fn set(policy: c_int, priority: c_int) -> bool {
    let parameters = with(priority);
    // SAFETY: the pointer is to a live `sched_param`, which the call only reads; `pthread_self` as
    // above.
    unsafe { libc::pthread_setschedparam(pthread_self(), policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> c_int {
        let (mut policy, mut parameters) = (0, with(0));
        // SAFETY: as in `Urgent::begin`.
        unsafe {
            libc::pthread_getschedparam(pthread_self(), &raw mut policy, &raw mut parameters);
        }
        policy
    }

    /// Permitted or not depends on the machine.
    #[test]
    fn afterwards_everything_is_as_before() {
        let before = policy();
        let urgent = Urgent::begin();
        let permitted = urgent.before.is_some();
        assert_eq!(policy() == SCHED_FIFO, permitted);
        drop(urgent);
        assert_eq!(policy(), before);
    }
}
