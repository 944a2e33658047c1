//! `cangate lab monitor`: in a guest of the bench vm, a process for each inner machine.

use crate::cli::lab::Monitor;
use console::Failure;
use vmm::{MachineEnd, MachineSettings};

/// Runs the monitor of a machine until the machine ends.
pub(crate) fn run(args: Monitor) -> Result<(), Failure> {
    let settings = MachineSettings {
        kernel: args.kernel,
        image: args.image,
        line: args.line,
        memory: args.memory << 20,
        console: args.console,
        agent: args.agent,
        virtio: args.virtio,
    };
    match vmm::run(&settings).map_err(Failure::run)? {
        MachineEnd::Reset => eprintln!("the machine has reset itself"),
        MachineEnd::Shutdown => eprintln!("the machine has shut down"),
    }
    Ok(())
}
