//! A log that is divided into several files.

use super::old_files::OldFiles;
use super::output::whole_lines;
use frame::Nanos;
use std::fs::File;
use std::io;
use std::path::PathBuf;

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
    /// Bytes in the present file.
    bytes: u64,
    /// When this run wrote the first line into it.
    begun: Option<Nanos>,
    /// What is in it is of an earlier run and stays as an old file.
    earlier: bool,
    old: OldFiles,
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

    /// The log went on in a file that has so many bytes already: the present one was taken away.
    pub(super) const fn went_on(&mut self, bytes: u64) {
        self.bytes = bytes;
        self.begun = None;
        self.earlier = false;
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
            self.old.path().display(),
            self.failed
        ))
    }

    /// The present file becomes an old one, and a new one takes its name. If that fails, all is as
    /// before.
    fn exchange(&mut self, file: &mut File) -> io::Result<()> {
        let append = File::options().append(true).create_new(true).to_owned();
        self.old.exchange(file, &append)?;
        let (failed, why) = self.old.remove_oldest();
        self.failed += failed;
        self.why = why.or(self.why.take());
        Ok(())
    }
}
