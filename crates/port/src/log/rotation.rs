//! A log that is divided into several files.

use super::output::whole_lines;
use frame::Nanos;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// How long the present file is used on where it cannot be exchanged, before the next attempt, ns.
const RETRY: Nanos = 10_000_000_000;

/// When a log goes on in a new file, and how many old ones are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rotate {
    /// A file has at most so many bytes; a single line that is longer has a file of its own.
    pub size: Option<u64>,
    /// A file has lines that were written within so many ns.
    pub every: Option<Nanos>,
    /// So many old files are kept, those written last; `None`: all.
    pub keep: Option<u32>,
}

/// The files of a log. The present one has the log's name; the old ones have a number behind it,
/// which counts up: `out.log.000001` is the oldest.
#[derive(Debug)]
pub(super) struct Rotation {
    rotate: Rotate,
    path: PathBuf,
    /// Bytes in the present file.
    bytes: u64,
    /// When this run wrote the first line into it.
    begun: Option<Nanos>,
    /// What is in it is of an earlier run and stays as an old file.
    earlier: bool,
    /// The old files, the oldest first.
    old: VecDeque<u64>,
    /// No attempt before.
    retry_at: Nanos,
    failed: u64,
    why: Option<io::Error>,
}

impl Rotation {
    /// `path` is a regular file with so many bytes, and no symbolic link. `earlier`: they are of an
    /// earlier run, and the log begins with a new file.
    pub(super) fn new(
        rotate: Rotate,
        path: PathBuf,
        bytes: u64,
        earlier: bool,
    ) -> io::Result<Self> {
        let mut old = old_files(&path)?;
        old.sort_unstable();
        Ok(Self {
            rotate,
            path,
            bytes,
            begun: None,
            earlier: earlier && bytes > 0,
            old: old.into(),
            retry_at: 0,
            failed: 0,
            why: None,
        })
    }

    /// Before a line of so many bytes is written: exchanges the file, if it is time. Was it?
    pub(super) fn before_line(&mut self, file: &mut File, now: Nanos, line: usize) -> bool {
        let too_large = |size: u64| self.bytes.saturating_add(line as u64) > size;
        let too_old = |every: Nanos| {
            let begun = self.begun.unwrap_or(now);
            now.saturating_sub(begun) >= every
        };
        let full = self.bytes > 0
            && (self.rotate.size.is_some_and(too_large) || self.rotate.every.is_some_and(too_old));
        let mut exchanged = false;
        if (full || self.earlier) && now >= self.retry_at {
            match self.exchange(file) {
                Ok(()) => {
                    self.bytes = 0;
                    self.begun = None;
                    self.earlier = false;
                    self.retry_at = 0;
                    exchanged = true;
                }
                // The lines go on into the present file: none is lost.
                Err(error) => {
                    self.failed += 1;
                    self.why = Some(error);
                    self.retry_at = now.saturating_add(RETRY);
                }
            }
        }
        self.begun.get_or_insert(now);
        exchanged
    }

    /// As much of `lines` as belongs into the present file: whole lines, at least one.
    pub(super) fn piece<'b>(&self, lines: &'b [u8]) -> &'b [u8] {
        match self.rotate.size {
            Some(size) if self.retry_at == 0 => {
                let room = usize::try_from(size.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
                whole_lines(lines, room)
            }
            _ => lines,
        }
    }

    /// So many bytes were written into the present file.
    pub(super) const fn wrote(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// So many bytes were taken off its end.
    pub(super) const fn took_off(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }

    /// What a user should know; nothing where all went well.
    pub(super) fn remark(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        Some(format!(
            "{}: {} times no new file could be begun or no old one removed ({why}); no frame is \
             lost, the present file is used on",
            self.path.display(),
            self.failed
        ))
    }

    /// The present file becomes an old one, and a new one takes its name. If that fails, all is as
    /// before.
    fn exchange(&mut self, file: &mut File) -> io::Result<()> {
        let mut number = self.old.back().map_or(1, |last| last + 1);
        while fs::symlink_metadata(numbered(&self.path, number)).is_ok() {
            number += 1;
        }
        let old = numbered(&self.path, number);
        let moved = match fs::rename(&self.path, &old) {
            Ok(()) => true,
            // Somebody else has moved it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let new = File::options()
            .append(true)
            .create_new(true)
            .open(&self.path);
        let new = match new {
            Ok(new) => new,
            Err(error) => {
                if moved {
                    // Best effort: the first error is the one to report.
                    let _ = fs::rename(&old, &self.path);
                }
                return Err(error);
            }
        };
        // Whoever may read the one may read the other, as far as this user can say so.
        if let Ok(meta) = file.metadata() {
            let _ = new.set_permissions(meta.permissions());
        }
        *file = new;
        if moved {
            self.old.push_back(number);
        }
        self.remove_oldest();
        Ok(())
    }

    fn remove_oldest(&mut self) {
        let keep = self.rotate.keep.map_or(usize::MAX, |keep| keep as usize);
        while self.old.len() > keep
            && let Some(number) = self.old.pop_front()
        {
            match fs::remove_file(numbered(&self.path, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    self.failed += 1;
                    self.why = Some(error);
                }
                _ => {}
            }
        }
    }
}

/// `out.log`, 7 → `out.log.000007`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number:06}"));
    PathBuf::from(name)
}

/// The numbers of a log's old files, in any order.
fn old_files(path: &Path) -> io::Result<Vec<u64>> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let stem = path.file_name().unwrap_or(OsStr::new("")).as_bytes();
    let number = |name: &OsStr| -> Option<u64> {
        let digits = name.as_bytes().strip_prefix(stem)?.strip_prefix(b".")?;
        let all_digits = digits.len() >= 6 && digits.iter().all(u8::is_ascii_digit);
        str::from_utf8(digits)
            .ok()
            .filter(|_| all_digits)?
            .parse()
            .ok()
    };
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        numbers.extend(number(&entry?.file_name()));
    }
    Ok(numbers)
}
