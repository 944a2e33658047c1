//! A log that is divided into several files.

use super::lines::whole_lines;
use super::old_files::OldFiles;
use config::read::{self, by};
use config::{Diagnostics, TomlTable, TomlValue, ValueShape};
use frame::Nanos;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Time for which the present file stays in use if it cannot be exchanged, before the next attempt,
/// ns.
const RETRY: Nanos = 10_000_000_000;

/// Range of the size of one file, bytes: from a page to the limits of present file systems.
const SIZES: RangeInclusive<u64> = 4096..=1 << 40;

const SECOND: Nanos = 1_000_000_000;

/// Range of the time of one file, ns: from a second to a leap year.
const TIMES: RangeInclusive<Nanos> = SECOND..=366 * 24 * 3600 * SECOND;

config::settings! {
    /// The rules for when a log continues in a new file, and how many old ones are kept.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct RotationRule {
        /// The maximum size of a file: `65536`, `"100M"` (powers of 1000) or `"1GiB"` (powers of
        /// 1024).
        ///
        /// In bytes; a single line that is longer has a file of its own.
        pub size: Option<u64> = None => by(|| ValueShape::Size, size),
            value "4096 bytes to 1024 GiB";
        /// The maximum duration of a file by the gateway's clock, from the first frame that is
        /// written to it.
        ///
        /// In ns.
        pub every: Option<Nanos> = None => by(|| ValueShape::Duration, every),
            value "`\"1s\"` to `\"8784h\"`";
        /// The number of old files to keep; the oldest ones are removed.
        pub keep: Option<u32> = None => read::integer(1..=999_999u32), default "all";
    }
}

impl Default for RotationRule {
    fn default() -> Self {
        Self::defaults()
    }
}

fn size(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<u64> {
    let bytes = value.size(found)?.value;
    if SIZES.contains(&bytes) {
        return Some(bytes);
    }
    let hint = "write it as 65536, \"100M\" or \"1GiB\"";
    value.wrong("`size` must be from 4096 bytes to 1024 GiB", hint, found);
    None
}

fn every(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Nanos> {
    let time = value.duration(found)?.value;
    if TIMES.contains(&time) {
        return Some(time);
    }
    let hint = "write it as \"90s\", \"15min\" or \"24h\"";
    value.wrong("`every` must be from 1s to 8784h (366 days)", hint, found);
    None
}

impl RotationRule {
    pub(super) fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let rule = Self::read(table, found);
        if !table.has("size") && !table.has("every") {
            let hint = "set when a new file begins: `size = \"100M\"`, `every = \"1h\"` or both";
            table.missing("size` or `every", hint, found);
        }
        rule
    }

    /// Returns a description, as words that follow the name of the log.
    pub(super) fn describe(self) -> String {
        let size = self.size.map(|size| format!("{size} bytes"));
        let every = self
            .every
            .map(|every| format!("{} s", every as f64 / SECOND as f64));
        let when: Vec<String> = size.into_iter().chain(every).collect();
        let keeps = match self.keep {
            Some(1) => "1 old file".to_owned(),
            Some(keep) => format!("{keep} old files"),
            None => "all old files".to_owned(),
        };
        format!(", a new file after {}, keeps {keeps}", when.join(" or "))
    }
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
             lost, the present file stays in use",
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
