//! A log that is divided into several files.

use super::lines::whole_lines;
use super::old_files::OldFiles;
use frame::Nanos;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// Time for which the present file stays in use if it cannot be exchanged, before the next attempt,
/// ns.
const RETRY: Nanos = 10_000_000_000;

/// The rules for when a log continues in a new file, and how many old ones are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RotationRule {
    /// Maximum size of a file in bytes; a single line that is longer has a file of its own.
    pub size: Option<u64>,
    /// Maximum time between the first and the last line of a file, ns.
    pub every: Option<Nanos>,
    /// Number of old files that are kept, those written last; `None`: all.
    pub keep: Option<u32>,
}

/// The files of a log. The present one has the log's name; the old ones have an ascending number
/// after it: `out.log.000001` is the oldest.
#[derive(Debug)]
pub(super) struct LogRotation {
    rotate: RotationRule,
    /// Number of bytes in the present file.
    bytes: u64,
    /// Time at which this run wrote the first line into it.
    begun: Option<Nanos>,
    /// True if its content is of an earlier run and will be kept as an old file.
    earlier: bool,
    old: OldFiles,
    /// Time of the next attempt.
    retry_at: Nanos,
    failed: u64,
    why: Option<io::Error>,
}

impl LogRotation {
    /// Makes the rotation of `path`, which is a regular file of `bytes` bytes, and not a symbolic
    /// link. `earlier`: the bytes are of an earlier run, and the log begins with a new file.
    pub(super) fn new(
        rotate: RotationRule,
        path: PathBuf,
        bytes: u64,
        earlier: bool,
    ) -> io::Result<Self> {
        Ok(Self {
            rotate,
            bytes,
            begun: None,
            earlier: earlier && bytes > 0,
            old: OldFiles::find(path, "", rotate.keep)?,
            retry_at: 0,
            failed: 0,
            why: None,
        })
    }

    /// Exchanges the file, if it is time, before a line of `line` bytes is written. Returns whether
    /// it did.
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
                // The lines continue in the present file: none is lost.
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

    /// Returns the part of `lines` that belongs in the present file: whole lines, at least one.
    pub(super) fn piece<'b>(&self, lines: &'b [u8]) -> &'b [u8] {
        match self.rotate.size {
            Some(size) if self.retry_at == 0 => {
                let room = usize::try_from(size.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
                whole_lines(lines, room)
            }
            _ => lines,
        }
    }

    /// Notes that `bytes` bytes were written into the present file.
    pub(super) const fn add_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Notes that the log continues in a file that has `bytes` bytes already, because another
    /// program has removed the present one.
    pub(super) const fn continue_from(&mut self, bytes: u64) {
        self.bytes = bytes;
        self.begun = None;
        self.earlier = false;
    }

    /// Notes that `bytes` bytes were removed from its end.
    pub(super) const fn remove_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes as u64);
    }

    /// Returns a message for the user; `None` if no attempt has failed.
    pub(super) fn remark(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        Some(format!(
            "{}: {} times no new file could be begun or no old one removed ({why}); no frame is \
             lost, the present file is used on",
            self.old.path().display(),
            self.failed
        ))
    }

    /// Makes the present file an old one, and opens a new one under its name. If that fails,
    /// everything is as before.
    fn exchange(&mut self, file: &mut File) -> io::Result<()> {
        let append = File::options().append(true).create_new(true).to_owned();
        self.old.exchange(file, &append)?;
        let (failed, why) = self.old.remove_oldest();
        self.failed += failed;
        self.why = why.or(self.why.take());
        Ok(())
    }
}
