//! `cangate lab inner`: in a guest of the bench vm.

use crate::cli::lab::{Inner, InnerMonitor};
use console::Failure;
use guest::inner::{InnerDevice, InnerMachine, MonitorKind};
use std::io::Write;

/// Runs the command in an inner machine, which ends with it.
pub(crate) fn run(args: &Inner) -> Result<(), Failure> {
    let virtio = args.virtio.iter().cloned().map(InnerDevice::Virtio);
    let shm = args.shm.iter().cloned().map(InnerDevice::Shm);
    let pci = args.pci.iter().cloned().map(InnerDevice::Pci);
    let devices: Vec<InnerDevice> = virtio.chain(shm).chain(pci).collect();
    let monitor = match args.monitor {
        InnerMonitor::Qemu => MonitorKind::Qemu,
        InnerMonitor::Own => MonitorKind::Own,
    };
    let machine = InnerMachine::start_by(monitor, &args.name, &devices);
    let mut machine = machine.map_err(Failure::run)?;
    let line: Vec<&str> = args.command.iter().map(String::as_str).collect();
    let ran = machine.run(&line).map_err(Failure::run)?;
    std::io::stdout().write_all(&ran.stdout)?;
    std::io::stderr().write_all(&ran.stderr)?;
    match ran.status {
        0 => Ok(()),
        status => Err(Failure::Status(u8::try_from(status).unwrap_or(255))),
    }
}
