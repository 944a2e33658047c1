//! The bench without a machine: the gateway takes no time, only the buses do.

use super::seat::{Access, controller};
use super::task::Task;
use super::world::World;
use crate::gateway::{Gateway, Machine, OpenError};
use crate::plan::{Drive, Place, Plan, PortPlan};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use controller::driven::Backend;
use frame::Nanos;
use spin::Mutex;

/// The bench and its time, shared by its controllers.
#[derive(Clone)]
pub struct Simulated(Arc<Mutex<(World, Nanos)>>);

impl Access for Simulated {
    fn with<T>(&self, work: impl FnOnce(&mut World, Nanos) -> T) -> Option<T> {
        let mut inner = self.0.lock();
        let (world, now) = &mut *inner;
        Some(work(world, *now))
    }
}

impl Machine for Simulated {
    fn controller(&mut self, _: u8, port: &PortPlan) -> Result<Box<dyn Backend>, String> {
        match port.place {
            Place::Bench { bus } => controller(self, bus, port.drive == Drive::Interrupt),
            Place::Card { .. } => Err("there are no cards in a simulation".to_string()),
        }
    }
}

impl Simulated {
    /// Creates the bench of a task; returns `None` if the task contains something that is not a
    /// valid frame.
    #[must_use]
    pub fn new(task: &Task) -> Option<Self> {
        Some(Self(Arc::new(Mutex::new((World::new(task)?, 0)))))
    }

    /// Runs a gateway on it, to the tester's end or to `most` ns of bus time, whichever is first.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn run(&mut self, plan: &Plan, most: Nanos) -> Result<Gateway, OpenError> {
        let mut gateway = Gateway::open(plan, self)?;
        self.with(World::start);
        loop {
            let now = self.with(|_, now| now).unwrap_or(0);
            let step = gateway.step(now);
            if step.more || step.frames > 0 {
                continue;
            }
            let next = self.with(|world, _| (!world.is_done()).then(|| world.next()));
            let next = next.flatten().map(|next| next.unwrap_or(Nanos::MAX));
            let Some(next) = next.map(|next| next.min(step.deadline.unwrap_or(next))) else {
                return Ok(gateway);
            };
            if next > most {
                return Ok(gateway);
            }
            let mut inner = self.0.lock();
            let (world, now) = &mut *inner;
            *now = next.max(*now);
            world.run(*now);
        }
    }

    /// Runs `at` on the bench, and returns its result.
    pub fn look<T>(&self, at: impl FnOnce(&World) -> T) -> T {
        at(&self.0.lock().0)
    }
}
