//! A Debian system on an emulated 64-bit ARM processor, with CAN cards: there the arm64 package is
//! installed and tested.
//!
//! The lab's own agent cannot run there (it is the program that runs on the host), so the first
//! process is a shell script, and the output of the guest's job comes by its console.

mod console;
mod image;
mod system;

pub use console::Arm64Outcome;

use crate::cache::RunFolder;
use crate::devices::CARDS;
use crate::error::Error;
use crate::fetch::PackageTree;
use crate::kernels::Kernel;
use crate::lab::Lab;
use crate::machine::GuestFile;
use crate::progress::ProgressReport;
use crate::qemu::{module_folder, quoted};
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::RootSystem;

/// The program of Debian's package `qemu-system-arm` for 64 bits.
const QEMU: &str = "qemu-system-aarch64";

/// The guest's memory in MiB. The image takes most of it for a moment: it is in memory both packed
/// and unpacked.
const MEMORY: u32 = 768;

/// A guest with a Cortex-A53, Debian 12 and its kernel 6.1, in virtual time: an instruction takes 2
/// ns.
///
/// It has the five CAN cards of the kvaser bench on two buses, each interface with the lab's name:
/// `can0`, `can1` and `gw0` are on the first bus, `can2` and `gw1` on the second. They are down.
/// Installed are dpkg with what it needs, busybox, can-utils, iproute2 and kmod.
#[derive(Clone, Debug)]
pub struct Arm64Guest {
    /// Files that are put into `/lab`, which is in the `PATH`. The libraries of programs are not
    /// added.
    pub files: Vec<GuestFile>,
    /// The guest's job: a script for `/bin/sh`, run by root. `section NAME` begins a part of its
    /// output, which [`Arm64Outcome::section`] returns. The guest ends when the script ends.
    pub script: String,
    /// Real time after which the guest is assumed to hang, and is ended.
    pub timeout: Duration,
}

impl Lab {
    /// Returns whether an arm64 guest can run without fetching anything.
    #[must_use]
    pub fn has_arm64(&self) -> bool {
        system::is_there(self)
    }

    /// Runs an arm64 guest until it ends or its time is over.
    ///
    /// # Errors
    ///
    /// A tool of the host is missing, a download fails, a path does not name a file, QEMU does not
    /// start. Errors inside the guest are in the outcome.
    pub fn run_arm64(
        &self,
        guest: &Arm64Guest,
        progress: &dyn ProgressReport,
    ) -> Result<Arm64Outcome, Error> {
        let qemu = self.qemu_arm(progress)?;
        let system = RootSystem::get(self, progress)?;
        let halt = self.halt(Kernel::USUAL, progress)?;
        let folder = self.cache.run_folder()?;
        let image = folder.path("image");
        image::write(&system, guest, &image)?;
        let mut command = qemu.command(QEMU).ok_or_else(|| Error::Incomplete {
            what: QEMU,
            folder: qemu.root().to_path_buf(),
        })?;
        command
            .args(arguments(&qemu, &system, &folder, &halt))
            .env_clear()
            .env("QEMU_MODULE_DIR", module_folder(&qemu));
        progress.stage("running an arm64 guest");
        let output = self.listen(&mut command, &folder, &[], guest.timeout)?;
        Ok(Arm64Outcome::new(&output.text))
    }
}

/// Returns QEMU's command line.
fn arguments(
    qemu: &PackageTree,
    system: &RootSystem,
    folder: &RunFolder,
    halt: &Path,
) -> Vec<String> {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut all: Vec<String> =
        "-nodefaults -no-user-config -display none -nic none -no-reboot -run-with exit-with-parent=on"
            .split(' ')
            .map(str::to_owned)
            .collect();
    let mut add = |option: &str, value: String| all.extend([option.to_owned(), value]);
    add("-L", text(qemu.root().join("usr/share/qemu")));
    add("-machine", "virt,gic-version=3".to_owned());
    add("-cpu", "cortex-a53".to_owned());
    add("-m", MEMORY.to_string());
    // The virtual time of the other guests: the run is the same each time, however busy the host
    // is.
    add("-accel", "tcg".to_owned());
    add("-smp", "1".to_owned());
    add("-icount", "shift=1,sleep=off".to_owned());
    add("-plugin", quoted(halt));
    add("-rtc", "base=2026-01-01T00:00:00,clock=vm".to_owned());
    add("-seed", "1".to_owned());
    add("-chardev", "stdio,id=serial,signal=off".to_owned());
    add("-serial", "chardev:serial".to_owned());
    for bus in ["b0", "b1"] {
        add("-object", format!("can-bus,id={bus}"));
    }
    for (_, slot, bus) in CARDS {
        add("-device", format!("kvaser_pci,canbus={bus},addr={slot:#x}"));
    }
    add("-kernel", text(system.vmlinuz()));
    add("-initrd", text(folder.path("image")));
    // No randomness and no self-tests; a panic ends the machine.
    let line = "console=ttyAMA0 quiet panic=-1 nokaslr norandmaps cryptomgr.notests net.ifnames=0 rdinit=/init";
    add("-append", line.to_owned());
    all
}
