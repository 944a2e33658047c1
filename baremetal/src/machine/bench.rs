//! The bench on this machine: bus time, its interrupts, and the controllers' devices.
//!
//! **Bus time** is the processor's counter minus the time that the bench itself has taken. So it
//! stands still from where the bench has read the counter until it is done; a latency still
//! includes the interrupt's path to that place, and the return. The bench always runs with
//! interrupts off.

use super::clock;
use alloc::string::{String, ToString};
use baremetal::bench::{BenchAccess, BenchTask, BenchWorld};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use frame::Nanos;
use spin::Mutex;
use x86_64::instructions::interrupts::without_interrupts;

static WORLD: Mutex<Option<BenchWorld>> = Mutex::new(None);
/// Ticks that the bench has taken, and the counter at bus time 0.
static TAKEN: AtomicU64 = AtomicU64::new(0);
/// Bus time at which the gateway must be woken.
static WAKE: AtomicU64 = AtomicU64::new(NEVER);
const NEVER: Nanos = Nanos::MAX;
/// Whether the tester has finished.
static DONE: AtomicBool = AtomicBool::new(false);

/// Returns the bus time at a value of the counter.
fn bus_time(counter: u64) -> Nanos {
    counter.wrapping_sub(TAKEN.load(Relaxed))
}

/// Runs `work` on the bench while bus time stands still.
fn standing_still<T>(work: impl FnOnce(&mut BenchWorld, Nanos) -> T) -> Option<T> {
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

/// Handles the timer's interrupt.
pub(super) fn interrupt() {
    standing_still(BenchWorld::run);
}

/// Sets up the bench for a task.
pub(super) fn begin(task: &BenchTask) -> Result<(), String> {
    if clock::rate() != 1_000_000_000 {
        return Err("the bench needs virtual time: a counter of 1 GHz".to_string());
    }
    let world = BenchWorld::new(task).ok_or("the task contains an invalid frame")?;
    TAKEN.store(clock::counter(), Relaxed);
    *WORLD.lock() = Some(world);
    Ok(())
}

/// Starts the tester.
pub(super) fn start() {
    standing_still(BenchWorld::start);
}

/// Returns whether the tester has finished.
#[inline]
pub(super) fn is_done() -> bool {
    DONE.load(Relaxed)
}

/// Sets the time after which the processor is woken at the latest, ns.
pub(super) fn wake_after(ns: Nanos) {
    let with_bench = standing_still(|_, now| WAKE.store(now.saturating_add(ns), Relaxed));
    if with_bench.is_none() {
        clock::wake_after(ns);
    }
}

/// Ends the bench, and returns it.
pub(super) fn end() -> Option<BenchWorld> {
    without_interrupts(|| {
        clock::wake_never();
        WORLD.lock().take()
    })
}

/// The access to the bench, for its controllers.
#[derive(Clone, Copy)]
pub(super) struct Bench;

impl BenchAccess for Bench {
    #[inline]
    fn with<T>(&self, work: impl FnOnce(&mut BenchWorld, Nanos) -> T) -> Option<T> {
        standing_still(work)
    }
}
