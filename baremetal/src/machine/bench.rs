//! The bench on this machine: bus time, its interrupts, and the controllers' devices.
//!
//! **Bus time** is the processor's counter less all that the bench itself has taken. So it stands still from
//! where the bench has read the counter until it is done; what remains in a latency is the interrupt's way to
//! that place, and its way back. The bench always runs with interrupts off.

use super::clock;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use baremetal::bench::{Page, Task, World};
use controller::Controller;
use controller::mapped::{Device, Join, Mapped, Trap};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use driven::{Backend, Lost, Watch};
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
    standing_still(|world, now| world.run(now));
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

/// A controller on a bus of the bench.
pub(super) fn controller(bus: u8, interrupts: bool) -> Result<Box<dyn Backend>, String> {
    let seat = standing_still(|world, _| world.seat(bus));
    let (seat, page) = seat
        .ok_or("there is no bench in this machine: its controllers are for `cangate lab`")?
        .map_err(|_| "the bench has no such bus")?;
    Ok(Box::new(OnBench {
        controller: Mapped::new(Registers { seat, page }),
        page,
        interrupts,
    }))
}

struct Registers {
    seat: usize,
    page: &'static Page,
}

const NOBODY: Trap = Trap::Other("the bench is over");

impl Device for Registers {
    #[inline]
    fn get(&self, at: usize) -> u64 {
        self.page.get(at)
    }

    #[inline]
    fn set(&mut self, at: usize, word: u64) {
        self.page.set(at, word);
    }

    /// One processor sees what it has written.
    fn fence(&mut self) {}

    #[inline]
    fn ring(&mut self, buffers: u32) -> Result<(), Trap> {
        standing_still(|world, now| world.ring(self.seat, buffers, now)).unwrap_or(Err(NOBODY))
    }

    fn join(&mut self, join: &Join<'_>) -> Result<(), Trap> {
        standing_still(|world, now| {
            world.run(now);
            world.join(self.seat, join)
        })
        .unwrap_or(Err(NOBODY))
    }

    /// A controller of an image stays on its bus until the machine ends: before its start it is not there.
    fn leave(&mut self) {}

    /// Nor does a gateway take anything back.
    fn abort(&mut self, _: u32) {}

    fn recover(&mut self) -> Result<(), Trap> {
        standing_still(|world, now| {
            world.run(now);
            world.recover(self.seat)
        })
        .unwrap_or(Err(NOBODY))
    }
}

struct OnBench {
    controller: Mapped<Registers>,
    page: &'static Page,
    interrupts: bool,
}

impl Backend for OnBench {
    fn controller(&mut self) -> &mut dyn Controller {
        &mut self.controller
    }

    fn waits(&self) -> bool {
        self.interrupts
    }

    fn take_interrupt(&mut self) -> Result<bool, Lost> {
        Ok(self.page.has_news())
    }

    /// The driver has said what it has seen; the line goes up with the next change.
    fn arm(&mut self) -> Result<(), Lost> {
        Ok(())
    }

    fn watch(&self) -> Option<Box<dyn Watch>> {
        Some(Box::new(Eye(self.page)))
    }
}

/// What the driver has seen is in the registers.
struct Eye(&'static Page);

impl Watch for Eye {
    #[inline]
    fn is_quiet(&self) -> bool {
        !self.0.has_news()
    }
}
