//! The agent: the first process of a guest. It mounts the file systems that Linux needs, brings the
//! bench up, reports that, does the job, hands out the results, and switches the machine off.
//!
//! Its environment (the `PATH`) and its orders come from the kernel's command line; the job comes
//! through QEMU's fw_cfg device, which is read at once and by the guest alone; its output leaves by
//! a virtio serial port that never blocks. So the guest cannot notice what the host does, or when.

mod bench;
mod delivery;
mod error;
mod exec;
mod inner;
mod linked;
mod orders;
mod outputs;
mod pause;
mod shell;
mod system;

pub(crate) use delivery::{DeliveredFile, HostDelivery};
pub use error::AgentError;
pub(crate) use orders::{BenchOrders, PauseOrder, settle_word};
pub use outputs::JobOutputs;

use crate::devices::card_addresses;
use crate::machine::{BenchKind, GuestJob};
use crate::wire::WirePiece;
use crate::with_causes;
use std::fs;
use std::time::Instant;

/// The prefix of the lines with the addresses of the cards' registers.
pub(crate) const REGISTERS: &str = "registers-";

/// Jobs of a guest other than running a command: the caller's own tasks.
pub trait AgentTasks {
    /// A guest that is prepared for a task.
    type Prepared;
    /// The reason why a task could not be done.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Does the preparation for a task; the guest may then be saved and continued as many copies,
    /// each with a task of its own.
    ///
    /// # Errors
    /// The preparation failed.
    fn prepare(&self, task: &serde_json::Value) -> Result<Self::Prepared, Self::Error>;

    /// Does a task, in a guest that may be prepared for it, and hands out the results.
    ///
    /// # Errors
    /// The task failed.
    fn run(
        &self,
        task: &serde_json::Value,
        prepared: Option<Self::Prepared>,
        outputs: &mut JobOutputs,
    ) -> Result<(), Self::Error>;
}

/// Converts a task's error to one of the agent's.
fn task_error(error: impl std::error::Error + Send + Sync + 'static) -> AgentError {
    AgentError::Task(Box::new(error))
}

/// Runs as the first process of a guest, to the end of the machine.
///
/// # Errors
///
/// The process is not in a guest. In a guest, errors go to the host or else to the console, and the
/// machine is switched off.
pub fn run<T: AgentTasks>(tasks: &T) -> Result<(), AgentError> {
    if std::process::id() != 1 {
        return Err(AgentError::NotAGuest);
    }
    if let Err(error) = serve(tasks) {
        eprintln!("error: {}", with_causes(&error));
    }
    // Buffers of files need not be written back: there is no disk.
    match rustix::system::reboot(rustix::system::RebootCommand::PowerOff) {
        Ok(()) => Ok(()),
        Err(error) => Err(AgentError::PowerOff(error.into())),
    }
}

fn serve<T: AgentTasks>(tasks: &T) -> Result<(), AgentError> {
    system::mount_all()?;
    system::gather_randomness()?;
    if inner::is_here()? {
        return inner::serve();
    }
    let orders = BenchOrders::read()?;
    system::modprobe(&["virtio_pci", "virtio_console"])?;
    let mut outputs = JobOutputs::new(system::port()?);
    let done = bench::up(&orders)
        .map_err(|error| AgentError::Bench(Box::new(error)))
        .and_then(|()| job(&orders, tasks, &mut outputs));
    outputs.hand_out(&match done {
        Ok(status) => WirePiece::Status(status),
        Err(error) => WirePiece::Failed(with_causes(&error)),
    })
}

fn job<T: AgentTasks>(
    orders: &BenchOrders,
    tasks: &T,
    outputs: &mut JobOutputs,
) -> Result<i32, AgentError> {
    pause::pause(orders)?;
    let begin = Instant::now();
    ready(orders, outputs)?;
    let mut delivery = HostDelivery::read()?;
    if let HostDelivery::Linked(machine, job) = delivery {
        linked::up(&machine, begin)?;
        delivery = HostDelivery::Job(job);
    }
    if let HostDelivery::WithFiles(files, job) = delivery {
        for file in files {
            file.write()?;
        }
        delivery = HostDelivery::Job(job);
    }
    let mut prepared = None;
    if let HostDelivery::Prepare { task } = &delivery {
        prepared = Some(tasks.prepare(task).map_err(task_error)?);
        pause::pause(orders)?;
        // From here on, the machine is a copy, whose host has left a job of its own.
        ready(orders, outputs)?;
        delivery = HostDelivery::read()?;
    }
    match delivery {
        HostDelivery::Prepare { .. } | HostDelivery::Linked(..) | HostDelivery::WithFiles(..) => {
            Err(AgentError::PreparedTwice)
        }
        HostDelivery::Job(GuestJob::Exec { command }) => exec::run(&command, outputs),
        HostDelivery::Job(GuestJob::Shell { terminal }) => shell::run(terminal, outputs),
        HostDelivery::Job(GuestJob::Task { task }) => tasks
            .run(&task, prepared, outputs)
            .map(|()| 0)
            .map_err(task_error),
    }
}

/// Notifies the host that the guest is up, and of the versions that run in it.
fn ready(orders: &BenchOrders, outputs: &mut JobOutputs) -> Result<(), AgentError> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = fs::read_to_string("/proc/sys/kernel/version").unwrap_or_default();
    let mut text = format!(
        "kernel={}\nkernel-build={}\n",
        release.trim(),
        version.trim()
    );
    if orders.bench == BenchKind::Kvaser {
        for (name, address) in card_addresses() {
            let base = bench::registers(&address)?;
            text.push_str(&format!("{REGISTERS}{name}={base:#x}\n"));
        }
    }
    outputs.hand_out(&WirePiece::Ready(text))
}
