//! The cache folder: its finished stages, and the locks of the processes that work on it.
//!
//! A *stage* is a folder that is made once. It is made under another name and renamed when it is
//! complete. A folder with the right name is therefore always a finished one, even after a power
//! failure. Two processes do not make the same stage: the second waits for the first and finds it
//! done.

use crate::error::Error;
use crate::progress::ProgressReport;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

/// The cache folder.
#[derive(Debug)]
pub(crate) struct CacheFolder {
    root: PathBuf,
}

impl CacheFolder {
    /// Opens the chosen folder, or the one that the environment specifies.
    pub(crate) fn open(chosen: Option<&Path>) -> Result<Self, Error> {
        let root = match chosen {
            Some(path) => path.to_path_buf(),
            None => default_root(|name| std::env::var_os(name).map(PathBuf::from))?,
        };
        for folder in ["", "locks", "runs", "debs"] {
            let path = root.join(folder);
            fs::create_dir_all(&path).map_err(Error::file("create the folder", &path))?;
        }
        // QEMU and apt are started in other folders: the path must not depend on the current
        // folder.
        let root = root.canonicalize().map_err(Error::file("look up", &root))?;
        let cache = Self { root };
        cache.sweep();
        Ok(cache)
    }

    /// Returns a path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns the path of a stage, if the stage is finished.
    pub(crate) fn finished(&self, name: &str) -> Option<PathBuf> {
        let path = self.path(name);
        let folder = File::open(&path).ok()?;
        // The stage is in use; its new time keeps it from being among the oldest: see `trim`.
        let _ = folder.set_modified(SystemTime::now());
        path.is_dir().then_some(path)
    }

    /// Removes the stages of a folder that were used longest ago, and keeps `keep` of them. A stage
    /// that is removed while it is in use is made again later; files that are open stay intact.
    pub(crate) fn trim(&self, folder: &str, keep: usize) {
        let Ok(entries) = fs::read_dir(self.path(folder)) else {
            return;
        };
        let mut all: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        all.sort();
        let surplus = all.len().saturating_sub(keep);
        for (_, path) in all.into_iter().take(surplus) {
            let _ = fs::remove_dir_all(path);
        }
    }

    /// Returns a finished stage. Unless the stage exists, `make` makes it in the folder that it
    /// gets.
    pub(crate) fn stage(
        &self,
        name: &str,
        progress: &dyn ProgressReport,
        make: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<PathBuf, Error> {
        if let Some(path) = self.finished(name) {
            return Ok(path);
        }
        let _lock = self.lock(&name.replace('/', "."), progress)?;
        let path = self.path(name);
        if path.is_dir() {
            return Ok(path);
        }
        let part = self.path(&format!("{name}.part"));
        remove(&part)?;
        fs::create_dir_all(&part).map_err(Error::file("create the folder", &part))?;
        make(&part)?;
        fs::rename(&part, &path).map_err(Error::file("rename to", &path))?;
        Ok(path)
    }

    /// Waits until no other process holds the lock of this name.
    pub(crate) fn lock(&self, name: &str, progress: &dyn ProgressReport) -> Result<File, Error> {
        let path = self.root.join("locks").join(name);
        let file = File::create(&path).map_err(Error::file("create", &path))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            progress.stage(&format!("waiting for another cangate that prepares {name}"));
            loop {
                match flock(&file, FlockOperation::LockExclusive) {
                    Ok(()) => break,
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(Error::file("lock", &path)(error.into())),
                }
            }
        }
        Ok(file)
    }

    /// Makes a folder for the files of one guest, which is removed when it is dropped.
    pub(crate) fn run_folder(&self) -> Result<RunFolder, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let runs = self.root.join("runs");
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = runs.join(format!("{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let lock = path.join("lock");
                    let file = File::create(&lock).map_err(Error::file("create", &lock))?;
                    flock(&file, FlockOperation::NonBlockingLockExclusive)
                        .map_err(|error| Error::file("lock", &lock)(error.into()))?;
                    return Ok(RunFolder { path, _lock: file });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::file("create the folder", &path)(error)),
            }
        }
    }

    /// Removes the folders of guests whose cangate process died: no process holds their lock.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(self.root.join("runs")) else {
            return;
        };
        for entry in entries.flatten() {
            let Ok(file) = File::open(entry.path().join("lock")) else {
                continue; // being made, or not a folder of the lab
            };
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

/// The files of one guest.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    // Held as long as the folder is in use.
    _lock: File,
}

impl RunFolder {
    /// Returns a path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn default_root(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, Error> {
    let set = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
    if let Some(path) = set("CANGATE_LAB") {
        return Ok(path);
    }
    // A relative path in XDG_CACHE_HOME must be ignored (XDG Base Directory Specification).
    if let Some(path) = set("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        return Ok(path.join("cangate/lab"));
    }
    set("HOME")
        .map(|path| path.join(".cache/cangate/lab"))
        .ok_or(Error::NoCacheFolder)
}

/// Removes a folder, if there is one.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::SilentProgress;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_stage_is_made_once_and_is_complete_or_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CacheFolder::open(Some(dir.path())).unwrap();
        // It fails half-way: not finished, and the next attempt starts with an empty folder.
        let failed = cache.stage("tree", &SilentProgress, |path| {
            fs::write(path.join("half"), "x").unwrap();
            Err(Error::NoCacheFolder)
        });
        assert!(failed.is_err());
        assert!(cache.finished("tree").is_none());
        let made = cache
            .stage("tree", &SilentProgress, |path| {
                assert_eq!(fs::read_dir(path).unwrap().count(), 0);
                fs::write(path.join("whole"), "x").unwrap();
                Ok(())
            })
            .unwrap();
        assert!(made.join("whole").is_file());
        let again = cache
            .stage("tree", &SilentProgress, |_| panic!("made twice"))
            .unwrap();
        assert_eq!(made, again);
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CacheFolder::open(Some(dir.path())).unwrap();
        for name in ["x/a", "x/b", "x/c"] {
            cache.stage(name, &SilentProgress, |_| Ok(())).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        cache.finished("x/a").unwrap();
        cache.trim("x", 2);
        assert!(cache.finished("x/a").is_some());
        assert!(cache.finished("x/b").is_none());
        assert!(cache.finished("x/c").is_some());
    }

    #[test]
    fn two_who_want_the_same_stage_make_it_once() {
        let dir = tempfile::tempdir().unwrap();
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let cache = CacheFolder::open(Some(dir.path())).unwrap();
                    cache
                        .stage("tree", &SilentProgress, |_| {
                            made.fetch_add(1, Ordering::SeqCst);
                            std::thread::sleep(std::time::Duration::from_millis(20));
                            Ok(())
                        })
                        .unwrap();
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn what_a_dead_one_left_is_swept_and_what_is_in_use_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let cache = CacheFolder::open(Some(dir.path())).unwrap();
        let dead = dir.path().join("runs/0-0");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join("lock"), "").unwrap();
        let live = cache.run_folder().unwrap();
        let _other = CacheFolder::open(Some(dir.path())).unwrap();
        assert!(!dead.exists());
        let path = live.path("");
        assert!(path.exists());
        drop(live);
        assert!(!path.exists());
    }

    #[test]
    fn the_folder_is_the_one_that_the_environment_states() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<(String, PathBuf)> = set
                .iter()
                .map(|(n, v)| ((*n).to_owned(), PathBuf::from(v)))
                .collect();
            default_root(move |name| set.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()))
        };
        let home = ("HOME", "/h");
        assert_eq!(with(&[home]).unwrap(), Path::new("/h/.cache/cangate/lab"));
        let xdg = ("XDG_CACHE_HOME", "/x");
        assert_eq!(with(&[home, xdg]).unwrap(), Path::new("/x/cangate/lab"));
        let relative = ("XDG_CACHE_HOME", "x");
        assert_eq!(
            with(&[home, relative]).unwrap(),
            Path::new("/h/.cache/cangate/lab")
        );
        assert_eq!(
            with(&[home, xdg, ("CANGATE_LAB", "/l")]).unwrap(),
            Path::new("/l")
        );
        assert!(with(&[("HOME", "")]).is_err());
    }
}
