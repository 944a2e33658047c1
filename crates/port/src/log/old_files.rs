//! The old files of a record that continues in new ones: their names, and the number that is kept.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The old files of one record, which have its name with an ascending number: `out.log.000001`
/// is the oldest of `out.log`; with the ending `.log` it is `out.000001.log`.
#[derive(Debug)]
pub struct OldFiles {
    path: PathBuf,
    /// The end of the name, which comes after the number.
    ending: OsString,
    /// Numbers of the old files, the oldest first.
    numbers: VecDeque<u64>,
    keep: Option<u32>,
}

impl OldFiles {
    /// Finds the old files that exist. `ending`: the end of the path that comes after the number,
    /// empty or beginning with a dot. `keep`: number of files that may stay, those written last;
    /// `None`: all.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn find(path: PathBuf, ending: &str, keep: Option<u32>) -> io::Result<Self> {
        let mut numbers = numbers(&path, ending)?;
        numbers.sort_unstable();
        Ok(Self {
            path,
            ending: ending.into(),
            numbers: numbers.into(),
            keep,
        })
    }

    /// Returns the record's own name, which is that of its present file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name and the number of the next old file; no file has this name yet.
    #[must_use]
    pub fn next(&self) -> (PathBuf, u64) {
        let mut number = self.numbers.back().map_or(1, |last| last + 1);
        loop {
            let name = self.name(number);
            if fs::symlink_metadata(&name).is_err() {
                return (name, number);
            }
            number += 1;
        }
    }

    /// Adds the number of a file that exists now.
    pub fn add(&mut self, number: u64) {
        self.numbers.push_back(number);
    }

    /// Makes the present file an old one, and opens a new one under its name with `options`, which
    /// must create a new file. If that fails, everything is as before. Returns the old one's name,
    /// unless another program has moved it.
    ///
    /// # Errors
    /// The system's error.
    pub fn exchange(
        &mut self,
        file: &mut File,
        options: &OpenOptions,
    ) -> io::Result<Option<PathBuf>> {
        let (old, number) = self.next();
        let moved = match fs::rename(&self.path, &old) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let new = match options.open(&self.path) {
            Ok(new) => new,
            Err(error) => {
                if moved {
                    // Best effort: the first error is the one to report.
                    let _ = fs::rename(&old, &self.path);
                }
                return Err(error);
            }
        };
        // Users that may read the old file may read the new one, as far as this user can set that.
        if let Ok(meta) = file.metadata() {
            let _ = new.set_permissions(meta.permissions());
        }
        *file = new;
        if moved {
            self.add(number);
        }
        Ok(moved.then_some(old))
    }

    /// Removes the oldest files beyond the number to keep; returns how many could not be removed,
    /// and the error of the last of these.
    pub fn remove_oldest(&mut self) -> (u64, Option<io::Error>) {
        let keep = self.keep.map_or(usize::MAX, |keep| keep as usize);
        let (mut failed, mut why) = (0, None);
        while self.numbers.len() > keep
            && let Some(number) = self.numbers.pop_front()
        {
            match fs::remove_file(self.name(number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    failed += 1;
                    why = Some(error);
                }
                _ => {}
            }
        }
        (failed, why)
    }

    /// Returns the name of an old file: `out.log`, 7 → `out.log.000007`.
    fn name(&self, number: u64) -> PathBuf {
        let whole = self.path.as_os_str().as_bytes();
        let stem = whole.strip_suffix(self.ending.as_bytes()).unwrap_or(whole);
        let mut name = OsStr::from_bytes(stem).to_owned();
        name.push(format!(".{number:06}"));
        name.push(&self.ending);
        PathBuf::from(name)
    }
}

/// Returns the numbers of a record's old files, in any order.
fn numbers(path: &Path, ending: &str) -> io::Result<Vec<u64>> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let whole = path.file_name().unwrap_or(OsStr::new("")).as_bytes();
    let stem = whole.strip_suffix(ending.as_bytes()).unwrap_or(whole);
    let number = |name: &OsStr| -> Option<u64> {
        let rest = name.as_bytes().strip_prefix(stem)?.strip_prefix(b".")?;
        let digits = rest.strip_suffix(ending.as_bytes())?;
        let all_digits = digits.len() >= 6 && digits.iter().all(u8::is_ascii_digit);
        str::from_utf8(digits)
            .ok()
            .filter(|_| all_digits)?
            .parse()
            .ok()
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        found.extend(number(&entry?.file_name()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_stands_before_the_ending_and_only_own_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in [
            "a.000007.log.gz",
            "a.000009.log",
            "a.log.gz.000008",
            "a.7.log.gz",
        ] {
            fs::write(at(name), "x").unwrap();
        }
        let mut old = OldFiles::find(at("a.log.gz"), ".log.gz", Some(1)).unwrap();
        assert_eq!(old.next(), (at("a.000008.log.gz"), 8));
        fs::write(at("a.000008.log.gz"), "x").unwrap();
        assert_eq!(old.next().1, 9, "a name that is taken");
        old.add(8);
        assert!(old.remove_oldest().1.is_none());
        assert!(!at("a.000007.log.gz").exists() && at("a.000008.log.gz").exists());
        assert!(at("a.000009.log").exists() && at("a.7.log.gz").exists());
    }
}
