//! Guests that have booted already: the machine is saved when its bench is up, and every job is
//! given to a copy of it. So each begins in the same state, and none waits for a boot.

use crate::cache::Cache;
use crate::error::Error;
use crate::fetch::{RECORD, Tree};
use crate::machine::GuestFile;
use crate::own::{self, Programs};
use crate::progress::Progress;
use crate::qemu::{Options, Process, STANDS_STILL};
use crate::with_causes;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How much time of the host's processors a guest that is to be saved may use until it stops
/// itself.
const BOOT: Duration = Duration::from_secs(300);
/// How often a guest is booted to be saved before that is given up. At the first try it is as it
/// should be nearly always.
const TRIES: u32 = 20;
/// How many images are kept; 40 MB each with a release build in it.
const IMAGES: usize = 12;
/// How many saved machines are kept: 100 to 200 MB each.
const STATES: usize = 32;

/// A hash of all that an image depends on, so that it can be kept; `others` is one of further
/// files. The program that runs is in it, and with it the way images are put together; the gateway
/// under test is, too.
pub(crate) fn image_hash(
    programs: &Programs,
    trees: &[&Tree],
    modules: &[PathBuf],
    files: &[GuestFile],
    others: Option<&str>,
) -> Result<String, Error> {
    let hashes = programs.hashes().map(|hash| hash.as_bytes().to_vec());
    let mut parts: Vec<Vec<u8>> = hashes.into();
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
    parts.extend(others.map(|hash| hash.as_bytes().to_vec()));
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

/// The saved state of a machine that has booted with these options, or was restored with them and
/// went on to stop itself again; made if it is not there. `job` says what else it depends on.
/// `None` if it does not come so far: then it is to go the long way for the job, and what is wrong
/// with it will be seen there.
pub(crate) fn state(
    cache: &Cache,
    qemu: &Tree,
    options: &Options<'_>,
    from: &[&str],
    what: &str,
    progress: &dyn Progress,
) -> Result<Option<Saved>, Error> {
    let key = key(qemu, options, from)?;
    let name = format!("snapshots/{key}");
    let saved = |folder: PathBuf| Saved {
        key: key.clone(),
        file: folder.join("state"),
    };
    if let Some(made) = cache.finished(&name) {
        return Ok(Some(saved(made)));
    }
    cache.trim("snapshots", STATES);
    let made = cache.stage(&name, progress, |part| {
        progress.stage(&format!("{what}: {} MB of memory", options.memory));
        for _ in 0..TRIES {
            // Where its main loop waits until the thread of the guest's processor has stopped, it
            // stops as it usually does.
            let mut process = linux::schedule::on_one_processor(turn(), || {
                Process::start(qemu, options, &part.join("qemu"))
            })?;
            let mut stops = || {
                process.processor_first(Instant::now() + STANDS_STILL)?;
                if let Some(file) = options.restore {
                    process.resume(file)?;
                }
                process.stops(BOOT)
            };
            stops().map_err(Error::NotStopped)?;
            let usual = process.save(&part.join("state")).map_err(Error::NotSaved)?;
            if usual {
                return Ok(());
            }
            tracing::debug!("the guest did not stop as it usually does: once more");
        }
        Err(Error::Unsteady { tries: TRIES })
    });
    match made {
        Ok(path) => Ok(Some(saved(path))),
        Err(error @ Error::NotStopped(_)) => {
            tracing::warn!("{}", with_causes(&error));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A number that spreads machines that are saved at the same time over the host's processors.
fn turn() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    (std::process::id() as usize).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A saved machine.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    /// What it is known by.
    pub(crate) key: String,
    /// Its state.
    pub(crate) file: PathBuf,
}

/// Machines of the same key are the same.
fn key(qemu: &Tree, options: &Options<'_>, from: &[&str]) -> Result<String, Error> {
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
        restore: None,
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
    let mut parts: Vec<&[u8]> = vec![&record, &arguments];
    parts.extend(from.iter().map(|text| text.as_bytes()));
    Ok(own::hash(&parts))
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
        cache.trim("images", IMAGES);
    }
    let made = cache.stage(&name, progress, |part| {
        progress.stage("putting the image together");
        write(&part.join("image"))
    })?;
    Ok(made.join("image"))
}
