//! A controller of the bench, as the gateway uses it.

use super::page::RegisterPage;
use super::world::BenchWorld;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use controller::Controller;
use controller::driven::{ControllerBackend, ControllerWatch, Lost};
use controller::mapped::{BusJoin, DeviceTrap, MappedController, MappedDevice};
use frame::Nanos;

/// Access to the bench, which another activity advances meanwhile.
pub trait BenchAccess: Clone + Send + Sync + 'static {
    /// Runs `work` on the bench, at this bus time, while nothing else happens there; returns `None`
    /// if the bench no longer exists.
    fn with<T>(&self, work: impl FnOnce(&mut BenchWorld, Nanos) -> T) -> Option<T>;
}

/// A controller on a bus of the bench.
///
/// # Errors
/// A sentence: there is no bench, or no such bus.
pub fn controller<A: BenchAccess>(
    access: &A,
    bus: u8,
    interrupts: bool,
) -> Result<Box<dyn ControllerBackend>, String> {
    let seat = access.with(|world, _| world.seat(bus));
    let (seat, page) = seat
        .ok_or("there is no bench in this machine: its controllers are for `cangate lab`")?
        .map_err(|_| "the bench has no such bus".to_string())?;
    let access = access.clone();
    Ok(Box::new(OnBench {
        controller: MappedController::new(SeatRegisters { access, seat, page }),
        page,
        interrupts,
    }))
}

struct SeatRegisters<A> {
    access: A,
    seat: usize,
    page: &'static RegisterPage,
}

const NOBODY: DeviceTrap = DeviceTrap::Other("the bench is over");

impl<A: BenchAccess> MappedDevice for SeatRegisters<A> {
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
    fn ring(&mut self, buffers: u32) -> Result<(), DeviceTrap> {
        let rung = self
            .access
            .with(|world, now| world.ring(self.seat, buffers, now));
        rung.unwrap_or(Err(NOBODY))
    }

    fn join(&mut self, join: &BusJoin<'_>) -> Result<(), DeviceTrap> {
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

    fn recover(&mut self) -> Result<(), DeviceTrap> {
        let recovers = self.access.with(|world, now| {
            world.run(now);
            world.recover(self.seat)
        });
        recovers.unwrap_or(Err(NOBODY))
    }
}

struct OnBench<A> {
    controller: MappedController<SeatRegisters<A>>,
    page: &'static RegisterPage,
    interrupts: bool,
}

impl<A: BenchAccess> ControllerBackend for OnBench<A> {
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

    fn watch(&self) -> Option<Box<dyn ControllerWatch>> {
        Some(Box::new(StatusView(self.page)))
    }
}

/// A watch that compares the registers, which include what the driver has seen.
struct StatusView(&'static RegisterPage);

impl ControllerWatch for StatusView {
    #[inline]
    fn is_quiet(&self) -> bool {
        !self.0.has_news()
    }
}
