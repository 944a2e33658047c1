//! Guests that have booted already: the machine is saved when its bench is up, and every job runs
//! in a copy of it. So each job begins in the same state, and none waits for a boot.

use crate::agent::settle_word;
use crate::cache::CacheFolder;
use crate::error::Error;
use crate::fetch::{PackageTree, RECORD};
use crate::machine::{GuestFile, TimeMode};
use crate::own::{self, GuestPrograms};
use crate::progress::ProgressReport;
use crate::qemu::{QemuOptions, QemuProcess, STALL_TIMEOUT};
use crate::with_causes;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time of the host's processors that a guest that should be saved may use until it stops itself.
const BOOT: Duration = Duration::from_secs(300);
/// Number of times that a guest is booted in order to save it, before the lab gives up. The first
/// try almost always succeeds.
const TRIES: u16 = 20;
/// Number of tries with the same settling time. If all fail, a timer of the guest is due just when
/// it stops, and the next tries wait for a millisecond more each time. So most machines stop at the
/// first time on any host, and have the same state there.
const TRIES_AT_A_TIME: u16 = 3;
/// Number of images that are kept; 40 MB each with a release build in it. Machines in step have an
/// image each, and all are there before the first one starts.
const IMAGES: usize = 2 * crate::lockstep::MACHINES;
/// Number of saved machines that are kept: 100 to 200 MB each.
const STATES: usize = 32;

/// Returns a hash of all that an image depends on, so that the image can be kept; `others` is a
/// hash of further files. The hash covers the program that runs, and with it the way images are put
/// together, and the gateway under test.
pub(crate) fn image_hash(
    programs: &GuestPrograms,
    trees: &[&PackageTree],
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

/// Returns the saved state of a machine that has booted with these options, or was restored with
/// them and went on to stop itself again; makes the state if it does not exist. `from` names what
/// else the state depends on. `None` if the machine does not reach the point at which it is saved:
/// then the job must boot a machine of its own, which will show the error.
pub(crate) fn state(
    cache: &CacheFolder,
    qemu: &PackageTree,
    options: &QemuOptions<'_>,
    from: &[&str],
    what: &str,
    progress: &dyn ProgressReport,
) -> Result<Option<SavedGuest>, Error> {
    let key = key(qemu, options, from)?;
    let name = format!("snapshots/{key}");
    let saved = |folder: PathBuf| SavedGuest {
        key: key.clone(),
        file: folder.join("state"),
    };
    if let Some(made) = cache.finished(&name) {
        return Ok(Some(saved(made)));
    }
    cache.trim("snapshots", STATES);
    let is_exact = matches!(options.time, TimeMode::Virtual { .. });
    let made = cache.stage(&name, progress, |part| {
        progress.stage(&format!("{what}: {} MB of memory", options.memory));
        for number in 0..TRIES {
            let mut words = options.words.clone();
            if number >= TRIES_AT_A_TIME {
                words.push(settle_word(number / TRIES_AT_A_TIME));
            }
            let options = &QemuOptions { words, ..*options };
            let start = || QemuProcess::start(qemu, options, &part.join("qemu"));
            // If QEMU's main loop waits until the thread of the guest's processor has stopped, a
            // machine in virtual time stops as it usually does.
            let mut process = match is_exact {
                true => linux::schedule::on_one_processor(turn(), start)?,
                false => start()?,
            };
            let mut stops = || {
                if is_exact {
                    process.processor_first(Instant::now() + STALL_TIMEOUT)?;
                }
                if let Some(file) = options.restore {
                    process.resume(file)?;
                }
                process.stops(BOOT)
            };
            stops().map_err(Error::NotStopped)?;
            let saved = process.save(&part.join("state"));
            saved.map_err(Error::NotSaved)?;
            if !is_exact || process.was_usual().map_err(Error::NotSaved)? {
                return Ok(());
            }
        }
        Err(Error::Unsteady {
            tries: TRIES.into(),
        })
    });
    match made {
        Ok(path) => Ok(Some(saved(path))),
        Err(error @ Error::NotStopped(_)) => {
            progress.warning(&with_causes(&error));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns a number that spreads machines that are saved at the same time over the host's
/// processors.
fn turn() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    (std::process::id() as usize).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A saved machine.
#[derive(Clone, Debug)]
pub(crate) struct SavedGuest {
    /// The key of the machine.
    pub(crate) key: String,
    /// The file with its state.
    pub(crate) file: PathBuf,
}

/// Returns the key of a machine. Machines with the same key are the same.
fn key(qemu: &PackageTree, options: &QemuOptions<'_>, from: &[&str]) -> Result<String, Error> {
    let record = qemu.root().join(RECORD);
    let record = fs::read(&record).map_err(Error::file("read", &record))?;
    // Paths of this run do not affect the machine.
    let none = Path::new("");
    let plain = QemuOptions {
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

/// Returns the image with this hash; `write` writes it unless it exists.
pub(crate) fn image(
    cache: &CacheFolder,
    hash: &str,
    progress: &dyn ProgressReport,
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
