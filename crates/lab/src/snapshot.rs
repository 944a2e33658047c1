//! Guests that have booted already: the machine is saved when its bench is up, and every job is
//! given to a copy of it. So each begins in the same state, and none waits for a boot.

use crate::cache::Cache;
use crate::error::Error;
use crate::fetch::{RECORD, Tree};
use crate::machine::GuestFile;
use crate::own;
use crate::progress::Progress;
use crate::qemu::{Options, Process};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the boot of a guest that is to be saved may take, in real time, on the slowest host
/// that we think of.
const BOOT: Duration = Duration::from_secs(300);
/// How many images and how many saved machines are kept: some 40 and 100 MB each.
const KEPT: usize = 32;

/// A hash of all that an image depends on, so that it can be kept. The program that runs is in
/// it, and with it the way images are put together.
pub(crate) fn image_hash(
    trees: &[&Tree],
    modules: &[PathBuf],
    files: &[GuestFile],
) -> Result<String, Error> {
    let mut parts: Vec<Vec<u8>> = vec![own::program()?.hash.clone().into_bytes()];
    let read = |path: &Path| fs::read(path).map_err(Error::file("read", path));
    for tree in trees {
        parts.push(read(&tree.root().join(RECORD))?);
    }
    for module in modules {
        parts.push(read(module)?);
    }
    for file in files {
        parts.push(file.name.clone().into_bytes());
        parts.push(read(&file.path)?);
    }
    // The host's libraries: this file changes with every one that is installed.
    parts.push(fs::read("/etc/ld.so.cache").unwrap_or_default());
    parts.push(
        std::env::var("LD_LIBRARY_PATH")
            .unwrap_or_default()
            .into_bytes(),
    );
    Ok(own::hash(
        &parts.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    ))
}

/// The saved state of a machine that has booted with these options; made if it is not there.
/// `None` if it does not come so far: then it is to be booted for the job, and what is wrong
/// with it will be seen there.
pub(crate) fn state(
    cache: &Cache,
    qemu: &Tree,
    options: &Options<'_>,
    image_hash: &str,
    progress: &dyn Progress,
) -> Result<Option<PathBuf>, Error> {
    let name = format!("snapshots/{}", key(qemu, options, image_hash)?);
    if let Some(made) = cache.finished(&name) {
        return Ok(Some(made.join("state")));
    }
    cache.trim("snapshots", KEPT);
    let mut complaint = None;
    let made = cache.stage(&name, progress, |part| {
        progress.stage("booting the guest that others start from");
        let deadline = Instant::now() + BOOT;
        let state = part.join("state");
        let mut process = Process::start(qemu, options, &part.join("qemu"))?;
        process.save(&state, deadline).map_err(|words| {
            complaint = Some(words.clone());
            Error::Asked(words)
        })
    });
    match (made, complaint) {
        (Ok(path), _) => Ok(Some(path.join("state"))),
        (Err(_), Some(words)) => {
            tracing::debug!("no saved guest: {words}");
            Ok(None)
        }
        (Err(error), None) => Err(error),
    }
}

/// Machines of the same key are the same.
fn key(qemu: &Tree, options: &Options<'_>, image_hash: &str) -> Result<String, Error> {
    let record = qemu.root().join(RECORD);
    let record = fs::read(&record).map_err(Error::file("read", &record))?;
    // Paths of this run say nothing about the machine.
    let none = Path::new("");
    let plain = Options {
        image: none,
        console: none,
        output: none,
        job: none,
        trace: None,
        words: options.words.clone(),
        ..*options
    };
    let arguments: Vec<u8> = plain
        .arguments(qemu)
        .into_iter()
        .flat_map(|word| {
            let mut bytes = word.into_encoded_bytes();
            bytes.push(0);
            bytes
        })
        .collect();
    Ok(own::hash(&[&record, &arguments, image_hash.as_bytes()]))
}

/// The image of this hash; `write` writes it unless it is there.
pub(crate) fn image(
    cache: &Cache,
    hash: &str,
    progress: &dyn Progress,
    write: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    let name = format!("images/{hash}");
    if cache.finished(&name).is_none() {
        cache.trim("images", KEPT);
    }
    let made = cache.stage(&name, progress, |part| {
        progress.stage("putting the image together");
        write(&part.join("image"))
    })?;
    Ok(made.join("image"))
}
