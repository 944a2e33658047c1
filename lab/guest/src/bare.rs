//! A machine without an operating system: an image that runs on the bare machine, the files and
//! devices that it gets, and its output on the serial line.

use crate::cache::RunFolder;
use crate::error::Error;
use crate::fetch::PackageTree;
use crate::kernels::Kernel;
use crate::lab::Lab;
use crate::progress::ProgressReport;
use crate::qemu::{module_folder, quoted};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Interval at which the lab checks whether the machine has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// The processor of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareProcessor {
    /// A PC's.
    Pc,
    /// A Cortex-M4 without MMU, on a board that QEMU emulates (`mps2-an386`); its output comes by
    /// semihosting.
    CortexM4,
}

/// A machine.
#[derive(Clone, Debug)]
pub struct BareMachine {
    /// Its processor.
    pub processor: BareProcessor,
    /// The image's file, which QEMU starts by its PVH entry.
    pub image: Vec<u8>,
    /// A file that is passed along with the image; none if it is empty.
    pub module: Vec<u8>,
    /// The binary logarithm of an instruction's duration in ns.
    pub shift: u8,
    /// The machine's memory, MiB.
    pub memory: u32,
    /// QEMU's additional devices, each with its options, such as `kvaser_pci,canbus=b0`. QEMU's
    /// objects are in `objects`.
    pub devices: Vec<String>,
    /// QEMU's objects, such as the buses that `devices` refer to.
    pub objects: Vec<String>,
    /// Letters that are typed on the serial line: one each time that the machine has printed a line
    /// since the last letter.
    pub letters: Vec<u8>,
    /// Real time after which the machine is assumed to hang.
    pub timeout: Duration,
}

/// The result of a machine's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BareOutcome {
    /// All that came on the serial line.
    pub text: String,
    /// Whether the machine ended on its own, within its time.
    pub ended: bool,
}

/// Memory that is enough for a task with 100 000 frames, in MiB.
const MEMORY: u32 = 512;

impl BareMachine {
    /// Creates a machine that has no image and no devices yet.
    #[must_use]
    pub const fn new(shift: u8, timeout: Duration) -> Self {
        Self {
            processor: BareProcessor::Pc,
            image: Vec::new(),
            module: Vec::new(),
            shift,
            memory: MEMORY,
            devices: Vec::new(),
            objects: Vec::new(),
            letters: Vec::new(),
            timeout,
        }
    }

    fn arguments(&self, tree: &PackageTree, folder: &RunFolder, halt: &Path) -> Vec<String> {
        let path = |name| folder.path(name).to_string_lossy().into_owned();
        let mut all: Vec<String> =
            "-nodefaults -no-user-config -display none -vga none -nic none -no-reboot"
                .split(' ')
                .map(str::to_owned)
                .collect();
        let mut add = |option: &str, value: String| all.extend([option.to_owned(), value]);
        add("-run-with", "exit-with-parent=on".to_owned());
        for folder in ["usr/share/qemu", "usr/share/seabios"] {
            add(
                "-L",
                tree.root().join(folder).to_string_lossy().into_owned(),
            );
        }
        // The same virtual time as that of the guests of experiments.
        add("-accel", "tcg".to_owned());
        add("-smp", "1".to_owned());
        add("-icount", format!("shift={},sleep=off", self.shift));
        add("-plugin", quoted(halt));
        if self.processor == BareProcessor::Pc {
            add("-rtc", "base=2026-01-01T00:00:00,clock=vm".to_owned());
            add("-m", self.memory.to_string());
        }
        add("-seed", "1".to_owned());
        add("-chardev", "stdio,id=serial,signal=off".to_owned());
        match self.processor {
            BareProcessor::Pc => add("-serial", "chardev:serial".to_owned()),
            BareProcessor::CortexM4 => {
                add("-machine", "mps2-an386".to_owned());
                let semihosting = "enable=on,target=native,chardev=serial";
                add("-semihosting-config", semihosting.to_owned());
            }
        }
        for object in &self.objects {
            add("-object", object.clone());
        }
        for device in &self.devices {
            add("-device", device.clone());
        }
        add("-kernel", path("image"));
        if !self.module.is_empty() {
            add("-initrd", path("module"));
        }
        all
    }
}

impl Lab {
    /// Runs such a machine in virtual time, until it ends or its time is over.
    ///
    /// # Errors
    ///
    /// QEMU is not available, or does not start.
    pub fn run_bare(
        &self,
        bare: &BareMachine,
        progress: &dyn ProgressReport,
    ) -> Result<BareOutcome, Error> {
        let (tree, program) = match bare.processor {
            BareProcessor::Pc => (self.qemu(progress)?, "qemu-system-x86_64"),
            BareProcessor::CortexM4 => (self.qemu_arm(progress)?, "qemu-system-arm"),
        };
        let halt = self.halt(Kernel::USUAL, progress)?;
        let folder = self.cache.run_folder()?;
        for (name, bytes) in [("image", &bare.image), ("module", &bare.module)] {
            let path = folder.path(name);
            fs::write(&path, bytes).map_err(Error::file("write", &path))?;
        }
        let mut command = tree.command(program).ok_or_else(|| Error::Incomplete {
            what: program,
            folder: tree.root().to_path_buf(),
        })?;
        command
            .args(bare.arguments(&tree, &folder, &halt))
            .env_clear()
            .env("QEMU_MODULE_DIR", module_folder(&tree));
        self.listen(&mut command, &folder, &bare.letters, bare.timeout)
    }

    /// Runs QEMU to its end, or ends it after `timeout`, and returns its standard output, which is
    /// the machine's serial line. `letters` are typed there, see [`BareMachine::letters`].
    pub(crate) fn listen(
        &self,
        command: &mut Command,
        folder: &RunFolder,
        letters: &[u8],
        timeout: Duration,
    ) -> Result<BareOutcome, Error> {
        let output = folder.path("serial");
        let serial = File::create(&output).map_err(Error::file("create", &output))?;
        let complained = folder.path("complaints");
        let complaints = File::create(&complained).map_err(Error::file("create", &complained))?;
        let mut child = command
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(serial)
            .stderr(complaints)
            .process_group(0)
            .spawn()
            .map_err(Error::file("run QEMU in", &folder.path("")))?;
        let deadline = Instant::now() + timeout;
        let mut letters = letters.iter();
        let mut lines = 0;
        let ended = loop {
            let heard = fs::read(&output).unwrap_or_default();
            let now = heard.iter().filter(|&&byte| byte == b'\n').count();
            if now > lines
                && let (Some(letter), Some(line)) = (letters.next(), &mut child.stdin)
            {
                lines = now;
                // A machine that has ended reads no more; `try_wait` below notices its end.
                let _ = line.write_all(&[*letter]).and_then(|()| line.flush());
            }
            match child.try_wait() {
                Ok(Some(_)) => break true,
                Ok(None) => {}
                Err(_) => break false,
            }
            if Instant::now() >= deadline || self.stopped.load(Ordering::SeqCst) {
                break false;
            }
            std::thread::sleep(CHECK_INTERVAL);
        };
        if !ended {
            let _ = child.kill();
            let _ = child.wait();
        }
        let bytes = fs::read(&output).unwrap_or_default();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        // QEMU's own error messages, for example that a device does not exist.
        text.push_str(&fs::read_to_string(&complained).unwrap_or_default());
        Ok(BareOutcome { text, ended })
    }
}
