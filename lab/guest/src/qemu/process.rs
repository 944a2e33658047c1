//! The QEMU process: start, supervision, end.

use super::monitor::{MonitorError, QemuMonitor};
use super::options::{QemuOptions, module_folder};
use super::patience::{ProgressTimeout, processor_time};
use crate::error::{Error, tail};
use crate::fetch::PackageTree;
use crate::progress::OutputSink;
use crate::wire::{PieceReader, WireError, WirePiece};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval at which the host checks for output of the guest, in the host's time: the guest does
/// not notice.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// Interval at which the host checks that QEMU makes progress, while QEMU reports nothing.
const LOOK_AFTER: Duration = Duration::from_secs(2);
/// Time for which QEMU may make no progress, in real time. The duration of booting, saving and
/// restoring depends on the size of the guest, on the disk and on the host's other load.
pub(crate) const STALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Limits of a guest's output and of its console: a guest that exceeds one is ended, because it
/// would fill the disk.
const MAX_OUTPUT: u64 = 8 << 30;
const MAX_CONSOLE: u64 = 256 << 20;

/// The way in which a machine ended.
#[derive(Debug)]
pub(crate) enum ProcessEnd {
    /// The machine ended on its own.
    Off(ExitStatus),
    /// The machine's time was over.
    Timeout,
    /// The lab was stopped.
    Stopped,
    /// The output cannot be parsed.
    Garbled(WireError),
    /// The output exceeded this limit, in bytes.
    TooMuchOutput(u64),
    /// The console's output exceeded this limit, in bytes.
    TooMuchConsole(u64),
}

/// A running machine. It is killed when this is dropped.
pub(crate) struct QemuProcess {
    child: Child,
    monitor: Option<QemuMonitor>,
    greeted: bool,
    words: PathBuf,
    output: PathBuf,
    console: PathBuf,
}

impl QemuProcess {
    /// Starts QEMU out of its tree. Only the calling thread may end it: see `exit-with-parent`.
    pub(crate) fn start(
        tree: &PackageTree,
        options: &QemuOptions<'_>,
        words: &Path,
    ) -> Result<Self, Error> {
        let mut command = tree
            .command("qemu-system-x86_64")
            .ok_or_else(|| Error::Incomplete {
                what: "qemu-system-x86_64",
                folder: tree.root().to_path_buf(),
            })?;
        // Both files must exist before the host reads them.
        for path in [options.output, options.console] {
            File::create(path).map_err(Error::file("create", path))?;
        }
        let log = File::create(words).map_err(Error::file("create", words))?;
        let mut child = command
            .args(options.arguments(tree))
            .env_clear()
            .env("QEMU_MODULE_DIR", module_folder(tree))
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Ctrl-C must reach only this process, which decides what happens to the guest.
            .process_group(0)
            .spawn()
            .map_err(Error::file("run QEMU in", tree.root()))?;
        let monitor = child
            .stdin
            .take()
            .zip(child.stdout.take())
            .map(|(to, from)| QemuMonitor::new(to, from));
        Ok(Self {
            child,
            monitor,
            greeted: false,
            words: words.to_path_buf(),
            output: options.output.to_path_buf(),
            console: options.console.to_path_buf(),
        })
    }

    fn monitor(&mut self, deadline: Instant) -> Result<&mut QemuMonitor, MonitorError> {
        let monitor = self.monitor.as_mut().ok_or(MonitorError::Absent)?;
        if !self.greeted {
            monitor.greet(deadline)?;
            self.greeted = true;
        }
        Ok(monitor)
    }

    /// Makes QEMU's main loop yield to the thread of the guest's processor, if both run on the same
    /// processor of the host.
    pub(crate) fn processor_first(&mut self, deadline: Instant) -> Result<(), MonitorError> {
        // Once QEMU greets, both threads exist; threads that start earlier are in the main loop's
        // class.
        self.monitor(deadline)?;
        // If this is not allowed, the guest stops as usual less often, and is started again.
        let _ = linux::schedule::last_in_line(self.child.id());
        Ok(())
    }

    /// Waits until the guest stops itself: by the agent's write to the panic device, which stops
    /// the machine at that very instruction. A command from the host would stop it at an arbitrary
    /// point.
    ///
    /// QEMU may use `most` of the host's processor time, however long that takes on a host with
    /// other load.
    pub(crate) fn stops(&mut self, most: Duration) -> Result<(), MonitorError> {
        let process = self.child.id();
        let mut patience = ProgressTimeout::new(STALL_TIMEOUT, Instant::now());
        let begin = processor_time(process).unwrap_or_default();
        loop {
            let soon = Instant::now() + LOOK_AFTER;
            match self.monitor(soon)?.event(&["GUEST_PANICKED"], soon) {
                Err(MonitorError::Timeout) => {
                    let used = processor_time(process).map(|time| time.saturating_sub(begin));
                    let whole = used.map(|used| used.as_secs());
                    if used.is_some_and(|used| used >= most)
                        || patience.is_over(whole, Instant::now())
                    {
                        return Err(MonitorError::Timeout);
                    }
                }
                message => return message.map(|_| ()),
            }
        }
    }

    /// Saves the whole machine, which has stopped itself, into a file.
    ///
    /// There is no time limit, unless nothing more is written for [`STALL_TIMEOUT`].
    pub(crate) fn save(&mut self, file: &Path) -> Result<(), MonitorError> {
        let deadline = Instant::now() + STALL_TIMEOUT;
        let monitor = self.monitor(deadline)?;
        let on = json!({ "capabilities": [{ "capability": "events", "state": true }] });
        monitor.command("migrate-set-capabilities", &on, deadline)?;
        // No limit of the bandwidth other than the disk's.
        let fast = json!({ "max-bandwidth": 0 });
        monitor.command("migrate-set-parameters", &fast, deadline)?;
        let to = json!({ "uri": format!("file:{}", file.display()) });
        monitor.command("migrate", &to, deadline)?;
        let mut patience = ProgressTimeout::new(STALL_TIMEOUT, Instant::now());
        loop {
            let event = match monitor.event(&["MIGRATION"], Instant::now() + LOOK_AFTER) {
                Err(MonitorError::Timeout) => {
                    let written = std::fs::metadata(file).map(|about| about.len()).ok();
                    if patience.is_over(written, Instant::now()) {
                        return Err(MonitorError::Timeout);
                    }
                    continue;
                }
                message => message?,
            };
            match event.pointer("/data/status").and_then(Value::as_str) {
                Some("completed") => return Ok(()),
                Some("failed") => {
                    let status = monitor.command("query-migrate", &json!({}), deadline)?;
                    let words = status.get("error-desc").and_then(Value::as_str);
                    let reason = words.unwrap_or("no reason").to_owned();
                    return Err(MonitorError::NotSaved { reason });
                }
                _ => {}
            }
        }
    }

    /// Continues a machine in virtual time that was saved, and returns whether it had stopped as it
    /// usually does, which the guest itself reports. Otherwise the state differs from the usual one
    /// and cannot be used.
    pub(crate) fn was_usual(&mut self) -> Result<bool, MonitorError> {
        let deadline = Instant::now() + STALL_TIMEOUT;
        let monitor = self.monitor(deadline)?;
        // The event for the end of saving comes shortly before QEMU has finished it.
        while let Err(error) = monitor.command("cont", &json!({}), deadline) {
            if Instant::now() >= deadline {
                return Err(error);
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
        let message = monitor.event(&["GUEST_CRASHLOADED", "GUEST_PANICKED"], deadline)?;
        Ok(message.get("event").and_then(Value::as_str) == Some("GUEST_CRASHLOADED"))
    }

    /// Restores a saved machine and continues it.
    ///
    /// There is no time limit, unless QEMU does nothing for [`STALL_TIMEOUT`].
    pub(crate) fn resume(&mut self, file: &Path) -> Result<(), MonitorError> {
        self.restore(file)?;
        self.go_on()
    }

    /// Continues a machine that is restored.
    pub(crate) fn go_on(&mut self) -> Result<(), MonitorError> {
        let deadline = Instant::now() + STALL_TIMEOUT;
        let monitor = self.monitor(deadline)?;
        monitor.command("cont", &json!({}), deadline).map(|_| ())
    }

    /// Restores a saved machine, which then does not run yet.
    pub(crate) fn restore(&mut self, file: &Path) -> Result<(), MonitorError> {
        let process = self.child.id();
        let deadline = Instant::now() + STALL_TIMEOUT;
        let monitor = self.monitor(deadline)?;
        // A machine that was migrated announces itself on its networks, by the host's clock: this
        // would interrupt the guest's other card at a random moment.
        let silent = json!({ "announce-rounds": 0 });
        monitor.command("migrate-set-parameters", &silent, deadline)?;
        let from = json!({ "uri": format!("file:{}", file.display()) });
        monitor.command("migrate-incoming", &from, deadline)?;
        let mut patience = ProgressTimeout::new(STALL_TIMEOUT, Instant::now());
        loop {
            // Until the state is loaded, QEMU's status is `inmigrate`.
            let deadline = Instant::now() + STALL_TIMEOUT;
            let status = monitor.command("query-status", &json!({}), deadline)?;
            match status.get("status").and_then(Value::as_str) {
                Some("inmigrate" | "finish-migrate") => std::thread::sleep(CHECK_INTERVAL),
                _ => break,
            }
            let used = processor_time(process).map(|time| time.as_secs());
            if patience.is_over(used, Instant::now()) {
                return Err(MonitorError::Timeout);
            }
        }
        Ok(())
    }

    /// Returns the error messages of QEMU itself.
    pub(crate) fn complaints(&self) -> String {
        let text = std::fs::read(&self.words).unwrap_or_default();
        tail(&text, 10, 4000)
    }

    /// Follows the guest to its end, and passes every piece of its output to `piece`.
    pub(crate) fn follow(
        &mut self,
        deadline: Instant,
        stop: &[&AtomicBool],
        mut piece: impl FnMut(WirePiece),
    ) -> Result<ProcessEnd, Error> {
        let mut file = File::open(&self.output).map_err(Error::file("read", &self.output))?;
        let mut reader = PieceReader::default();
        let mut buffer = vec![0; 1 << 16];
        let mut total = 0;
        loop {
            // Check for the end first, then read: output that was written before the end is not
            // missed.
            let ended = self
                .child
                .try_wait()
                .map_err(Error::file("wait for", Path::new("QEMU")))?;
            loop {
                let count = file
                    .read(&mut buffer)
                    .map_err(Error::file("read", &self.output))?;
                if count == 0 {
                    break;
                }
                total += count as u64;
                reader.push(&buffer[..count]);
                loop {
                    match reader.next() {
                        Ok(Some(it)) => piece(it),
                        Ok(None) => break,
                        Err(error) => return Ok(ProcessEnd::Garbled(error)),
                    }
                }
            }
            if let Some(status) = ended {
                return Ok(ProcessEnd::Off(status));
            }
            if stop.iter().any(|flag| flag.load(Ordering::SeqCst)) {
                return Ok(ProcessEnd::Stopped);
            }
            if Instant::now() >= deadline {
                return Ok(ProcessEnd::Timeout);
            }
            if total > MAX_OUTPUT {
                return Ok(ProcessEnd::TooMuchOutput(MAX_OUTPUT));
            }
            if std::fs::metadata(&self.console).is_ok_and(|meta| meta.len() > MAX_CONSOLE) {
                return Ok(ProcessEnd::TooMuchConsole(MAX_CONSOLE));
            }
            std::thread::sleep(CHECK_INTERVAL);
        }
    }
}

impl Drop for QemuProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Passes a piece of output on to the user; returns a piece that is for the lab itself.
pub(crate) fn pass_on(piece: WirePiece, sink: &mut dyn OutputSink) -> Option<WirePiece> {
    match piece {
        WirePiece::Stdout(bytes) => sink.stdout(&bytes),
        WirePiece::Stderr(bytes) => sink.stderr(&bytes),
        other => return Some(other),
    }
    None
}
