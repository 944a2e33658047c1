//! The run of a guest, from its description to its results.

use crate::agent::{BenchOrders, DeliveredFile, HostDelivery, PauseOrder, REGISTERS};
use crate::cache::RunFolder;
use crate::error::Error;
use crate::fetch::PackageTree;
use crate::image;
use crate::keyboard::GuestKeyboard;
use crate::lab::{Lab, versions};
use crate::linked::LinkedMachine;
use crate::machine::{BenchKind, GuestJob, GuestSpec, TimeMode};
use crate::outcome::{GuestFailure, GuestOutcome};
use crate::own::GuestPrograms;
use crate::progress::{OutputSink, ProgressReport};
use crate::qemu::{self, ConsoleTrouble, ProcessEnd, QemuOptions, QemuProcess, pass_on};
use crate::snapshot;
use crate::spec::SpecError;
use crate::trees::{BootableKernel, KernelTree};
use crate::wire::WirePiece;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

impl Lab {
    /// Runs a guest to its end, and passes its output to `sink` as it comes.
    ///
    /// A guest that fails is not an error: [`GuestOutcome::failure`] has the reason.
    ///
    /// # Errors
    ///
    /// The guest cannot be set up, or its description is not valid.
    pub fn run(
        &self,
        spec: &GuestSpec,
        progress: &dyn ProgressReport,
        sink: &mut dyn OutputSink,
    ) -> Result<GuestOutcome, Error> {
        self.run_with(spec, progress, sink, None)
    }

    /// Runs a guest with a [`GuestJob::Shell`] to its end. `begin` gets the keyboard of the shell,
    /// once the guest has booted.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn run_shell(
        &self,
        spec: &GuestSpec,
        progress: &dyn ProgressReport,
        sink: &mut dyn OutputSink,
        begin: &mut dyn FnMut(GuestKeyboard),
    ) -> Result<GuestOutcome, Error> {
        self.run_with(spec, progress, sink, Some(begin))
    }

    fn run_with(
        &self,
        spec: &GuestSpec,
        progress: &dyn ProgressReport,
        sink: &mut dyn OutputSink,
        begin: Option<&mut dyn FnMut(GuestKeyboard)>,
    ) -> Result<GuestOutcome, Error> {
        // An image with files of the caller's is rarely booted twice, and other processes do not
        // know that a machine continues a saved one.
        let alone = spec.virtio.is_empty() && spec.shm.is_empty();
        let pause = PauseOrder::for_time(spec.time).filter(|_| alone);
        let delivered = pause.and_then(|_| DeliveredFile::read_all(&spec.files));
        let pause = pause.filter(|_| delivered.is_some());
        let files = delivered.unwrap_or_default();
        let mut spec = spec.clone();
        if pause.is_some() {
            spec.files.clear();
        }
        let spec = &spec;
        let parts = self.parts(spec, progress)?;
        let input = begin.is_some().then(|| parts.folder.path("input"));
        let mut options = QemuOptions {
            input: input.as_deref(),
            virtio: &spec.virtio,
            shm: &spec.shm,
            ..parts.options(spec, pause)
        };
        let state = match pause {
            Some(_) => self.saved(&parts, &options, spec, progress)?,
            None => None,
        };
        options.restore = state.as_deref();
        if state.is_none() {
            options.words = words(spec, None);
        }
        let job = spec.job.clone();
        let delivery = match files.is_empty() {
            true => HostDelivery::Job(job),
            false => HostDelivery::WithFiles(files, job),
        };
        deliver(&parts.job, &delivery)?;
        // Set only now, because the saved machine is the same with and without a trace.
        let trace = parts.folder.path("trace");
        options.trace = spec.trace_registers.then_some(trace.as_path());
        let mut outcome = parts.outcome(self.programs()?)?;
        progress.job(&format!("guest with kernel {}", spec.kernel));
        let keyboard = input.as_deref().map(GuestKeyboard::new).transpose()?;
        let mut keyboard = keyboard.zip(begin);
        let mut process = QemuProcess::start(&parts.qemu, &options, &parts.folder.path("qemu"))?;
        if let Some(file) = &state
            && let Err(source) = process.resume(file)
        {
            let message = process.complaints();
            outcome.failure = Some(GuestFailure::NotResumed { source, message });
            return Ok(outcome);
        }
        let mut bases = Vec::new();
        let end = follow(
            &mut process,
            spec,
            &[&self.stopped],
            sink,
            &mut outcome,
            &mut bases,
            &mut || {
                if let Some((keyboard, begin)) = keyboard.take() {
                    begin(keyboard);
                }
            },
        )?;
        outcome.console = qemu::end_of(&parts.console);
        judge(&mut outcome, end, spec, process.complaints());
        // QEMU has ended, and its record is complete.
        drop(process);
        if options.trace.is_some() {
            outcome.accesses = qemu::accesses(&trace, &bases)?;
        }
        Ok(outcome)
    }

    /// Makes the parts of a guest that are missing.
    pub(crate) fn parts(
        &self,
        spec: &GuestSpec,
        progress: &dyn ProgressReport,
    ) -> Result<GuestParts, Error> {
        let kernel = spec.kernel;
        spec.check()?;
        let own = self.programs()?;
        let qemu = self.qemu(progress)?;
        let guest = self.guest(progress)?;
        let BootableKernel { tree, file: booted } = self.kernel(kernel, progress)?;
        let modules = self.modules(kernel, &tree, spec, progress)?;
        let halt = match spec.time {
            TimeMode::Virtual { .. } => Some(self.halt(kernel, progress)?),
            TimeMode::Real | TimeMode::Fast { .. } => None,
        };
        let inner = match spec.bench {
            BenchKind::Vm => Some(self.inner(&qemu, &guest, progress)?),
            _ => None,
        };
        let others = inner.as_ref().map(|inner| inner.hash.as_str());
        let trees = [&guest, &tree.tree];
        let hash = snapshot::image_hash(own, &trees, &modules, &spec.files, others)?;
        let image = snapshot::image(&self.cache, &hash, progress, |path| {
            let parts = image::ImageParts {
                guest: &guest,
                programs: image::PROGRAMS,
                kernel: Some(&tree),
                modules: &modules,
                own,
                files: &spec.files,
                others: inner.as_ref().map_or(&[], |inner| &inner.files),
            };
            image::write(&parts, path)
        })?;
        let size = fs::metadata(&image).map_err(Error::file("read", &image))?;
        spec.check_memory(size.len())?;
        let folder = self.cache.run_folder()?;
        Ok(GuestParts {
            console: folder.path("console"),
            output: folder.path("output"),
            job: folder.path("job"),
            folder,
            qemu,
            guest,
            tree,
            booted,
            image,
            hash,
            halt,
        })
    }

    /// Returns the saved guest from which a job can start: the one that has booted, or, for a job
    /// with a preparation, one that is prepared too.
    pub(crate) fn saved(
        &self,
        parts: &GuestParts,
        options: &QemuOptions<'_>,
        spec: &GuestSpec,
        progress: &dyn ProgressReport,
    ) -> Result<Option<PathBuf>, Error> {
        let what = "booting and saving the guest that others start from";
        deliver(options.job, &HostDelivery::Job(spec.job.clone()))?;
        let (qemu, from) = (&parts.qemu, [parts.hash.as_str()]);
        let Some(booted) = snapshot::state(&self.cache, qemu, options, &from, what, progress)?
        else {
            return Ok(None);
        };
        let (GuestJob::Task { .. }, Some(task)) = (&spec.job, &spec.prepare) else {
            return Ok(Some(booted.file));
        };
        let text = task.to_string();
        let task = task.clone();
        deliver(options.job, &HostDelivery::Prepare { task })?;
        let options = QemuOptions {
            restore: Some(&booted.file),
            words: options.words.clone(),
            ..*options
        };
        let what = "preparing the guest that others start from";
        let from = [booted.key.as_str(), &text];
        let prepared = snapshot::state(&self.cache, qemu, &options, &from, what, progress)?;
        // If preparing fails here, it will also fail for the job, which can report the reason.
        Ok(Some(prepared.map_or(booted.file, |saved| saved.file)))
    }
}

/// The parts of a guest that are made, and the files of its run.
#[derive(Debug)]
pub(crate) struct GuestParts {
    pub(crate) qemu: PackageTree,
    guest: PackageTree,
    tree: KernelTree,
    booted: PathBuf,
    image: PathBuf,
    hash: String,
    halt: Option<PathBuf>,
    pub(crate) folder: RunFolder,
    pub(crate) console: PathBuf,
    output: PathBuf,
    pub(crate) job: PathBuf,
}

impl GuestParts {
    /// Returns the options with which the guest boots.
    pub(crate) fn options(&self, spec: &GuestSpec, pause: Option<PauseOrder>) -> QemuOptions<'_> {
        let linked = spec.linked.as_ref();
        QemuOptions {
            kernel: &self.booted,
            image: &self.image,
            console: &self.console,
            output: &self.output,
            input: None,
            job: &self.job,
            bench: spec.bench,
            ethernet: spec.ethernet,
            time: spec.time,
            memory: spec.memory,
            trace: None,
            halt: self.halt.as_deref(),
            linked: linked.map(LinkedMachine::cards).unwrap_or_default(),
            lockstep: None,
            virtio: &[],
            shm: &[],
            restore: None,
            words: words(spec, pause),
        }
    }

    /// Returns an outcome that has the versions only.
    pub(crate) fn outcome(&self, own: &GuestPrograms) -> Result<GuestOutcome, Error> {
        Ok(GuestOutcome {
            versions: versions(own, &self.qemu, &self.guest, &self.tree)?,
            ..GuestOutcome::default()
        })
    }
}

/// Returns the agent's words on the kernel's command line, and those for the kernel.
fn words(spec: &GuestSpec, pause: Option<PauseOrder>) -> Vec<String> {
    let orders = BenchOrders::from_spec(spec, pause);
    [orders.words(), spec.boot.clone()].concat()
}

/// Reads the output of a guest, until its end or until one of the flags is set.
pub(crate) fn follow(
    process: &mut QemuProcess,
    spec: &GuestSpec,
    stop: &[&AtomicBool],
    sink: &mut dyn OutputSink,
    outcome: &mut GuestOutcome,
    bases: &mut Vec<u64>,
    listening: &mut dyn FnMut(),
) -> Result<ProcessEnd, Error> {
    let deadline = Instant::now()
        .checked_add(spec.timeout)
        .ok_or(SpecError::Timeout(spec.timeout))?;
    process.follow(deadline, stop, |piece| match pass_on(piece, sink) {
        Some(WirePiece::Ready(text)) => {
            for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
                if name.starts_with(REGISTERS) {
                    let digits = value.trim_start_matches("0x");
                    bases.extend(u64::from_str_radix(digits, 16));
                    continue;
                }
                outcome.versions.push((name.to_owned(), value.to_owned()));
            }
        }
        Some(WirePiece::File(name)) => outcome.outputs.push((name, Vec::new())),
        Some(WirePiece::Part(bytes)) => {
            if let Some((_, file)) = outcome.outputs.last_mut() {
                file.extend_from_slice(&bytes);
            }
        }
        Some(WirePiece::Status(status)) => outcome.status = Some(status),
        Some(WirePiece::Failed(message)) => {
            outcome.failure = Some(GuestFailure::Guest { message });
        }
        Some(WirePiece::Listening) => listening(),
        Some(WirePiece::Stdout(_) | WirePiece::Stderr(_)) | None => {}
    })
}

/// Leaves a delivery for the agent.
pub(crate) fn deliver(path: &Path, delivery: &HostDelivery) -> Result<(), Error> {
    let text = serde_json::to_vec(delivery).map_err(Error::Job)?;
    fs::write(path, text).map_err(Error::file("write", path))
}

/// Finds the reason for a failure, if there is one: the agent's message, else trouble that the
/// console shows, else QEMU's exit status.
pub(crate) fn judge(
    outcome: &mut GuestOutcome,
    end: ProcessEnd,
    spec: &GuestSpec,
    complaints: String,
) {
    if outcome.failure.is_some() {
        return;
    }
    outcome.failure = match (end, qemu::trouble(&outcome.console)) {
        (_, Some(ConsoleTrouble::NoMemory(victim))) => Some(GuestFailure::OutOfMemory {
            victim,
            memory: spec.memory,
        }),
        (_, Some(ConsoleTrouble::Panic(words))) => Some(GuestFailure::Panic(words)),
        (ProcessEnd::Timeout, None) => Some(GuestFailure::Timeout(spec.timeout)),
        (ProcessEnd::Stopped, None) => Some(GuestFailure::Stopped),
        (ProcessEnd::Garbled(error), None) => Some(GuestFailure::Output(error)),
        (ProcessEnd::TooMuchOutput(limit), None) => Some(GuestFailure::TooMuchOutput(limit)),
        (ProcessEnd::TooMuchConsole(limit), None) => Some(GuestFailure::TooMuchConsole(limit)),
        (ProcessEnd::Off(status), None) if !status.success() => Some(GuestFailure::Qemu {
            status,
            message: complaints,
        }),
        (ProcessEnd::Off(_), None) if outcome.status.is_none() => Some(GuestFailure::SwitchedOff),
        (ProcessEnd::Off(_), None) => None,
    };
}
