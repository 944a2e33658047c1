//! The bench on this machine: bus time, its interrupts, and the controllers' devices.
//!
//! **Bus time** is the processor's counter less all that the bench itself has taken. So it stands
//! still from where the bench has read the counter until it is done; what remains in a latency is
//! the interrupt's way to that place, and its way back. The bench always runs with interrupts off.

use super::clock;
use alloc::string::{String, ToString};
use baremetal::bench::{Access, Task, World};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use frame::Nanos;
use spin::Mutex;
use x86_64::instructions::interrupts::without_interrupts;

static WORLD: Mutex<Option<World>> = Mutex::new(None);
/// Ticks that the bench has taken, and the counter at bus time 0.
static TAKEN: AtomicU64 = AtomicU64::new(0);
/// When the gateway wants to be woken, bus time.
static WAKE: AtomicU64 = AtomicU64::new(NEVER);
const NEVER: Nanos = Nanos::MAX;
/// The tester has come to its end.
static DONE: AtomicBool = AtomicBool::new(false);

/// Bus time at a value of the counter.
fn bus_time(counter: u64) -> Nanos {
    counter.wrapping_sub(TAKEN.load(Relaxed))
}

/// Time stands still for what is done with the bench.
fn standing_still<T>(work: impl FnOnce(&mut World, Nanos) -> T) -> Option<T> {
    without_interrupts(|| {
        let begin = clock::counter();
        let mut world = WORLD.lock();
        let world = world.as_mut()?;
        let now = bus_time(begin);
        let result = work(world, now);
        if world.is_done() {
            DONE.store(true, Relaxed);
        }
        if world.raised() != 0 {
            clock::message();
        }
        let wake = WAKE.load(Relaxed);
        if wake <= now {
            WAKE.store(NEVER, Relaxed);
        }
        match world.next().unwrap_or(NEVER).min(wake) {
            NEVER => clock::wake_never(),
            next => clock::wake_after(next.saturating_sub(now)),
        }
        let end = clock::counter();
        TAKEN.store(TAKEN.load(Relaxed).wrapping_add(end - begin), Relaxed);
        Some(result)
    })
}

/// The timer's interrupt.
pub(super) fn interrupt() {
    standing_still(World::run);
}

/// Puts up the bench for a task.
pub(super) fn begin(task: &Task) -> Result<(), String> {
    if clock::rate() != 1_000_000_000 {
        return Err("the bench needs virtual time: a counter of 1 GHz".to_string());
    }
    let world = World::new(task).ok_or("the task has what is no frame")?;
    TAKEN.store(clock::counter(), Relaxed);
    *WORLD.lock() = Some(world);
    Ok(())
}

/// The tester starts.
pub(super) fn start() {
    standing_still(World::start);
}

/// Has the tester come to its end?
#[inline]
pub(super) fn is_done() -> bool {
    DONE.load(Relaxed)
}

/// The processor is to be woken after this time, ns, at the latest.
pub(super) fn wake_after(ns: Nanos) {
    let with_bench = standing_still(|_, now| WAKE.store(now.saturating_add(ns), Relaxed));
    if with_bench.is_none() {
        clock::wake_after(ns);
    }
}

/// The bench again, when it is over.
pub(super) fn end() -> Option<World> {
    without_interrupts(|| {
        clock::wake_never();
        WORLD.lock().take()
    })
}

/// The way to it, for its controllers.
#[derive(Clone, Copy)]
pub(super) struct Bench;

impl Access for Bench {
    #[inline]
    fn with<T>(&self, work: impl FnOnce(&mut World, Nanos) -> T) -> Option<T> {
        standing_still(work)
    }
}
