//! The agent: the first process of a guest. It mounts what a Linux needs, brings the bench up,
//! says so, does the job, hands out what came of it, and switches the machine off.
//!
//! Its environment (the `PATH`) and its orders come from the kernel's command line; the job comes
//! through QEMU's fw_cfg device, which is read at once and by the guest alone; what it hands out
//! leaves by a virtio serial port that never blocks. So nothing that the host does, and when,
//! can be noticed in here.

mod bench;
mod delivery;
mod error;
mod exec;
mod inner;
mod orders;
mod outputs;
mod pause;
mod shell;
mod system;

pub(crate) use delivery::Delivery;
pub use error::AgentError;
pub(crate) use orders::Orders;
pub use outputs::Outputs;

use crate::devices::card_addresses;
use crate::machine::{Bench, Job};
use crate::wire::Piece;
use crate::with_causes;
use std::fs;

/// How the lines begin that say where the cards' registers are.
pub(crate) const REGISTERS: &str = "registers-";

/// What a guest can be asked for beside running a command: the caller's own tasks.
pub trait Tasks {
    /// A guest that is prepared for a task.
    type Prepared;
    /// Why a task could not be done.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Does what a task needs first; the guest may then be saved and go on as many copies, each
    /// with a task of its own.
    ///
    /// # Errors
    /// It could not be done.
    fn prepare(&self, task: &serde_json::Value) -> Result<Self::Prepared, Self::Error>;

    /// Does a task, in a guest that may be prepared for it, and hands out what comes of it.
    ///
    /// # Errors
    /// It could not be done.
    fn run(
        &self,
        task: &serde_json::Value,
        prepared: Option<Self::Prepared>,
        outputs: &mut Outputs,
    ) -> Result<(), Self::Error>;
}

/// A task's error as one of the agent's.
fn task_error(error: impl std::error::Error + Send + Sync + 'static) -> AgentError {
    AgentError::Task(Box::new(error))
}

/// Runs as the first process of a guest, to the end of the machine.
///
/// # Errors
///
/// This is no guest. In a guest, errors go to the host or else to the console, and the machine is
/// switched off.
pub fn run<T: Tasks>(tasks: &T) -> Result<(), AgentError> {
    if std::process::id() != 1 {
        return Err(AgentError::NotAGuest);
    }
    if let Err(error) = serve(tasks) {
        eprintln!("error: {}", with_causes(&error));
    }
    // Buffers of files do not matter: there is no disk.
    match rustix::system::reboot(rustix::system::RebootCommand::PowerOff) {
        Ok(()) => Ok(()),
        Err(error) => Err(AgentError::PowerOff(error.into())),
    }
}

fn serve<T: Tasks>(tasks: &T) -> Result<(), AgentError> {
    system::mount_all()?;
    system::gather_randomness()?;
    if inner::is_here()? {
        return inner::serve();
    }
    let orders = Orders::read()?;
    system::modprobe(&["virtio_pci", "virtio_console"])?;
    let mut outputs = Outputs::new(system::port()?);
    let done = bench::up(&orders)
        .map_err(|error| AgentError::Bench(Box::new(error)))
        .and_then(|()| job(&orders, tasks, &mut outputs));
    outputs.hand_out(&match done {
        Ok(status) => Piece::Status(status),
        Err(error) => Piece::Failed(with_causes(&error)),
    })
}

fn job<T: Tasks>(orders: &Orders, tasks: &T, outputs: &mut Outputs) -> Result<i32, AgentError> {
    if orders.pause {
        pause::pause()?;
    }
    ready(orders, outputs)?;
    let mut delivery = Delivery::read()?;
    let mut prepared = None;
    if let Delivery::Prepare { task } = &delivery {
        prepared = Some(tasks.prepare(task).map_err(task_error)?);
        pause::pause()?;
        // From here on in a copy, whose host has left a job of its own.
        ready(orders, outputs)?;
        delivery = Delivery::read()?;
    }
    match delivery {
        Delivery::Prepare { .. } => Err(AgentError::PreparedTwice),
        Delivery::Job(Job::Exec { command }) => exec::run(&command, outputs),
        Delivery::Job(Job::Shell { terminal }) => shell::run(terminal, outputs),
        Delivery::Job(Job::Task { task }) => tasks
            .run(&task, prepared, outputs)
            .map(|()| 0)
            .map_err(task_error),
    }
}

/// Tells the host that the guest is up, and what runs in it.
fn ready(orders: &Orders, outputs: &mut Outputs) -> Result<(), AgentError> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = fs::read_to_string("/proc/sys/kernel/version").unwrap_or_default();
    let mut text = format!(
        "kernel={}\nkernel-build={}\n",
        release.trim(),
        version.trim()
    );
    if orders.bench == Bench::Kvaser {
        for (name, address) in card_addresses() {
            let base = bench::registers(&address)?;
            text.push_str(&format!("{REGISTERS}{name}={base:#x}\n"));
        }
    }
    outputs.hand_out(&Piece::Ready(text))
}
