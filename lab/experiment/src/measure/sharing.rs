//! The components between an inner machine and the hypervisor's controller: everything that is
//! started for each way of [`Nesting`].

use super::beside::LoadSender;
use super::error::MeasureError;
use super::gateway::{answers, cangate_run, cangate_run_to_the_end, file, write};
use crate::choices::{MachineOrder, Nesting};
use crate::settings::Experiment;
use crate::spec::BITRATE;
use crate::under_test::sharing::{ANSWERS, CALL, port, virtio};
use crate::under_test::{self, INCOMING};
use guest::inner::{InnerDevice, InnerMachine, MonitorKind};
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::{BackgroundProgram, output};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The priority of an inner machine's threads.
const MACHINE: u8 = 85;
/// The interface in an inner machine.
pub(super) const INSIDE: &str = "can0";
/// The interface of the controller in the machine that owns it (`driver.sh`).
pub(super) const OWNED: &str = "bus";
/// The device that takes commands for buses in bit time (kmod/bitcan).
pub(super) const BITCAN: &str = "/dev/bitcan";
/// The controller that shares itself.
pub(super) const PHYSICAL: &str = "pf0";
/// The cards' interfaces: those of the program that asks, and of the node that answers.
pub(super) const CARD: &str = "card0";
pub(super) const OTHER_CARD: &str = "card1";
/// Capacity of that memory, frames in each direction.
const LINK_FRAMES: &str = "1024";
/// A second, ns.
const SECOND: u64 = 1_000_000_000;
/// Time given to a program to start, and the interval between checks for it.
const START: Duration = Duration::from_secs(5);
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// The script that the driver VM runs, once it has its devices; and the one that waits for the
/// other machine.
const DRIVER: &str = include_str!("driver.sh");
const LINKED: &str = include_str!("linked.sh");

/// The running components.
#[derive(Default)]
pub(super) struct SharingMachines {
    /// The machine whose programs are measured; `None`: they run next to the hypervisor's programs.
    pub(super) machine: Option<InnerMachine>,
    /// The senders that send at the same time.
    pub(super) beside: Vec<LoadSender>,
    /// The virtual functions of those senders.
    functions: Vec<u32>,
    /// The machine that owns the controller, if there is one. It runs as long as this value exists.
    pub(super) owner: Option<InnerMachine>,
    /// The programs, which run as long as this value exists.
    pub(super) programs: Vec<BackgroundProgram>,
}

impl SharingMachines {
    /// Sets the budget of each machine that sends at the same time, frames per second; 0: no limit.
    /// Where a process shares the controller, its file already contains the budgets.
    pub(super) fn budgets(&self, rate: u32) -> Result<(), MeasureError> {
        if rate == 0 {
            return Ok(());
        }
        let each = &self.functions;
        each.iter().try_for_each(|n| {
            write_command(&format!(
                "vf {PHYSICAL} {n} budget=frames:{rate}:{SECOND}:1"
            ))
        })
    }
}

/// Starts all components that the experiment's way needs.
pub(super) fn start(
    experiment: &Experiment,
    nesting: Nesting,
) -> Result<SharingMachines, MeasureError> {
    match nesting {
        Nesting::Native => native(experiment),
        Nesting::Card => Ok(SharingMachines::default()),
        Nesting::Host => host(experiment, MonitorKind::Qemu),
        Nesting::Own => host(experiment, MonitorKind::Own),
        Nesting::Driver => driver(experiment),
        Nesting::Function => function(experiment),
        Nesting::Trap => trap(),
    }
}

/// Returns the numbers of the machines other than the one that asks.
fn beside(experiment: &Experiment) -> std::ops::Range<u8> {
    0..experiment.sharing().beside()
}

/// Starts no machine: programs run next to the hypervisor's programs; each that sends has a
/// controller on the bus, or all share the interface of the one that asks.
fn native(experiment: &Experiment) -> Result<SharingMachines, MeasureError> {
    let mut sharing = SharingMachines::default();
    for number in beside(experiment) {
        let name = match experiment.order {
            MachineOrder::Fifo => INCOMING.to_owned(),
            MachineOrder::Priority => port(number),
        };
        if experiment.order == MachineOrder::Priority {
            let model = experiment.cpu.controller().name();
            let order = format!("echo add {name} bus=0 model={model} > {BITCAN}");
            output(Some(GATEWAY), &["sh", "-c", &order])?;
            let rate = BITRATE.to_string();
            let set = ["ip", "link", "set", &name];
            for how in [&["type", "can", "bitrate", &rate][..], &["up"]] {
                output(Some(GATEWAY), &[&set[..], how].concat())?;
            }
        }
        sharing.beside.push(LoadSender::Native(name));
    }
    Ok(sharing)
}

/// Starts `cangate run` on the hypervisor, next to the machines.
fn host(experiment: &Experiment, monitor: MonitorKind) -> Result<SharingMachines, MeasureError> {
    let config = under_test::config(experiment)?;
    let mut gateway = if experiment.machines > 1 {
        cangate_run_to_the_end(&config)?
    } else {
        cangate_run(&config)?
    };
    answers(&mut gateway)?;
    let mut machine =
        InnerMachine::start_by(monitor, "vm", &[InnerDevice::Virtio(virtio(None).into())])?;
    up(&mut machine)?;
    let mut sharing = SharingMachines {
        machine: Some(machine),
        programs: vec![gateway],
        ..SharingMachines::default()
    };
    for number in beside(experiment) {
        let devices = [InnerDevice::Virtio(virtio(Some(number)).into())];
        sharing.beside.push(other(monitor, number, &devices, None)?);
    }
    Ok(sharing)
}

/// Starts `cangate run` in a machine that owns the controller.
fn driver(experiment: &Experiment) -> Result<SharingMachines, MeasureError> {
    let mut memory = vec![link("/run/link.sock")?];
    let others: Vec<String> = beside(experiment)
        .map(|number| format!("/run/{}.link", port(number)))
        .collect();
    for socket in &others {
        memory.push(link(socket)?);
    }
    physical(1)?;
    let function = mediated(0, ALL)?;
    let mut devices = vec![
        InnerDevice::Pci(function.path),
        InnerDevice::Shm("/run/link.sock".into()),
    ];
    devices.extend(others.iter().map(|socket| InnerDevice::Shm(socket.into())));
    let mut owner = InnerMachine::start("driver", &devices)?;
    timed(function.number, &owner)?;
    let config = under_test::config(experiment)?;
    owner.output(&["sh", "-c", DRIVER, "sh", &config])?;
    let machine = machine(&[InnerDevice::Shm("/run/link.sock".into())], None)?;
    owner.output(&["sh", "-c", LINKED, "sh", "vm"])?;
    let mut senders = Vec::new();
    for (number, socket) in beside(experiment).zip(&others) {
        let devices = [InnerDevice::Shm(socket.into())];
        senders.push(other(MonitorKind::Qemu, number, &devices, None)?);
        owner.output(&["sh", "-c", LINKED, "sh", &port(number)])?;
    }
    // This is done only now, because a machine that boots takes the whole processor.
    owner.prioritize(MACHINE)?;
    Ok(SharingMachines {
        machine: Some(machine),
        beside: senders,
        owner: Some(owner),
        programs: memory,
        ..SharingMachines::default()
    })
}

/// Creates memory between the driver VM and a machine.
fn link(socket: &str) -> Result<BackgroundProgram, MeasureError> {
    let line = ["cangate", "shm", socket, "--frames", LINK_FRAMES];
    let mut memory = BackgroundProgram::start(None, &line, "/tmp/link")?;
    there(&mut memory, Path::new(socket))?;
    Ok(memory)
}

/// Gives each machine a virtual function of its own.
fn function(experiment: &Experiment) -> Result<SharingMachines, MeasureError> {
    physical(u32::from(experiment.machines))?;
    let rights = if experiment.machines == 1 {
        ALL.to_owned()
    } else {
        format!("receive={ANSWERS} send=all")
    };
    let function = mediated(0, &rights)?;
    let devices = [InnerDevice::Pci(function.path)];
    let mut sharing = SharingMachines {
        machine: Some(machine(&devices, Some(function.number))?),
        ..SharingMachines::default()
    };
    for number in beside(experiment) {
        let rights = format!("receive={CALL}:7FF send=all");
        let function = mediated(u32::from(number) + 1, &rights)?;
        sharing.functions.push(function.number);
        let devices = [InnerDevice::Pci(function.path)];
        let sender = other(MonitorKind::Qemu, number, &devices, Some(function.number))?;
        sharing.beside.push(sender);
    }
    Ok(sharing)
}

/// Starts a machine in addition to the measured one, with its interface up. It stays an ordinary
/// process.
fn other(
    monitor: MonitorKind,
    number: u8,
    devices: &[InnerDevice],
    function: Option<u32>,
) -> Result<LoadSender, MeasureError> {
    let machine = match monitor {
        MonitorKind::Qemu => InnerMachine::start_resettable(&port(number), devices)?,
        // This monitor has no reset button.
        MonitorKind::Own => InnerMachine::start_by(monitor, &port(number), devices)?,
    };
    let mut other = OtherMachine {
        machine,
        name: port(number),
        devices: devices.to_vec(),
        function,
    };
    other.up()?;
    Ok(LoadSender::Inside(Box::new(other)))
}

/// A machine in addition to the measured one, and its parameters.
pub(super) struct OtherMachine {
    pub(super) machine: InnerMachine,
    name: String,
    devices: Vec<InnerDevice>,
    function: Option<u32>,
}

impl OtherMachine {
    /// Sets its interface up, once its virtual function has been given the machine's clock.
    pub(super) fn up(&mut self) -> Result<(), MeasureError> {
        if let Some(number) = self.function {
            timed(number, &self.machine)?;
        }
        self.machine.output(&["ip", "link", "set", INSIDE, "up"])?;
        Ok(())
    }

    /// Starts a new machine in place of one that is gone.
    pub(super) fn start_again(&mut self) -> Result<(), MeasureError> {
        self.machine = InnerMachine::start_resettable(&self.name, &self.devices)?;
        self.up()
    }
}

/// Takes the card from the guest, and gives it to a machine.
fn trap() -> Result<SharingMachines, MeasureError> {
    let folder = format!("/sys/class/net/{CARD}/device");
    let find = ["readlink", "-f", &folder];
    let path = output(Some(GATEWAY), &find)?.trim().to_owned();
    let address = path.rsplit('/').next().unwrap_or_default().to_owned();
    write(&format!("{path}/driver_override"), "vfio-pci")?;
    write(&format!("{path}/driver/unbind"), &address)?;
    write("/sys/bus/pci/drivers_probe", &address)?;
    let mut machine = InnerMachine::start("vm", &[InnerDevice::Pci(path.into())])?;
    let rate = BITRATE.to_string();
    let line = ["ip", "link", "set", INSIDE, "type", "can", "bitrate", &rate];
    machine.output(&line)?;
    up(&mut machine)?;
    Ok(SharingMachines {
        machine: Some(machine),
        ..SharingMachines::default()
    })
}

/// Starts the measured machine, with its interface up. Its virtual function is given the machine's
/// clock first.
fn machine(devices: &[InnerDevice], function: Option<u32>) -> Result<InnerMachine, MeasureError> {
    let mut machine = InnerMachine::start("vm", devices)?;
    if let Some(number) = function {
        timed(number, &machine)?;
    }
    up(&mut machine)?;
    Ok(machine)
}

fn up(machine: &mut InnerMachine) -> Result<(), MeasureError> {
    machine.output(&["ip", "link", "set", INSIDE, "up"])?;
    // This is done only now, because a machine that boots takes the whole processor.
    Ok(machine.prioritize(MACHINE)?)
}

/// Puts the controller that shares itself on the bus, in place of the interface that the other ways
/// share.
fn physical(functions: u32) -> Result<(), MeasureError> {
    // This interface would have an interrupt for each frame.
    output(Some(GATEWAY), &["ip", "link", "set", INCOMING, "down"])?;
    write_command(&format!(
        "add {PHYSICAL} bus=0 model=shared functions={functions} queue=64 fifo=64"
    ))?;
    write_command(&format!("pf {PHYSICAL} up bitrate={BITRATE}"))
}

/// A virtual function as a mediated device.
struct MediatedDevice {
    path: PathBuf,
    /// The number of the controller's function.
    number: u32,
}

/// The rights of a single function: it may send and receive everything.
const ALL: &str = "receive=all send=all";

/// Creates a mediated device, with these rights.
fn mediated(index: u32, rights: &str) -> Result<MediatedDevice, MeasureError> {
    let name = format!("00000000-0000-4000-8000-{index:012}");
    let kind = format!("mdev_supported_types/{PHYSICAL_CLASS}-function/create");
    write(
        &format!("/sys/class/{PHYSICAL_CLASS}/{PHYSICAL}/{kind}"),
        &name,
    )?;
    let path = Path::new("/sys/bus/mdev/devices").join(name);
    let which = format!("{}/function", path.display());
    let text = fs::read_to_string(&which).map_err(file("read", &which))?;
    // NAME/N
    let number = text.trim().rsplit('/').next().and_then(|n| n.parse().ok());
    let number = number.ok_or_else(|| MeasureError::Run(format!("{which}: {text}")))?;
    write_command(&format!("vf {PHYSICAL} {number} {rights}"))?;
    Ok(MediatedDevice { path, number })
}

/// The class of devices of such controllers (kmod/bitcan/mdev.c).
const PHYSICAL_CLASS: &str = "bitcan-pf";

/// Gives the machine's clock to the function, so that a request counts from the time at which the
/// machine wrote it.
fn timed(function: u32, machine: &InnerMachine) -> Result<(), MeasureError> {
    let clock = machine.clock()?;
    write_command(&format!("vf {PHYSICAL} {function} clock={clock}"))
}

pub(super) fn write_command(words: &str) -> Result<(), MeasureError> {
    write(BITCAN, &format!("{words}\n"))
}

/// Waits until the program has created its socket.
fn there(program: &mut BackgroundProgram, socket: &Path) -> Result<(), MeasureError> {
    let mut waited = Duration::ZERO;
    while !socket.exists() {
        if let Some(ended) = program.ended() {
            return Err(MeasureError::GatewayEnded(ended));
        }
        if waited >= START {
            return Err(MeasureError::GatewaySilent(START));
        }
        std::thread::sleep(CHECK_INTERVAL);
        waited += CHECK_INTERVAL;
    }
    Ok(())
}
