//! Scheduling of the calling thread, and memory that stays in memory.

#![allow(
    unsafe_code,
    reason = "pthread_setschedparam(3), sched_setscheduler(2), sched_getscheduler(2), and madvise(2) on code, which no safe library offers"
)]

use crate::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, CpuSet, capabilities, sched_getaffinity, sched_setaffinity};
use std::hint::black_box;
use std::io;
use std::ops::Range;

/// Gives the calling thread the scheduling class SCHED_FIFO: it runs before every ordinary
/// thread until it waits. `priority` is 1 to 99 (sched(7)).
///
/// # Errors
/// EPERM where neither CAP_SYS_NICE nor RLIMIT_RTPRIO allows it, EINVAL for another priority.
pub fn schedule_fifo(priority: u8) -> io::Result<()> {
    if !(1..=99).contains(&priority) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    set_class(libc::SCHED_FIFO, libc::c_int::from(priority))
}

/// Gives the calling thread a scheduling class.
fn set_class(class: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: `sched_param` is a C struct of integers, for which all zeros are a valid value.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the pointer is to a live `sched_param`, which the call only reads;
    // `pthread_self` has no precondition and names a thread that runs: this one.
    let error =
        unsafe { libc::pthread_setschedparam(libc::pthread_self(), class, &raw const parameters) };
    if error == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

/// Calls `start` with the calling thread on one of its processors and in the class SCHED_BATCH.
/// Threads and processes that `start` starts inherit both, so that none of them interrupts another
/// when it wakes up: on the one processor, it waits until the other waits or has used up its share
/// (sched(7)). Afterwards the calling thread has its previous settings. `turn` selects the
/// processor, so that several callers can use different ones.
///
/// A thread with a real-time class keeps it, and where the system refuses a setting, `start` runs
/// nevertheless.
pub fn on_one_processor<T>(turn: usize, start: impl FnOnce() -> T) -> T {
    let before = sched_getaffinity(None).ok();
    if let Some(all) = &before {
        let allowed = (0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu));
        let mut one = CpuSet::new();
        if let Some(cpu) = allowed.clone().nth(turn % allowed.count().max(1)) {
            one.set(cpu);
            let _ = sched_setaffinity(None, &one);
        }
    }
    let ordinary = class() == libc::SCHED_OTHER && set_class(libc::SCHED_BATCH, 0).is_ok();
    let started = start();
    if ordinary {
        let _ = set_class(libc::SCHED_OTHER, 0);
    }
    if let Some(all) = &before {
        let _ = sched_setaffinity(None, all);
    }
    started
}

/// Gives a thread the class SCHED_IDLE: it runs only where no other thread wants its processor, or
/// for a very small share of it (sched(7)). The number of a process names its first thread.
///
/// # Errors
/// ESRCH where there is no such thread, EPERM where it belongs to another user.
pub fn last_in_line(thread: u32) -> io::Result<()> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| Errno::SRCH)?;
    // 0 would name the caller.
    if thread == 0 {
        return Err(Errno::SRCH.into());
    }
    // SAFETY: `sched_param` is a C struct of integers, for which all zeros are a valid value.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live `sched_param`, which the call only reads.
    let result =
        unsafe { libc::sched_setscheduler(thread, libc::SCHED_IDLE, &raw const parameters) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns the scheduling class of the calling thread; a negative number where it is unknown.
fn class() -> libc::c_int {
    // SAFETY: the call has no precondition; 0 names the calling thread.
    let class = unsafe { libc::sched_getscheduler(0) };
    // The value contains a flag where children do not inherit the class.
    if class < 0 {
        class
    } else {
        class & !libc::SCHED_RESET_ON_FORK
    }
}

/// Returns whether the calling thread has a real-time class, SCHED_FIFO or SCHED_RR.
#[must_use]
pub fn is_realtime() -> bool {
    matches!(class(), libc::SCHED_FIFO | libc::SCHED_RR)
}

/// The reason why memory is not locked.
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

/// Keeps all memory of the process, present and future, from being paged out. All of it is read in
/// for that purpose: the whole program, and the full stack of each thread.
///
/// # Errors
/// [`NotLocked`]; the memory is as it was.
pub fn lock_memory() -> Result<(), NotLocked> {
    allowed()?;
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(NotLocked::System)
}

/// Keeps memory from being paged out from its first use on, and the code around these functions
/// from now on. Memory that was never used is not read in.
///
/// Where the kernel cannot do that (before Linux 5.14, which can read code in on request), it does
/// the same as [`lock_memory`], which costs memory but causes no page fault later.
///
/// # Errors
/// [`NotLocked`]; the memory is as it was.
pub fn lock_used_memory(functions: &[*const ()]) -> Result<(), NotLocked> {
    allowed()?;
    if read_in(functions).is_err() {
        return lock_memory();
    }
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    match mlockall(flags) {
        Err(Errno::INVAL) => lock_memory(),
        result => result.map_err(NotLocked::System),
    }
}

/// Checks that this process may lock an unlimited amount of memory.
fn allowed() -> Result<(), NotLocked> {
    // CAP_IPC_LOCK lifts the limit (capabilities(7)).
    let unlimited =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    match getrlimit(Resource::Memlock).current {
        Some(limit) if !unlimited => Err(NotLocked::Limit(limit)),
        _ => Ok(()),
    }
}

/// Number of bytes of code before and after a function that are read in with it. Code that a
/// release build compiles as one unit (`codegen-units = 1` in Cargo.toml) is contiguous, so that a
/// function represents its crate.
const AROUND: usize = 384 * 1024;

/// Reads the code around these functions in, and maps it.
fn read_in(functions: &[*const ()]) -> Result<(), Errno> {
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(|_| Errno::NOENT)?;
    let page = rustix::param::page_size();
    for function in functions {
        let at = function.addr();
        let Some(code) = maps.lines().find_map(|line| code(line, at)) else {
            return Err(Errno::FAULT);
        };
        let first = at.saturating_sub(AROUND).max(code.start) / page * page;
        let end = at.saturating_add(AROUND).min(code.end);
        // SAFETY: MADV_POPULATE_READ changes no memory: it maps pages of a mapping as a read would,
        // and returns an error where there is no mapping.
        let result = unsafe {
            libc::madvise(
                std::ptr::without_provenance_mut(first),
                end - first,
                libc::MADV_POPULATE_READ,
            )
        };
        if result != 0 {
            return Err(crate::errno::last_errno());
        }
    }
    Ok(())
}

/// Returns the addresses of a mapping (a line of `/proc/self/maps`), if it is code and contains
/// this address.
fn code(line: &str, at: usize) -> Option<Range<usize>> {
    let (addresses, rest) = line.split_once(' ')?;
    let (start, end) = addresses.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let all = start..usize::from_str_radix(end, 16).ok()?;
    (rest.starts_with("r-x") && all.contains(&at)).then_some(all)
}

/// Number of stack bytes that [`use_stack`] uses.
const STACK: usize = 128 * 1024;

/// Uses the calling thread's stack for a moment, 128 KiB below its present position, so that these
/// pages exist when they are needed, and stay where memory is locked from its first use on.
#[inline(never)]
pub fn use_stack() {
    let mut room = [0_u8; STACK];
    // Prevents the compiler from removing the array, which is never read.
    black_box(&mut room);
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

    #[test]
    fn what_is_started_on_one_processor_inherits_it_and_the_caller_does_not_keep_it() {
        let seen = || (class(), sched_getaffinity(None).unwrap());
        let before = seen();
        for turn in [0, 1, 7, usize::MAX] {
            let inherited = on_one_processor(turn, || std::thread::spawn(seen).join().unwrap());
            assert_eq!(inherited.1.count(), 1);
            if before.0 == libc::SCHED_OTHER {
                assert_eq!(inherited.0, libc::SCHED_BATCH);
            }
            assert_eq!(seen(), before);
        }
    }

    #[test]
    fn only_the_thread_that_is_named_is_last_in_line() {
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .unwrap();
        let result = last_in_line(child.id());
        // The 41st value of proc_pid_stat(5); the name before it has no blanks.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        result.unwrap();
        let policy = stat.split_whitespace().nth(40).unwrap();
        assert_eq!(policy, libc::SCHED_IDLE.to_string());
        assert_ne!(class(), libc::SCHED_IDLE);
        assert!(last_in_line(0).is_err());
        assert!(last_in_line(u32::MAX).is_err());
    }

    /// Whether it is allowed depends on the machine; no other result may occur.
    #[test]
    fn allowed_or_refused_by_permission() {
        let result = std::thread::spawn(|| schedule_fifo(1)).join().unwrap();
        if let Err(error) = result {
            assert_eq!(error.raw_os_error(), Some(libc::EPERM));
        }
    }

    #[test]
    fn a_limit_is_reported_and_keeps_memory_unlocked() {
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

    /// Bytes of this process's memory in a state that smaps_rollup knows.
    fn rollup(key: &str) -> u64 {
        let all = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let line = all.lines().find(|line| line.starts_with(key)).unwrap();
        let number = line.split_whitespace().nth(1).unwrap();
        number.parse::<u64>().unwrap() * 1024
    }

    #[test]
    fn only_code_that_has_the_address_counts() {
        let line = "1000-3000 r-xp 00000000 00:00 7 /a";
        assert_eq!(code(line, 0x1000), Some(0x1000..0x3000));
        assert_eq!(code(line, 0x3000), None);
        assert_eq!(code("1000-3000 rw-p 00000000 00:00 0", 0x1000), None);
        assert_eq!(code("", 0), None);
    }

    #[test]
    fn code_is_read_in_or_the_kernel_is_too_old() {
        let function = schedule_fifo as *const ();
        match read_in(&[function]) {
            Ok(()) => {}
            Err(Errno::INVAL) => eprintln!("SKIPPED because this kernel is older than 5.14"),
            Err(other) => panic!("{other}"),
        }
        // An address that is not code.
        assert_eq!(read_in(&[std::ptr::null()]), Err(Errno::FAULT));
    }

    /// In a process of its own, because it locks the memory of the whole process.
    #[test]
    fn what_is_not_used_is_not_read_in() {
        const ALONE: &str = "CANGATE_TEST_LOCKS_MEMORY";
        if allowed().is_err() {
            eprintln!("SKIPPED because this process may not lock as much as it wants");
            return;
        }
        if std::env::var_os(ALONE).is_none() {
            let name = "schedule::tests::what_is_not_used_is_not_read_in";
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(ALONE, "1")
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
            return;
        }
        lock_used_memory(&[schedule_fifo as *const ()]).unwrap();
        let before = rollup("Locked:");
        // Two threads' stacks of 8 MiB each: with `lock_memory`, 16 MiB.
        let parked = std::sync::Barrier::new(3);
        let grown = std::thread::scope(|scope| {
            for _ in 0..2 {
                std::thread::Builder::new()
                    .stack_size(8 << 20)
                    .spawn_scoped(scope, || {
                        use_stack();
                        parked.wait();
                        parked.wait();
                    })
                    .unwrap();
            }
            parked.wait();
            let grown = rollup("Locked:").saturating_sub(before);
            parked.wait();
            grown
        });
        assert!(grown >= 2 * STACK as u64, "{grown}");
        assert!(grown < 4 << 20, "{grown}");
    }
}
