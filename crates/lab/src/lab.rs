//! The lab: set up, and asked to run guests.

use crate::agent::Orders;
use crate::cache::Cache;
use crate::error::Error;
use crate::fetch::{self, Tree};
use crate::image;
use crate::kernels::Kernel;
use crate::machine::{Bench, Outcome, Spec, Time};
use crate::own;
use crate::progress::{Progress, Sink};
use crate::qemu::{self, End, Options, Process, Trouble, pass_on};
use crate::trees::{self, KernelTree};
use crate::wire::Piece;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

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
        })
    }

    /// The cache folder.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.cache.path("")
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
        let program = own::program()?;
        let folder = self.cache.run_folder()?;
        progress.stage("putting the image together");
        let image = folder.path("image");
        let parts = image::Parts {
            guest: &guest,
            kernel: &tree,
            modules: &[],
            agent: &program.path,
            files: &spec.files,
        };
        image::write(&parts, &image)?;
        let job = folder.path("job");
        let text = serde_json::to_vec(&spec.job)
            .map_err(|error| Error::Asked(format!("the job cannot be written down: {error}")))?;
        fs::write(&job, text).map_err(Error::file("write", &job))?;

        progress.stage(&format!("guest with kernel {kernel}"));
        let options = Options {
            kernel: &tree.vmlinuz(),
            image: &image,
            console: &folder.path("console"),
            output: &folder.path("output"),
            job: &job,
            bench: spec.bench,
            ethernet: spec.ethernet,
            time: spec.time,
            memory: spec.memory,
            words: Orders::of(spec, false).words(),
        };
        let mut outcome = Outcome {
            versions: versions(&qemu, &guest, &tree)?,
            ..Outcome::default()
        };
        let mut process = Process::start(&qemu, &options, &[], &folder.path("qemu"))?;
        let end = follow(&mut process, spec, sink, &mut outcome)?;
        outcome.console = qemu::end_of(options.console);
        judge(&mut outcome, &end, spec, &process.complaints());
        Ok(outcome)
    }
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

/// Takes in what the guest hands out.
fn follow(
    process: &mut Process,
    spec: &Spec,
    sink: &mut dyn Sink,
    outcome: &mut Outcome,
) -> Result<End, Error> {
    let deadline = Instant::now()
        .checked_add(spec.timeout)
        .ok_or_else(|| Error::Asked("so long a timeout cannot be kept".to_owned()))?;
    process.follow(deadline, |piece| {
        match pass_on(piece, sink) {
            Some(Piece::Ready(text)) => {
                for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
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
        false
    })
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
