//! The lab: set up, and asked to run guests.

use crate::agent::{self, Delivery, Orders};
use crate::cache::Cache;
use crate::error::Error;
use crate::experiment::{Experiment, Load, TrafficKind};
use crate::fetch::{self, Tree};
use crate::image;
use crate::kernels::Kernel;
use crate::kmod;
use crate::machine::{Bench, Job, Outcome, Spec, Time};
use crate::measure;
use crate::own;
use crate::progress::{Progress, Sink};
use crate::qemu::{self, End, Options, Process, Trouble, pass_on};
use crate::snapshot;
use crate::trees::{self, KernelTree};
use crate::wire::Piece;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long reading in a saved guest may take, in real time.
const RESTORE: Duration = Duration::from_secs(120);

/// Where the lab keeps things and where it fetches them.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The cache folder; else `$CANGATE_LAB`, else `cangate/lab` in `$XDG_CACHE_HOME` or `~/.cache`.
    pub cache: Option<PathBuf>,
    /// The Debian mirror; else `$CANGATE_MIRROR`, else that of the host's own apt.
    pub mirror: Option<String>,
}

/// The lab. Guests can be run from several threads at once.
#[derive(Debug)]
pub struct Lab {
    cache: Cache,
    mirror: Option<String>,
    stopped: AtomicBool,
}

impl Lab {
    /// Opens the lab's folder; nothing is fetched yet.
    ///
    /// # Errors
    ///
    /// The folder cannot be made, or nobody says where it is to be.
    pub fn open(place: &Place) -> Result<Self, Error> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return Err(Error::Asked(
                "guests run this very program, and have an x86-64 with Linux: \
                 the lab needs such a host"
                    .to_owned(),
            ));
        }
        let mirror = place.mirror.clone().or_else(|| {
            std::env::var("CANGATE_MIRROR")
                .ok()
                .filter(|uri| !uri.is_empty())
        });
        Ok(Self {
            cache: Cache::open(place.cache.as_deref())?,
            mirror,
            stopped: AtomicBool::new(false),
        })
    }

    /// Ends all guests that run, whose [`Outcome::failure`] says so, and starts none any more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// The cache folder.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.cache.path("")
    }

    /// Whether guests with this kernel can run without fetching anything.
    #[must_use]
    pub fn is_set_up(&self, kernel: Kernel) -> bool {
        trees::names(kernel)
            .iter()
            .all(|name| self.cache.finished(name).is_some())
    }

    /// Fetches what guests with these kernels need and is not there yet.
    ///
    /// # Errors
    ///
    /// A tool is missing, a download fails, the disk is full; the next call goes on from there.
    pub fn setup(&self, kernels: &[Kernel], progress: &dyn Progress) -> Result<(), Error> {
        self.qemu(progress)?;
        self.guest(progress)?;
        for kernel in kernels {
            self.kernel(*kernel, progress)?;
        }
        Ok(())
    }

    fn qemu(&self, progress: &dyn Progress) -> Result<Tree, Error> {
        trees::qemu(&self.cache, self.mirror.as_deref(), progress)
    }

    fn guest(&self, progress: &dyn Progress) -> Result<Tree, Error> {
        trees::guest(&self.cache, self.mirror.as_deref(), progress)
    }

    fn kernel(&self, kernel: Kernel, progress: &dyn Progress) -> Result<KernelTree, Error> {
        trees::kernel(&self.cache, self.mirror.as_deref(), progress, kernel)
    }

    /// The modules of our own that a bench needs.
    fn modules(
        &self,
        kernel: Kernel,
        tree: &KernelTree,
        bench: Bench,
        progress: &dyn Progress,
    ) -> Result<Vec<PathBuf>, Error> {
        if bench != Bench::Timed {
            return Ok(Vec::new());
        }
        let module = kmod::bitcan(&self.cache, self.mirror.as_deref(), progress, kernel, tree)?;
        Ok(vec![module])
    }

    /// What a guest with this kernel is made of, as [`Outcome::versions`] begins: package by
    /// package, and as `agent` a hash of the program that is the agent. Guests with the same
    /// versions give the same results.
    ///
    /// # Errors
    ///
    /// As [`Self::setup`], which it does where something is missing.
    pub fn versions(
        &self,
        kernel: Kernel,
        progress: &dyn Progress,
    ) -> Result<Vec<(String, String)>, Error> {
        let qemu = self.qemu(progress)?;
        let guest = self.guest(progress)?;
        let tree = self.kernel(kernel, progress)?;
        versions(&qemu, &guest, &tree)
    }

    /// Runs a guest to its end, with what it prints given to `sink` as it comes.
    ///
    /// A guest that goes wrong is no error: [`Outcome::failure`] says so.
    ///
    /// # Errors
    ///
    /// It cannot be set up, or what is asked for makes no sense.
    pub fn run(
        &self,
        spec: &Spec,
        progress: &dyn Progress,
        sink: &mut dyn Sink,
    ) -> Result<Outcome, Error> {
        let kernel: Kernel = spec.kernel.parse()?;
        check(spec)?;
        let qemu = self.qemu(progress)?;
        let guest = self.guest(progress)?;
        let tree = self.kernel(kernel, progress)?;
        let modules = self.modules(kernel, &tree, spec.bench, progress)?;
        let hash = snapshot::image_hash(&[&guest, &tree.tree], &modules, &spec.files)?;
        let image = snapshot::image(&self.cache, &hash, progress, |path| {
            let parts = image::Parts {
                guest: &guest,
                kernel: &tree,
                modules: &modules,
                agent: &own::program()?.path,
                files: &spec.files,
            };
            image::write(&parts, path)
        })?;
        check_memory(spec, &image)?;
        let folder = self.cache.run_folder()?;
        let job = folder.path("job");

        // Only virtual time can be stopped and go on as if nothing had been. An image with files
        // in it is hardly booted twice.
        let saved = matches!(spec.time, Time::Virtual { .. }) && spec.files.is_empty();
        let (vmlinuz, console, output) = (
            tree.vmlinuz(),
            folder.path("console"),
            folder.path("output"),
        );
        // The agent's, and the kernel's own.
        let words = |pause| [Orders::of(spec, pause).words(), spec.boot.clone()].concat();
        let mut options = Options {
            kernel: &vmlinuz,
            image: &image,
            console: &console,
            output: &output,
            job: &job,
            bench: spec.bench,
            ethernet: spec.ethernet,
            time: spec.time,
            memory: spec.memory,
            trace: None,
            restore: None,
            words: words(saved),
        };
        let state = if saved {
            self.saved(&qemu, &options, &hash, &spec.job, progress)?
        } else {
            None
        };
        options.restore = state.as_deref();
        if state.is_none() {
            options.words = words(false);
        }
        deliver(&job, &Delivery::Job(spec.job.clone()))?;
        // Only now: what is saved is the same machine with and without.
        let trace = folder.path("trace");
        options.trace = spec.trace_registers.then_some(trace.as_path());
        let mut outcome = Outcome {
            versions: versions(&qemu, &guest, &tree)?,
            ..Outcome::default()
        };
        progress.stage(&format!("guest with kernel {kernel}"));
        let mut process = Process::start(&qemu, &options, &folder.path("qemu"))?;
        if let Some(file) = &state {
            let deadline = Instant::now() + RESTORE;
            if let Err(words) = process.resume(file, deadline) {
                let complaints = process.complaints();
                outcome.failure = Some(format!(
                    "the saved guest does not go on: {words}\n{complaints}"
                ));
                return Ok(outcome);
            }
        }
        let mut bases = Vec::new();
        let end = self.follow(&mut process, spec, sink, &mut outcome, &mut bases)?;
        outcome.console = qemu::end_of(&console);
        judge(&mut outcome, &end, spec, &process.complaints());
        // QEMU is gone and its record complete.
        drop(process);
        if options.trace.is_some() {
            outcome.accesses = qemu::accesses(&trace, &bases)?;
        }
        Ok(outcome)
    }

    /// The saved guest that a job can start from: the one that has booted, or, where an experiment
    /// takes long to prepare, one that is prepared for it too.
    fn saved(
        &self,
        qemu: &Tree,
        options: &Options<'_>,
        image_hash: &str,
        job: &Job,
        progress: &dyn Progress,
    ) -> Result<Option<PathBuf>, Error> {
        let what = "booting the guest that others start from";
        deliver(options.job, &Delivery::Job(job.clone()))?;
        let Some(booted) =
            snapshot::state(&self.cache, qemu, options, &[image_hash], what, progress)?
        else {
            return Ok(None);
        };
        let Job::Measure { experiment } = job else {
            return Ok(Some(booted.file));
        };
        let Some(model) = model(experiment) else {
            return Ok(Some(booted.file));
        };
        let text = serde_json::to_string(&model).unwrap_or_default();
        let experiment = Box::new(model);
        deliver(options.job, &Delivery::Prepare { experiment })?;
        let options = Options {
            restore: Some(&booted.file),
            words: options.words.clone(),
            ..*options
        };
        let what = "preparing the guest that others start from";
        let from = [booted.key.as_str(), &text];
        let prepared = snapshot::state(&self.cache, qemu, &options, &from, what, progress)?;
        // Where preparing fails, so it will for the job, which can say why.
        Ok(Some(prepared.map_or(booted.file, |saved| saved.file)))
    }

    /// Takes in what the guest hands out.
    fn follow(
        &self,
        process: &mut Process,
        spec: &Spec,
        sink: &mut dyn Sink,
        outcome: &mut Outcome,
        bases: &mut Vec<u64>,
    ) -> Result<End, Error> {
        let deadline = Instant::now()
            .checked_add(spec.timeout)
            .ok_or_else(|| Error::Asked("so long a timeout cannot be kept".to_owned()))?;
        process.follow(deadline, &self.stopped, |piece| {
            match pass_on(piece, sink) {
                Some(Piece::Ready(text)) => {
                    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
                        if name.starts_with(agent::REGISTERS) {
                            let digits = value.trim_start_matches("0x");
                            bases.extend(u64::from_str_radix(digits, 16));
                            continue;
                        }
                        outcome.versions.push((name.to_owned(), value.to_owned()));
                    }
                }
                Some(Piece::File(name)) => outcome.outputs.push((name, Vec::new())),
                Some(Piece::Part(bytes)) => {
                    if let Some((_, file)) = outcome.outputs.last_mut() {
                        file.extend_from_slice(&bytes);
                    }
                }
                Some(Piece::Status(status)) => outcome.status = Some(status),
                Some(Piece::Failed(words)) => outcome.failure = Some(words),
                Some(Piece::Stdout(_) | Piece::Stderr(_)) | None => {}
            }
        })
    }
}

/// The experiment that a guest is prepared with for this one and others: what does not enter the
/// preparation is set to the same for all, so that the prepared guest is the same whichever came
/// first. `None` if no preparation is worth it.
fn model(experiment: &Experiment) -> Option<Experiment> {
    let text = measure::preparation(experiment)?;
    // Above 8 bytes routes are those of FD frames.
    let plain = [2, experiment.payload].map(|payload| Experiment {
        traffic: TrafficKind::OneAtATime,
        load: Load::None,
        frames: 1,
        payload,
        seed: 0,
        stamp_every: 1,
        ..experiment.clone()
    });
    let same = |plain: &Experiment| measure::preparation(plain).as_ref() == Some(&text);
    if let Some(plain) = plain.into_iter().find(same) {
        return Some(plain);
    }
    Some(experiment.clone())
}

/// Leaves something for the agent to find.
fn deliver(path: &Path, delivery: &Delivery) -> Result<(), Error> {
    let text = serde_json::to_vec(delivery)
        .map_err(|error| Error::Asked(format!("the job cannot be written down: {error}")))?;
    fs::write(path, text).map_err(Error::file("write", path))
}

/// Refuses what makes no sense before anything is fetched for it.
fn check(spec: &Spec) -> Result<(), Error> {
    let refuse = |words: String| Err(Error::Asked(words));
    if !(64..=1 << 20).contains(&spec.memory) {
        return refuse(format!(
            "a guest cannot have {} MiB of memory; at least 64",
            spec.memory
        ));
    }
    match spec.time {
        Time::Virtual { shift } if shift > 10 => refuse(format!(
            "an instruction cannot take 2^{shift} ns; the shift is 0 to 10"
        )),
        Time::Fast { cpus } if !(1..=255).contains(&cpus) => {
            refuse(format!("a guest cannot have {cpus} processors; 1 to 255"))
        }
        _ if spec.trace_registers && spec.bench != Bench::Kvaser => {
            refuse("only the kvaser bench has cards whose registers could be watched".to_owned())
        }
        _ => Ok(()),
    }
}

/// A guest with too little memory for its image dies without a word.
fn check_memory(spec: &Spec, image: &Path) -> Result<(), Error> {
    /// What a kernel takes for itself before it comes to the image, MiB: 5.10 to 7.3 need 60 to 90.
    const KERNEL: u64 = 96;
    let size = fs::metadata(image)
        .map_err(Error::file("read", image))?
        .len();
    // The image lies in memory while it is unpacked, which fills as much again.
    let least = (size >> 20) * 2 + KERNEL;
    if u64::from(spec.memory) >= least {
        return Ok(());
    }
    Err(Error::Asked(format!(
        "{} MiB of memory are too little for a guest with an image of {} MiB; it takes {least}",
        spec.memory,
        size >> 20
    )))
}

fn versions(
    qemu: &Tree,
    guest: &Tree,
    kernel: &KernelTree,
) -> Result<Vec<(String, String)>, Error> {
    let mut all = vec![("agent".to_owned(), own::program()?.hash.clone())];
    let wanted = [
        (qemu, "qemu-system-x86"),
        (qemu, "seabios"),
        (guest, "can-utils"),
        (guest, "iproute2"),
        (guest, "rt-tests"),
        (guest, "libc6"),
    ];
    for (tree, name) in wanted {
        if let Some(package) = fetch::packages(tree)?.into_iter().find(|p| p.name == name) {
            all.push((package.name, package.version));
        }
    }
    for package in fetch::packages(&kernel.tree)? {
        all.push((package.name, package.version));
    }
    Ok(all)
}

/// Says what went wrong, if something did: what the agent said, else what the console says, else
/// how QEMU ended.
fn judge(outcome: &mut Outcome, end: &End, spec: &Spec, complaints: &str) {
    if outcome.failure.is_some() {
        return;
    }
    let trouble = qemu::trouble(&outcome.console);
    let more = format!("it had {} MiB", spec.memory);
    outcome.failure = match (end, trouble) {
        (_, Some(Trouble::NoMemory(who))) => Some(format!(
            "the guest ran out of memory: its kernel gave up {who}; {more}"
        )),
        (_, Some(Trouble::Panic(words))) => Some(format!("the guest's kernel panicked: {words}")),
        (End::Timeout, None) => Some(format!(
            "the guest gave no end within {} s and was given up",
            spec.timeout.as_secs_f64()
        )),
        (End::Stopped, None) => Some("the guest was ended because cangate ends".to_owned()),
        (End::Nonsense(words), None) => Some(words.clone()),
        (End::Off(status), None) if !status.success() => {
            Some(format!("QEMU failed ({status}): {complaints}"))
        }
        (End::Off(_), None) if outcome.status.is_none() => Some(
            "the guest switched itself off before its job was done; \
             the end of its console says more"
                .to_owned(),
        ),
        (End::Off(_), None) => None,
    };
}
