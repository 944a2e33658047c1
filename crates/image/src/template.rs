//! The image without a gateway, built once.

use crate::sources::{self, SOURCES};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The machine that images are for.
const TARGET: &str = "x86_64-unknown-none";
/// At a fixed address below 2 GiB, for which the compiler has short instructions.
const FLAGS: &str = "-C relocation-model=static -C code-model=small";
/// How much of what the compiler says is shown.
const LINES: usize = 12;

/// An image without a gateway.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its file.
    pub path: PathBuf,
    /// What it is made of: sources and compiler. Images with the same one are the same.
    pub hash: String,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// There is no compiler.
    #[error(
        "an image is built with cargo, which is not here: install Rust (https://rustup.rs), then \
         `rustup target add {TARGET}`"
    )]
    NoCargo,
    /// The compiler cannot compile for a machine without an operating system.
    #[error(
        "an image is built for {TARGET}, and this Rust has no library for it: `rustup target add {TARGET}`"
    )]
    NoTarget,
    /// It does not compile: a library could not be fetched, or the compiler is too old.
    #[error("the image cannot be built ({}); the compiler says:\n{said}", version.as_deref().unwrap_or("cargo"))]
    Build {
        /// Of the compiler.
        version: Option<String>,
        /// The end of what it says.
        said: String,
    },
    /// A file.
    #[error("cannot {verb} {}", path.display())]
    File {
        /// `write`, …
        verb: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
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

/// What the command says; `None` where there is no such program.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim().to_owned())
}

/// The image of this version of cangate, built with the user's cargo where it is not in `folder` yet.
/// `begin` is called before anything takes long.
///
/// # Errors
/// [`TemplateError`]: what is missing, and what to install.
pub fn template(folder: &Path, begin: &dyn Fn()) -> Result<Template, TemplateError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = said(Command::new(&rustc).arg("-vV"));
    let hash = hash(version.as_deref());
    let path = folder.join(format!("{hash}.elf"));
    let found = |path: PathBuf| Template {
        path,
        hash: hash.clone(),
    };
    if path.exists() {
        return Ok(found(path));
    }
    if version.is_none() || said(Command::new(&cargo).arg("--version")).is_none() {
        return Err(TemplateError::NoCargo);
    }
    let library = ["--print", "target-libdir", "--target", TARGET];
    let library = said(Command::new(&rustc).args(library));
    if !library.is_some_and(|path| Path::new(&path).exists()) {
        return Err(TemplateError::NoTarget);
    }
    fs::create_dir_all(folder).map_err(file("create the folder", folder))?;
    // Whoever builds it first builds it for all.
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
    let built = build(&cargo, &work, version)?;
    let whole = folder.join(format!("{hash}.new"));
    fs::copy(&built, &whole).map_err(file("write", &whole))?;
    fs::rename(&whole, &path).map_err(file("write", &path))?;
    // The image is there; what it was made in takes a hundred times its room.
    let _ = fs::remove_dir_all(&work);
    Ok(found(path))
}

fn hash(version: Option<&str>) -> String {
    // Among the files of one user: not against anybody's malice.
    let mut hasher = DefaultHasher::new();
    (SOURCES, version, FLAGS).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn build(
    cargo: &std::ffi::OsStr,
    work: &Path,
    version: Option<String>,
) -> Result<PathBuf, TemplateError> {
    sources::write(work).map_err(file("write", work))?;
    let target = work.join("target");
    let mut command = Command::new(cargo);
    command
        .current_dir(work)
        .args(["build", "--release", "-p", "cangate-baremetal"])
        .args(["--bin", "cangate-image", "--target", TARGET])
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_TARGET_X86_64_UNKNOWN_NONE_RUSTFLAGS", FLAGS)
        // What is meant for programs of this machine.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET");
    let output = command.output().map_err(file("run cargo in", work))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = text.lines().collect();
        let last = lines.len().saturating_sub(LINES);
        return Err(TemplateError::Build {
            version: version.and_then(|v| v.lines().next().map(str::to_owned)),
            said: lines.get(last..).unwrap_or_default().join("\n"),
        });
    }
    Ok(target.join(TARGET).join("release").join("cangate-image"))
}
