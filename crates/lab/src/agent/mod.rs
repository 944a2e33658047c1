//! The agent: the first process of a guest. It mounts what a Linux needs, brings the bench up,
//! says so, does the job, hands out what came of it, and switches the machine off.
//!
//! Its environment (the `PATH`) and its orders come from the kernel's command line; the job comes
//! through QEMU's fw_cfg device, which is read at once and by the guest alone; what it hands out
//! leaves by a virtio serial port that never blocks. So nothing that the host does, and when,
//! can be noticed in here.

mod bench;
mod exec;
mod orders;

pub(crate) use orders::Orders;

use crate::experiment::Experiment;
use crate::machine::{Bench, Job};
use crate::wire::{LONGEST, Piece};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How the lines begin that say where the cards' registers are.
pub(crate) const REGISTERS: &str = "registers-";
/// Where the job is, once its driver is loaded.
const JOB: &str = "/sys/firmware/qemu_fw_cfg/by_name/opt/cangate/job/raw";

/// What a job hands out.
#[derive(Debug)]
pub struct Outputs {
    port: File,
}

impl Outputs {
    /// Hands out a file under a name; the host has it in `Outcome::outputs`.
    ///
    /// # Errors
    ///
    /// The port to the host does not take it.
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.send(&Piece::File(name.to_owned()))?;
        for part in bytes.chunks(LONGEST) {
            self.send(&Piece::Part(part.to_vec()))?;
        }
        Ok(())
    }

    /// Says something to the one who watches, by the host's standard error.
    pub fn log(&mut self, words: &str) {
        // Nobody could be told that nobody could be told.
        let _ = self.send(&Piece::Stderr(format!("{words}\n").into_bytes()));
    }

    pub(crate) fn send(&mut self, piece: &Piece) -> io::Result<()> {
        piece.write(&mut self.port)
    }
}

/// Runs as the first process of a guest, to the end of the machine.
///
/// # Errors
///
/// Words for people, where this is no guest. In a guest they go to the console, and the machine
/// is switched off.
pub fn run() -> Result<(), String> {
    if std::process::id() != 1 {
        return Err(
            "lab agent is for the inside of a guest, which `cangate lab exec` boots".to_owned(),
        );
    }
    if let Err(words) = serve() {
        eprintln!("cangate agent: {words}");
    }
    // Buffers of files do not matter: there is no disk.
    let off = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    Err(format!("the machine does not switch itself off: {off:?}"))
}

fn serve() -> Result<(), String> {
    mount_all()?;
    gather_randomness()?;
    let orders = Orders::read()?;
    modprobe(&["virtio_pci", "virtio_console"])?;
    let mut outputs = Outputs { port: port()? };
    let done = bench::up(&orders)
        .map_err(|words| format!("the bench does not come up: {words}"))
        .and_then(|()| job(&orders, &mut outputs));
    let piece = match done {
        Ok(status) => Piece::Status(status),
        Err(words) => Piece::Failed(words),
    };
    outputs
        .send(&piece)
        .map_err(|e| format!("the host takes no answer: {e}"))
}

fn job(orders: &Orders, outputs: &mut Outputs) -> Result<i32, String> {
    if orders.pause {
        pause()?;
    }
    ready(orders, outputs)?;
    let mut delivery = Delivery::read()?;
    let mut prepared = None;
    if let Delivery::Prepare { experiment } = &delivery {
        prepared = Some(crate::measure::prepare(experiment)?);
        pause()?;
        // From here on in a copy, whose host has left a job of its own.
        ready(orders, outputs)?;
        delivery = Delivery::read()?;
    }
    match delivery {
        Delivery::Prepare { .. } => Err("a guest is prepared once only".to_owned()),
        Delivery::Job(Job::Exec { command }) => exec::run(&command, outputs),
        Delivery::Job(Job::Measure { experiment }) => match prepared {
            Some(prepared) => crate::measure::measure(prepared, &experiment, outputs),
            None => crate::measure::in_guest(&experiment, outputs),
        }
        .map(|()| 0),
    }
}

/// What the host leaves in fw_cfg.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Delivery {
    /// Do this.
    Job(Job),
    /// Prepare the guest for experiments that share [`crate::measure::preparation`] with this
    /// one, stop the machine to be saved, and go on with what is left there by then.
    Prepare {
        /// One of them.
        experiment: Box<Experiment>,
    },
}

impl Delivery {
    fn read() -> Result<Self, String> {
        // The driver looks at the sizes of fw_cfg's files once, when it is loaded.
        modprobe(&["qemu_fw_cfg"])?;
        let text = fs::read(JOB).map_err(|e| format!("cannot read the job ({JOB}): {e}"))?;
        call("rmmod", &["qemu_fw_cfg"])?;
        serde_json::from_slice(&text).map_err(|e| format!("the job makes no sense: {e}"))
    }
}

/// Tells the host that the guest is up, and what runs in it.
fn ready(orders: &Orders, outputs: &mut Outputs) -> Result<(), String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version = fs::read_to_string("/proc/sys/kernel/version").unwrap_or_default();
    let mut text = format!(
        "kernel={}\nkernel-build={}\n",
        release.trim(),
        version.trim()
    );
    if orders.bench == Bench::Kvaser {
        for (name, address) in crate::qemu::card_addresses() {
            let base = bench::registers(&address)?;
            text.push_str(&format!("{REGISTERS}{name}={base:#x}\n"));
        }
    }
    outputs
        .send(&Piece::Ready(text))
        .map_err(|e| format!("the host takes no answer: {e}"))
}

/// Stops the machine for the host to save it; goes on in every machine that is restored from
/// what was saved.
fn pause() -> Result<(), String> {
    // What drivers put off until later (a link that is watched, a clock that is measured) is done
    // by then; in virtual time waiting costs nothing.
    std::thread::sleep(Duration::from_secs(3));
    let words = |e: io::Error| format!("the machine cannot be stopped: {e}");
    let ports = OpenOptions::new()
        .write(true)
        .open("/dev/port")
        .map_err(words)?;
    let write = |what: u8| ports.write_all_at(&[what], PANIC_PORT).map_err(words);
    // What such a write takes if nothing comes of it; the first one takes longer.
    write(0)?;
    let start = Instant::now();
    write(0)?;
    let plain = start.elapsed();
    let start = Instant::now();
    write(PANICKED)?;
    let stopped = start.elapsed();
    // While the processor stops, QEMU's main loop may see it idle and move virtual time on to the
    // next timer, or see that it stops and not do so: which of the two comes first is the host's
    // doing. The first is the usual one, and the only one that is kept.
    let moved = stopped > plain * 4 || plain * 4 > LONGEST_PLAIN;
    write(if moved { CRASH_LOADED } else { PANICKED })
}

/// The only port of QEMU's pvpanic device (docs/specs/pvpanic.rst in its source).
const PANIC_PORT: u64 = 0x505;
/// The guest panicked: the machine stops.
const PANICKED: u8 = 1;
/// The guest panicked and sees to it itself: the host is told, and the machine goes on.
const CRASH_LOADED: u8 = 2;
/// Timer interrupts come every 4 ms at the latest. On a guest's processor so slow that a few
/// writes take that long (shift 9 and 10) it cannot be told whether time was moved.
const LONGEST_PLAIN: Duration = Duration::from_millis(3);

/// What every Linux has mounted.
fn mount_all() -> Result<(), String> {
    use rustix::mount::{MountFlags, mount};
    for (what, place) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ] {
        mount(what, place, what, MountFlags::empty(), None)
            .map_err(|e| format!("cannot mount {place}: {e}"))?;
    }
    // Shared memory and the kernel's own files are for those who look for them.
    for (what, place) in [
        ("tmpfs", "/dev/shm"),
        ("devpts", "/dev/pts"),
        ("debugfs", "/sys/kernel/debug"),
        ("bpf", "/sys/fs/bpf"),
    ] {
        let _ = fs::create_dir(place);
        let _ = mount(what, place, what, MountFlags::empty(), None);
    }
    for (link, to) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        let _ = std::os::unix::fs::symlink(to, link);
    }
    Ok(())
}

/// Waits until the kernel has its random numbers: the first who asks for one makes them, which
/// takes a second, out of a timer's irregularity. That shall not be a measurement's program, nor
/// one of such priority that the timer never comes.
fn gather_randomness() -> Result<(), String> {
    let mut bytes = [0; 1];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map(drop)
        .map_err(|e| format!("there are no random numbers: {e}"))
}

/// The port to the host, known by its name.
fn port() -> Result<File, String> {
    let path = wait_for("the port to the host", || {
        let entries = fs::read_dir("/sys/class/virtio-ports").ok()?;
        entries.flatten().find_map(|entry| {
            let name = fs::read_to_string(entry.path().join("name")).ok()?;
            (name.trim() == "cangate").then(|| Path::new("/dev").join(entry.file_name()))
        })
    })?;
    let opened = wait_for("the port's device", || path.exists().then(|| path.clone()))?;
    OpenOptions::new()
        .write(true)
        .open(&opened)
        .map_err(|e| format!("cannot open {}: {e}", opened.display()))
}

/// Waits up to ten seconds of the guest's time for something to appear.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
    let start = Instant::now();
    loop {
        if let Some(it) = look() {
            return Ok(it);
        }
        if start.elapsed() > Duration::from_secs(10) {
            return Err(format!("{what} does not appear"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Loads modules with what they need.
fn modprobe(names: &[&str]) -> Result<(), String> {
    let mut all = vec!["-a"];
    all.extend(names);
    call("modprobe", &all)
}

/// Runs a program of the guest; its words if it fails.
fn call(program: &str, arguments: &[&str]) -> Result<(), String> {
    let line = || format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|e| format!("{}: {e}", line()))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}: {} ({})", line(), words.trim(), output.status))
}

/// The interface of a PCI device, by the device's address.
fn interface_at(address: &str) -> Result<String, String> {
    let folder = PathBuf::from(format!("/sys/bus/pci/devices/{address}/net"));
    wait_for(&format!("the interface of PCI device {address}"), || {
        let entry = fs::read_dir(&folder).ok()?.flatten().next()?;
        entry.file_name().into_string().ok()
    })
}
