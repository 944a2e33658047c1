//! The image without a gateway, built once.

use crate::lock;
use crate::sources::{self, SOURCES};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machine that an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageTarget {
    /// A PC.
    Pc,
    /// A Cortex-M4: an image with a gateway of its own, which shows that the core fits.
    CortexM4,
}

impl ImageTarget {
    /// Returns the compiler's name for the machine.
    const fn target(self) -> &'static str {
        match self {
            Self::Pc => "x86_64-unknown-none",
            Self::CortexM4 => "thumbv7em-none-eabi",
        }
    }

    /// Returns the compiler's flags. An image for a PC is at a fixed address below 2 GiB, for which
    /// the compiler has short instructions.
    const fn flags(self) -> &'static str {
        match self {
            Self::Pc => "-C relocation-model=static -C code-model=small",
            Self::CortexM4 => "",
        }
    }

    /// Returns the goal of optimization: time, or size.
    const fn optimize(self) -> &'static str {
        match self {
            Self::Pc => "3",
            Self::CortexM4 => "s",
        }
    }
}

/// Number of lines of the compiler's messages that are shown.
const LINES: usize = 12;

/// An image without a gateway.
#[derive(Clone, Debug)]
pub struct ImageTemplate {
    /// The path of its file.
    pub path: PathBuf,
    /// A hash of its sources and compiler. Images with the same hash are the same.
    pub hash: String,
}

/// The reason why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// There is no compiler.
    #[error(
        "an image is built with cargo, which is missing: install Rust (https://rustup.rs), then \
         `rustup target add {0}`"
    )]
    NoCargo(&'static str),
    /// The compiler cannot compile for a machine without an operating system.
    #[error(
        "an image is built for {0}, and this Rust has no library for it: `rustup target add {0}`"
    )]
    NoTarget(&'static str),
    /// The image does not compile: a library could not be fetched, or the compiler is too old.
    #[error("the image cannot be built ({}); the compiler reports:\n{message}", version.as_deref().unwrap_or("cargo"))]
    Build {
        /// The compiler's version.
        version: Option<String>,
        /// The end of the compiler's messages.
        message: String,
    },
    /// Cargo wants other versions of libraries than those that were tested.
    #[error(
        "the image is built with the libraries of cangate's own lock file only, and cargo needs others: {0}"
    )]
    Unpinned(String),
    /// A file could not be read or written.
    #[error("cannot {verb} {}", path.display())]
    File {
        /// `write`, …
        verb: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

fn file<'a>(verb: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> TemplateError + 'a {
    move |source| TemplateError::File {
        verb,
        path: path.to_owned(),
        source,
    }
}

/// Returns the output of the command; `None` if there is no such program.
fn read_output(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim().to_owned())
}

/// Returns the image of this version of cangate, built with the user's cargo unless it is in
/// `folder` already. `begin` is called before an operation that takes long.
///
/// # Errors
/// [`TemplateError`]: the missing part, and what to install.
pub fn template(
    machine: ImageTarget,
    folder: &Path,
    begin: &dyn Fn(),
) -> Result<ImageTemplate, TemplateError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = read_output(Command::new(&rustc).arg("-vV"));
    let hash = hash(machine, version.as_deref());
    let path = folder.join(format!("{hash}.elf"));
    let found = |path: PathBuf| ImageTemplate {
        path,
        hash: hash.clone(),
    };
    if path.exists() {
        return Ok(found(path));
    }
    compiler(machine, &cargo, &rustc)?;
    fs::create_dir_all(folder).map_err(file("create the folder", folder))?;
    // The first process builds the image for all others.
    let lock = folder.join("lock");
    let held = File::create(&lock).map_err(file("create", &lock))?;
    flock(&held, FlockOperation::LockExclusive)
        .map_err(io::Error::from)
        .map_err(file("lock", &lock))?;
    if path.exists() {
        return Ok(found(path));
    }
    begin();
    let work = folder.join(format!("{hash}.build"));
    let _ = fs::remove_dir_all(&work);
    let built = build(machine, &cargo, &work, version.as_deref())?;
    let whole = folder.join(format!("{hash}.new"));
    fs::copy(&built, &whole).map_err(file("write", &whole))?;
    fs::rename(&whole, &path).map_err(file("write", &path))?;
    // The image is complete; the files from its build take a hundred times its space.
    let _ = fs::remove_dir_all(&work);
    Ok(found(path))
}

/// Checks whether the image is available, because it is in `folder` or the compiler for it is
/// installed. For callers that will need it later.
///
/// # Errors
/// [`TemplateError`]: the missing part, and what to install.
pub fn check(machine: ImageTarget, folder: &Path) -> Result<(), TemplateError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = read_output(Command::new(&rustc).arg("-vV"));
    if folder
        .join(format!("{}.elf", hash(machine, version.as_deref())))
        .exists()
    {
        return Ok(());
    }
    compiler(machine, &cargo, &rustc)
}

/// Checks for the programs and the library that an image is compiled with.
fn compiler(machine: ImageTarget, cargo: &OsStr, rustc: &OsStr) -> Result<(), TemplateError> {
    let target = machine.target();
    let version = |program| read_output(Command::new(program).arg("--version"));
    if version(rustc).is_none() || version(cargo).is_none() {
        return Err(TemplateError::NoCargo(target));
    }
    let library = ["--print", "target-libdir", "--target", target];
    let library = read_output(Command::new(rustc).args(library));
    if !library.is_some_and(|path| Path::new(&path).exists()) {
        return Err(TemplateError::NoTarget(target));
    }
    Ok(())
}

fn hash(machine: ImageTarget, version: Option<&str>) -> String {
    // Distinguishes files of one user: not secure against attacks.
    let mut hasher = DefaultHasher::new();
    (SOURCES, version, machine, machine.flags()).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Removes the packages that an image does not need from the lock file. Only cargo can determine
/// them; all packages that remain are the tested versions. Cargo fetches libraries for this and
/// compiles none.
fn pin(cargo: &OsStr, work: &Path, version: Option<&str>) -> Result<(), TemplateError> {
    let path = work.join("Cargo.lock");
    let before = fs::read_to_string(&path).map_err(file("read", &path))?;
    let mut command = Command::new(cargo);
    command.current_dir(work).args(["fetch", "--quiet"]);
    let output = command.output().map_err(file("run cargo in", work))?;
    if !output.status.success() {
        return Err(failed(&output.stderr, version));
    }
    let after = fs::read_to_string(&path).map_err(file("read", &path))?;
    let unknown = lock::unknown(&after, &before);
    if unknown.is_empty() {
        return Ok(());
    }
    Err(TemplateError::Unpinned(unknown.join(", ")))
}

fn failed(message: &[u8], version: Option<&str>) -> TemplateError {
    let text = String::from_utf8_lossy(message);
    let lines: Vec<_> = text.lines().collect();
    let last = lines.len().saturating_sub(LINES);
    TemplateError::Build {
        version: version.and_then(|v| v.lines().next().map(str::to_owned)),
        message: lines.get(last..).unwrap_or_default().join("\n"),
    }
}

fn build(
    machine: ImageTarget,
    cargo: &OsStr,
    work: &Path,
    version: Option<&str>,
) -> Result<PathBuf, TemplateError> {
    sources::write(work).map_err(file("write", work))?;
    pin(cargo, work, version)?;
    let target = work.join("target");
    let mut command = Command::new(cargo);
    command
        .current_dir(work)
        // The tested versions of libraries, or none.
        .args(["build", "--locked", "--release", "-p", "cangate-baremetal"])
        .args(["--bin", "cangate-image", "--target", machine.target()])
        .env("CARGO_TARGET_DIR", &target)
        .env(
            "CARGO_TARGET_X86_64_UNKNOWN_NONE_RUSTFLAGS",
            machine.flags(),
        )
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", machine.optimize())
        // Settings that are meant for programs of this machine.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET");
    let output = command.output().map_err(file("run cargo in", work))?;
    if !output.status.success() {
        return Err(failed(&output.stderr, version));
    }
    Ok(target
        .join(machine.target())
        .join("release")
        .join("cangate-image"))
}
