//! The run of a machine, from its start to its end.

use crate::boot;
use crate::bus::AddressSpace;
use crate::cpu;
use crate::end::{EndNotice, MachineEnd};
use crate::error::{VmmError, kvm, system};
use crate::interrupts::InterruptRoutes;
use crate::pci::{PciFunction, PciRoot};
use crate::serial::{self, AgentLine, EventLine, FIRST_LINE, SECOND_LINE};
use crate::virtio::{CanDevice, DeviceEvents, InitialPlace, KvmWiring, VhostBackendDevice};
use kvm_bindings::{KVM_PIT_SPEAKER_DUMMY, kvm_pit_config};
use kvm_ioctls::{Kvm, VcpuExit, VcpuFd, VmFd};
use linux::Errno;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

/// Three pages that Intel's processors need for a machine, below the local interrupt controller.
const TASK: usize = 0xFFFB_D000;

/// The errors of an interruption by a signal, which does not affect the machine (EINTR, EAGAIN).
const AGAIN: [i32; 2] = [Errno::INTR.raw_os_error(), Errno::AGAIN.raw_os_error()];

/// The configuration of a machine.
#[derive(Clone, Debug)]
pub struct MachineSettings {
    /// A kernel: an uncompressed `vmlinux` with a PVH entry.
    pub kernel: PathBuf,
    /// Its initial file system.
    pub image: PathBuf,
    /// Its command line.
    pub line: String,
    /// Bytes of memory.
    pub memory: u64,
    /// The file of the machine's console output (ttyS0), which is created or overwritten.
    pub console: PathBuf,
    /// The socket, created here, whose other end is the machine's second serial line (ttyS1).
    pub agent: PathBuf,
    /// The sockets behind its virtio CAN devices, in the order of their slots, from `0000:00:10.0`
    /// on.
    pub virtio: Vec<PathBuf>,
}

/// Runs a machine until it ends. Its processor, its agent's line and its devices have a thread
/// each, which exist as long as this process.
///
/// # Errors
/// [`VmmError`].
pub fn run(settings: &MachineSettings) -> Result<MachineEnd, VmmError> {
    type Bridge = PciRoot<CanDevice<VhostBackendDevice, KvmWiring>>;
    if settings.virtio.len() > Bridge::MOST {
        return Err(VmmError::Devices {
            count: settings.virtio.len(),
            most: Bridge::MOST,
        });
    }
    let memory = boot::memory(settings.memory)?;
    let entry = boot::load(
        &memory,
        settings.memory,
        &settings.kernel,
        &settings.image,
        &settings.line,
    )?;
    let kvm_file = Kvm::new().map_err(kvm("be opened (/dev/kvm)"))?;
    let made = ::kvm::KvmMachine::new(&kvm_file, memory).map_err(kvm("make a machine"))?;
    let (vm, memory) = (Arc::new(made.vm), made.memory);
    vm.set_tss_address(TASK)
        .map_err(kvm("set aside three pages"))?;
    vm.create_irq_chip()
        .map_err(kvm("make interrupt controllers"))?;
    let timer = kvm_pit_config {
        flags: KVM_PIT_SPEAKER_DUMMY,
        ..kvm_pit_config::default()
    };
    vm.create_pit2(timer).map_err(kvm("make a timer"))?;
    let processor = vm.create_vcpu(0).map_err(kvm("make a processor"))?;
    cpu::start(&kvm_file, &processor, &memory, entry)?;

    let (sender, ends) = mpsc::channel();
    let news = EndNotice::new(sender);
    let line = |number| line(&vm, number);
    let console = serial::console(&settings.console, line(FIRST_LINE)?)?;
    let (agent, serve) = AgentLine::new(&settings.agent, line(SECOND_LINE)?)?;
    let interrupts = Arc::new(InterruptRoutes::new(Arc::clone(&vm)));
    let mut devices = Vec::new();
    for (number, path) in (0..).zip(&settings.virtio) {
        let events = DeviceEvents::new()?;
        let changes = Arc::new(AtomicUsize::new(usize::MAX));
        let wires = KvmWiring::new(
            &vm,
            &interrupts,
            events.again()?,
            Arc::clone(&changes),
            news.clone(),
        );
        let backend = VhostBackendDevice::connect(path, &memory, events, changes, news.clone())?;
        devices.push(CanDevice::new(InitialPlace::new(number), backend, wires));
    }
    let bus = AddressSpace {
        console,
        agent,
        root: PciRoot::new(devices),
    };
    let handle = news.clone();
    std::thread::spawn(move || handle.ended(Err(serve())));
    std::thread::spawn(move || {
        let how = processor_runs(processor, bus);
        news.ended(how);
    });
    ends.recv()
        .unwrap_or_else(|_| Err(VmmError::Stopped("its thread has ended".to_owned())))
}

/// Returns an interrupt line of the board.
fn line(vm: &VmFd, number: u32) -> Result<EventLine, VmmError> {
    let event = EventFd::new(EFD_NONBLOCK).map_err(system("make an event descriptor"))?;
    vm.register_irqfd(&event, number)
        .map_err(kvm("connect an interrupt"))?;
    EventLine::new(&event)
}

/// Runs the processor until the machine ends.
fn processor_runs<F: PciFunction>(
    mut processor: VcpuFd,
    mut bus: AddressSpace<F>,
) -> Result<MachineEnd, VmmError> {
    loop {
        match processor.run() {
            Ok(VcpuExit::IoOut(port, bytes)) => {
                if let Some(ended) = bus.out(port, bytes) {
                    return Ok(ended);
                }
            }
            Ok(VcpuExit::IoIn(port, bytes)) => bus.input(port, bytes),
            Ok(VcpuExit::MmioRead(address, bytes)) => bus.read(address, bytes),
            Ok(VcpuExit::MmioWrite(address, bytes)) => bus.write(address, bytes),
            Ok(VcpuExit::Shutdown) => return Ok(MachineEnd::Shutdown),
            Ok(VcpuExit::SystemEvent(..)) => return Ok(MachineEnd::Shutdown),
            Ok(VcpuExit::Intr | VcpuExit::IrqWindowOpen) => {}
            Ok(other) => return Err(VmmError::Stopped(format!("{other:?}"))),
            Err(error) if AGAIN.contains(&error.errno()) => {}
            Err(error) => return Err(kvm("run the processor")(error)),
        }
    }
}
