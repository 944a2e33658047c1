//! An inner machine, as the outer guest handles it: it is started, gets programs to run, and is
//! ended.

use super::control;
use super::monitor::{AGENT, LINE, MEMORY, MonitorKind, own};
use super::parts::{FOLDER, IMAGE, LOADER, QEMU, VMLINUX};
use super::request::InnerRequest;
use crate::program::{self, BackgroundProgram, ProgramError};
use crate::wire::{PieceReader, WireError, WirePiece, write_piece};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time in which the agent of an inner machine must be ready, and must answer, in the guest's time.
/// The machine takes four seconds to boot.
const AGENT_TIMEOUT: Duration = Duration::from_secs(120);
/// The folder of KVM's counters (Documentation/virt/kvm/api.rst, and `kvm_stats` in
/// virt/kvm/kvm_main.c).
const COUNTS: &str = "/sys/kernel/debug/kvm";

/// QEMU's option that ends a machine whose kernel gives up, so that it does not boot forever.
const NO_REBOOT: &str = "-no-reboot";
/// The slot of an inner machine's first device; the next one is in the next slot.
const FIRST_SLOT: usize = 0x10;

/// A device of an inner machine, in addition to processor, memory and console: each has a PCI slot,
/// from `0000:00:10.0` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InnerDevice {
    /// A virtio CAN device, behind the socket of a port of kind `virtio`.
    Virtio(PathBuf),
    /// Memory that the machine shares with others, behind the socket of `cangate shm`.
    Shm(PathBuf),
    /// A PCI device of the guest that is assigned to the machine (VFIO): its folder in sysfs.
    Pci(PathBuf),
}

/// An error of an inner machine.
#[derive(Debug, thiserror::Error)]
pub enum InnerError {
    /// A program of the guest, QEMU among them, could not be started, or failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// QEMU ended.
    #[error("the inner machine {name} is gone: {message}; the end of its console: {console}")]
    Gone {
        /// The machine.
        name: String,
        /// QEMU's last messages.
        message: String,
        /// The machine's last console output.
        console: String,
    },
    /// The machine does not answer.
    #[error("the inner machine {name} does not answer; the end of its console: {console}")]
    Silent {
        /// The machine.
        name: String,
        /// Its last console output.
        console: String,
    },
    /// The agent's output is garbled.
    #[error(transparent)]
    Garbled(#[from] WireError),
    /// The machine could not carry out a request.
    #[error("in the inner machine {name}: {message}")]
    Refused {
        /// The machine.
        name: String,
        /// The error message of its agent, or of the program that failed.
        message: String,
    },
    /// The machine's monitor does not carry out a command.
    #[error("the monitor of the inner machine {name} does not reset it")]
    Control {
        /// The machine.
        name: String,
        /// The error of the socket.
        source: io::Error,
    },
    /// Communication with the machine's agent failed.
    #[error("cannot talk to the inner machine {name}")]
    Talk {
        /// The machine.
        name: String,
        /// The error of the socket.
        source: io::Error,
    },
    /// KVM's counts cannot be read.
    #[error("cannot read {COUNTS}")]
    Counts(#[source] io::Error),
    /// KVM does not report the offset of a machine's clock to the guest's.
    #[error("{COUNTS} has no tsc-offset of the inner machine {name}")]
    Clock {
        /// The machine.
        name: String,
    },
}

/// The result of a program in an inner machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramRun {
    /// The program's exit status, as a shell's.
    pub status: i32,
    /// The program's standard output.
    pub stdout: Vec<u8>,
    /// The program's standard error.
    pub stderr: Vec<u8>,
}

/// A running inner machine. It is killed when this is dropped.
#[derive(Debug)]
pub struct InnerMachine {
    name: String,
    console: PathBuf,
    log: PathBuf,
    qemu: BackgroundProgram,
    agent: UnixStream,
    reader: PieceReader,
}

impl InnerMachine {
    /// Starts a machine and waits until its agent is ready. The name is used for its files.
    ///
    /// # Errors
    /// [`InnerError`].
    pub fn start(name: &str, devices: &[InnerDevice]) -> Result<Self, InnerError> {
        Self::start_by(MonitorKind::Qemu, name, devices)
    }

    /// As [`InnerMachine::start`], with this monitor.
    ///
    /// # Errors
    /// [`InnerError`].
    pub fn start_by(
        monitor: MonitorKind,
        name: &str,
        devices: &[InnerDevice],
    ) -> Result<Self, InnerError> {
        let (socket, console) = (agent(name), console(name));
        let words = match monitor {
            MonitorKind::Qemu => arguments(&socket, &console, devices),
            MonitorKind::Own => own(name, &socket, &console, devices)?,
        };
        Self::start_with(name, &words)
    }

    /// As [`InnerMachine::start`]. The machine can be [reset](InnerMachine::reset).
    ///
    /// # Errors
    /// [`InnerError`].
    pub fn start_resettable(name: &str, devices: &[InnerDevice]) -> Result<Self, InnerError> {
        let mut words = arguments(&agent(name), &console(name), devices);
        words.retain(|word| word != NO_REBOOT);
        words.extend(control::words(name));
        Self::start_with(name, &words)
    }

    /// Starts a machine by this command line of its monitor.
    fn start_with(name: &str, words: &[String]) -> Result<Self, InnerError> {
        let (socket, console) = (agent(name), console(name));
        let log = format!("/run/{name}.qemu");
        let line: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut qemu = BackgroundProgram::start(None, &line, &log)?;
        let end = Instant::now() + AGENT_TIMEOUT;
        let agent = loop {
            match UnixStream::connect(&socket) {
                Ok(agent) => break agent,
                Err(_) if qemu.ended().is_none() && Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(_) => return Err(gone(name, Path::new(&console), Path::new(&log))),
            }
        };
        let mut machine = Self {
            name: name.to_owned(),
            console: PathBuf::from(console),
            log: PathBuf::from(log),
            qemu,
            agent,
            reader: PieceReader::default(),
        };
        match machine.piece()? {
            WirePiece::Ready(_) => Ok(machine),
            other => Err(machine.unexpected(&other)),
        }
    }

    /// Gives all threads of the machine, including that of its processor, a real-time priority
    /// (SCHED_FIFO).
    ///
    /// # Errors
    /// [`InnerError::Program`].
    pub fn prioritize(&self, priority: u8) -> Result<(), InnerError> {
        let (priority, id) = (priority.to_string(), self.qemu.id().to_string());
        program::output(None, &["chrt", "-a", "-f", "-p", &priority, &id])?;
        Ok(())
    }

    /// Ends the machine at once, whatever it does. It is gone when this returns.
    pub fn kill(&mut self) {
        self.qemu.kill();
    }

    /// Stops the machine and its monitor until [`InnerMachine::go_on`].
    pub fn pause(&self) {
        self.qemu.pause();
    }

    /// Continues the machine after [`InnerMachine::pause`].
    pub fn go_on(&self) {
        self.qemu.go_on();
    }

    /// Resets the machine, as its reset button would, if it was
    /// [started](InnerMachine::start_resettable) for that. Its devices are reset when this returns;
    /// [`InnerMachine::booted`] waits until it accepts requests again.
    ///
    /// # Errors
    /// [`InnerError::Control`].
    pub fn reset(&mut self) -> Result<(), InnerError> {
        control::reset(&self.name).map_err(|source| InnerError::Control {
            name: self.name.clone(),
            source,
        })
    }

    /// Waits until the agent is ready again after [`InnerMachine::reset`].
    ///
    /// # Errors
    /// [`InnerError`].
    pub fn booted(&mut self) -> Result<(), InnerError> {
        self.reader = PieceReader::default();
        match self.piece()? {
            WirePiece::Ready(_) => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Returns the machine's time stamp counter minus the guest's, as KVM reports it.
    ///
    /// # Errors
    /// [`InnerError::Clock`], [`InnerError::Counts`].
    pub fn clock(&self) -> Result<i64, InnerError> {
        // A machine's folder is named by its process and a descriptor of that process.
        let process = format!("{}-", self.qemu.id());
        for entry in fs::read_dir(COUNTS).map_err(InnerError::Counts)? {
            let entry = entry.map_err(InnerError::Counts)?;
            if !entry.file_name().to_string_lossy().starts_with(&process) {
                continue;
            }
            let path = entry.path().join("vcpu0/tsc-offset");
            let text = fs::read_to_string(path).map_err(InnerError::Counts)?;
            if let Ok(offset) = text.trim().parse() {
                return Ok(offset);
            }
        }
        Err(InnerError::Clock {
            name: self.name.clone(),
        })
    }

    /// Runs a program in the machine, to its end.
    ///
    /// # Errors
    /// [`InnerError`]; the failure of a program is not an error.
    pub fn run(&mut self, line: &[&str]) -> Result<ProgramRun, InnerError> {
        self.ask(&InnerRequest::Run(
            line.iter().map(|&word| word.to_owned()).collect(),
        ))?;
        let mut ran = ProgramRun::default();
        loop {
            match self.piece()? {
                WirePiece::Stdout(bytes) => ran.stdout.extend(bytes),
                WirePiece::Stderr(bytes) => ran.stderr.extend(bytes),
                WirePiece::Status(status) => {
                    ran.status = status;
                    return Ok(ran);
                }
                other => return Err(self.unexpected(&other)),
            }
        }
    }

    /// Runs a program in the machine that must succeed, and returns its output.
    ///
    /// # Errors
    /// [`InnerError`]; [`InnerError::Refused`] with the program's standard error if it failed.
    pub fn output(&mut self, line: &[&str]) -> Result<String, InnerError> {
        let ran = self.run(line)?;
        if ran.status == 0 {
            return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&ran.stderr);
        Err(InnerError::Refused {
            name: self.name.clone(),
            message: format!(
                "`{}` failed ({}): {}",
                line.join(" "),
                ran.status,
                message.trim()
            ),
        })
    }

    /// Returns a file of the machine.
    ///
    /// # Errors
    /// [`InnerError`].
    pub fn read(&mut self, path: &str) -> Result<Vec<u8>, InnerError> {
        self.ask(&InnerRequest::Read(path.to_owned()))?;
        let mut all = Vec::new();
        loop {
            match self.piece()? {
                WirePiece::Part(bytes) => all.extend(bytes),
                WirePiece::Status(_) => return Ok(all),
                other => return Err(self.unexpected(&other)),
            }
        }
    }

    fn ask(&mut self, request: &InnerRequest) -> Result<(), InnerError> {
        let (kind, bytes) = request.parts();
        write_piece(kind, &bytes, &mut self.agent).map_err(|source| InnerError::Talk {
            name: self.name.clone(),
            source,
        })
    }

    /// Returns the next piece that the agent sends.
    fn piece(&mut self) -> Result<WirePiece, InnerError> {
        let talk = |source| InnerError::Talk {
            name: self.name.clone(),
            source,
        };
        self.agent
            .set_read_timeout(Some(AGENT_TIMEOUT))
            .map_err(talk)?;
        let mut buffer = [0; 1 << 14];
        loop {
            if let Some(piece) = self.reader.next()? {
                return Ok(piece);
            }
            match self.agent.read(&mut buffer) {
                Ok(0) => return Err(gone(&self.name, &self.console, &self.log)),
                Ok(count) => self.reader.push(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    return Err(InnerError::Silent {
                        name: self.name.clone(),
                        console: end_of(&self.console),
                    });
                }
                Err(source) => {
                    return Err(InnerError::Talk {
                        name: self.name.clone(),
                        source,
                    });
                }
            }
        }
    }

    fn unexpected(&self, piece: &WirePiece) -> InnerError {
        let message = match piece {
            WirePiece::Failed(message) => message.clone(),
            other => format!("its agent sent an unexpected answer: {other:?}"),
        };
        InnerError::Refused {
            name: self.name.clone(),
            message,
        }
    }
}

/// Returns the socket of a machine's agent.
fn agent(name: &str) -> String {
    format!("/run/{name}.agent")
}

/// Returns the file of a machine's console output.
fn console(name: &str) -> String {
    format!("/run/{name}.console")
}

fn gone(name: &str, console: &Path, log: &Path) -> InnerError {
    InnerError::Gone {
        name: name.to_owned(),
        message: end_of(log),
        console: end_of(console),
    }
}

/// Returns the end of a file.
fn end_of(path: &Path) -> String {
    const MOST: usize = 2000;
    let text = fs::read(path).unwrap_or_default();
    let from = text.len().saturating_sub(MOST);
    let text = String::from_utf8_lossy(text.get(from..).unwrap_or_default());
    text.trim().to_owned()
}

/// Returns QEMU's command line.
fn arguments(socket: &str, console: &str, devices: &[InnerDevice]) -> Vec<String> {
    let library = format!("/{FOLDER}/lib");
    let mut all: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| all.extend(words.iter().map(|&word| word.to_owned()));
    add(&[&format!("{library}/{LOADER}"), "--library-path", &library]);
    add(&[&format!("/{FOLDER}/{QEMU}")]);
    add(&["-nodefaults", "-no-user-config", "-display", "none"]);
    add(&["-vga", "none", "-nic", "none", NO_REBOOT]);
    add(&["-L", &format!("/{FOLDER}/share")]);
    add(&["-accel", "kvm", "-cpu", "host", "-smp", "1"]);
    // The process behind a virtio device reads and writes the machine's memory.
    let memory = format!("memory-backend-memfd,id=memory,size={MEMORY}M,share=on");
    add(&["-object", &memory, "-machine", "q35,memory-backend=memory"]);
    add(&["-m", &MEMORY.to_string()]);
    // A virtio console would be polled without end.
    add(&["-serial", &format!("file:{console}")]);
    let chardev = format!("socket,id=agent,path={socket},server=on,wait=off");
    add(&["-chardev", &chardev, "-device", "virtio-serial-pci"]);
    add(&["-device", "virtserialport,chardev=agent,name=cangate"]);
    for (number, device) in devices.iter().enumerate() {
        let slot = format!("addr={:#x}", FIRST_SLOT + number);
        match device {
            InnerDevice::Virtio(path) => {
                let way = format!("socket,id=can{number},path={}", path.display());
                let device = format!(
                    "vhost-user-test-device-pci,virtio-id=36,num_vqs=3,vq_size=64,config_size=2,chardev=can{number},{slot}"
                );
                add(&["-chardev", &way, "-device", &device]);
            }
            InnerDevice::Shm(path) => {
                let way = format!("socket,id=shm{number},path={}", path.display());
                let device = format!("ivshmem-doorbell,vectors=1,chardev=shm{number},{slot}");
                add(&["-chardev", &way, "-device", &device]);
            }
            InnerDevice::Pci(path) => {
                let device = format!("vfio-pci,sysfsdev={},{slot}", path.display());
                add(&["-device", &device]);
            }
        }
    }
    add(&["-kernel", &format!("/{FOLDER}/{VMLINUX}")]);
    add(&["-initrd", &format!("/{FOLDER}/{IMAGE}")]);
    add(&["-append", &format!("{LINE} {AGENT}")]);
    all
}

/// KVM's counts for all machines of the guest together: the number of exits to the hypervisor, by
/// reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitCounts(BTreeMap<String, u64>);

impl ExitCounts {
    /// Reads the current counts.
    ///
    /// # Errors
    /// [`InnerError::Counts`].
    pub fn now() -> Result<Self, InnerError> {
        let mut counts = BTreeMap::new();
        for entry in fs::read_dir(COUNTS).map_err(InnerError::Counts)? {
            let entry = entry.map_err(InnerError::Counts)?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // Folders are single machines; other files are sizes, not counts.
            if !(name.ends_with("exits") || name.ends_with("injections")) {
                continue;
            }
            let text = fs::read_to_string(entry.path()).map_err(InnerError::Counts)?;
            if let Ok(count) = text.trim().parse() {
                counts.insert(name, count);
            }
        }
        Ok(Self(counts))
    }

    /// Returns the counts since `before`; kinds with a count of zero are left out.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let difference = self.0.iter().map(|(name, count)| {
            let earlier = before.0.get(name).copied().unwrap_or(0);
            (name.clone(), count.saturating_sub(earlier))
        });
        Self(difference.filter(|(_, count)| *count > 0).collect())
    }

    /// Returns each kind with its count, by name: KVM's own names, `exits` for all of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// Returns the number of all exits.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.get("exits").copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_the_devices_that_it_is_given() {
        let devices = [
            InnerDevice::Virtio("/run/a.sock".into()),
            InnerDevice::Shm("/run/b.sock".into()),
            InnerDevice::Pci("/sys/x".into()),
        ];
        let all = arguments("/run/s", "/run/c", &devices).join(" ");
        for part in [
            "chardev=can0",
            "path=/run/a.sock",
            "chardev=shm1",
            "vfio-pci,sysfsdev=/sys/x,addr=0x12",
            "cangate.inner=1 -- agent",
        ] {
            assert!(all.contains(part), "{part} in {all}");
        }
    }

    #[test]
    fn exits_are_counted_from_then_on() {
        let of = |all: &[(&str, u64)]| {
            ExitCounts(all.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect())
        };
        let before = of(&[("exits", 5), ("io_exits", 2)]);
        let now = of(&[("exits", 9), ("io_exits", 2), ("mmio_exits", 4)]);
        let since = now.since(&before);
        assert_eq!(since, of(&[("exits", 4), ("mmio_exits", 4)]));
        assert_eq!(since.all(), 4);
    }
}
