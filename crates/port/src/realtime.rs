//! Real-time scheduling of the calling thread.

#![allow(unsafe_code, reason = "system calls that no safe library offers")]

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
}
