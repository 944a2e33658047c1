//! The bench without a machine: the gateway takes no time, only the buses do.

use super::seat::{BenchAccess, controller};
use super::task::BenchTask;
use super::world::BenchWorld;
use crate::gateway::{Gateway, OpenError, TargetMachine};
use crate::plan::{ControllerPlace, DriveMode, ImagePlan, PortPlan};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use controller::driven::ControllerBackend;
use frame::Nanos;
use spin::Mutex;

/// The bench and its time, shared by its controllers.
#[derive(Clone)]
pub struct SimulatedBench(Arc<Mutex<(BenchWorld, Nanos)>>);

impl BenchAccess for SimulatedBench {
    fn with<T>(&self, work: impl FnOnce(&mut BenchWorld, Nanos) -> T) -> Option<T> {
        let mut inner = self.0.lock();
        let (world, now) = &mut *inner;
        Some(work(world, *now))
    }
}

impl TargetMachine for SimulatedBench {
    fn controller(&mut self, _: u8, port: &PortPlan) -> Result<Box<dyn ControllerBackend>, String> {
        match port.place {
            ControllerPlace::Bench { bus } => {
                controller(self, bus, port.drive == DriveMode::Interrupt)
            }
            ControllerPlace::Card { .. } => Err("there are no cards in a simulation".to_string()),
        }
    }
}

impl SimulatedBench {
    /// Creates the bench of a task; returns `None` if the task contains something that is not a
    /// valid frame.
    #[must_use]
    pub fn new(task: &BenchTask) -> Option<Self> {
        Some(Self(Arc::new(Mutex::new((BenchWorld::new(task)?, 0)))))
    }

    /// Runs a gateway on it, to the tester's end or to `most` ns of bus time, whichever is first.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn run(&mut self, plan: &ImagePlan, most: Nanos) -> Result<Gateway, OpenError> {
        let mut gateway = Gateway::open(plan, self)?;
        self.with(BenchWorld::start);
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
    pub fn inspect<T>(&self, at: impl FnOnce(&BenchWorld) -> T) -> T {
        at(&self.0.lock().0)
    }
}
