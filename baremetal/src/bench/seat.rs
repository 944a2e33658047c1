//! A controller of the bench, as the gateway uses it.

use super::page::Page;
use super::world::World;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use controller::Controller;
use controller::driven::{Backend, Lost, Watch};
use controller::mapped::{Device, Join, Mapped, Trap};
use frame::Nanos;

/// Access to the bench, which another activity advances meanwhile.
pub trait Access: Clone + Send + Sync + 'static {
    /// Runs `work` on the bench, at this bus time, while nothing else happens there; returns `None`
    /// if the bench no longer exists.
    fn with<T>(&self, work: impl FnOnce(&mut World, Nanos) -> T) -> Option<T>;
}

/// A controller on a bus of the bench.
///
/// # Errors
/// A sentence: there is no bench, or no such bus.
pub fn controller<A: Access>(
    access: &A,
    bus: u8,
    interrupts: bool,
) -> Result<Box<dyn Backend>, String> {
    let seat = access.with(|world, _| world.seat(bus));
    let (seat, page) = seat
        .ok_or("there is no bench in this machine: its controllers are for `cangate lab`")?
        .map_err(|_| "the bench has no such bus".to_string())?;
    let access = access.clone();
    Ok(Box::new(OnBench {
        controller: Mapped::new(Registers { access, seat, page }),
        page,
        interrupts,
    }))
}

struct Registers<A> {
    access: A,
    seat: usize,
    page: &'static Page,
}

const NOBODY: Trap = Trap::Other("the bench is over");

impl<A: Access> Device for Registers<A> {
    #[inline]
    fn get(&self, at: usize) -> u64 {
        self.page.get(at)
    }

    #[inline]
    fn set(&mut self, at: usize, word: u64) {
        self.page.set(at, word);
    }

    /// There is one processor, which sees its own writes.
    fn fence(&mut self) {}

    #[inline]
    fn ring(&mut self, buffers: u32) -> Result<(), Trap> {
        let rung = self
            .access
            .with(|world, now| world.ring(self.seat, buffers, now));
        rung.unwrap_or(Err(NOBODY))
    }

    fn join(&mut self, join: &Join<'_>) -> Result<(), Trap> {
        let joined = self.access.with(|world, now| {
            world.run(now);
            world.join(self.seat, join)
        });
        joined.unwrap_or(Err(NOBODY))
    }

    /// A controller of an image stays on its bus until the machine ends; it is not on the bus
    /// before its start.
    fn leave(&mut self) {}

    /// A gateway does not abort frames either.
    fn abort(&mut self, _: u32) {}

    fn recover(&mut self) -> Result<(), Trap> {
        let recovers = self.access.with(|world, now| {
            world.run(now);
            world.recover(self.seat)
        });
        recovers.unwrap_or(Err(NOBODY))
    }
}

struct OnBench<A> {
    controller: Mapped<Registers<A>>,
    page: &'static Page,
    interrupts: bool,
}

impl<A: Access> Backend for OnBench<A> {
    fn controller(&mut self) -> &mut dyn Controller {
        &mut self.controller
    }

    fn waits(&self) -> bool {
        self.interrupts
    }

    fn take_interrupt(&mut self) -> Result<bool, Lost> {
        Ok(self.page.has_news())
    }

    /// The driver has written in the registers what it has seen; the line is raised with the next
    /// change.
    fn arm(&mut self) -> Result<(), Lost> {
        Ok(())
    }

    fn watch(&self) -> Option<Box<dyn Watch>> {
        Some(Box::new(Eye(self.page)))
    }
}

/// A watch that compares the registers, which include what the driver has seen.
struct Eye(&'static Page);

impl Watch for Eye {
    #[inline]
    fn is_quiet(&self) -> bool {
        !self.0.has_news()
    }
}
