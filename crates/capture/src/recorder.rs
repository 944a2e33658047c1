//! From chunks into files.

use crate::chunk::{Chunk, Entry, Gap, Where};
use crate::file::{FileError, Rotate, Target};
use crate::form::{Format, Output};
use crate::names::{Known, Names};
use crate::pack::Packing;
use std::io;
use std::path::PathBuf;

/// How long the present file is used on where no new one can be begun, ns.
const RETRY: u64 = 10_000_000_000;

/// How often it is looked whether the present file is still where the record is to be, ns.
const LOOK: u64 = 1_000_000_000;

/// Something that a user should know about the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remark {
    /// Nothing can be written at the moment; what comes is counted as lost.
    Failing(String),
    /// It can again.
    Working,
    /// No new file can be begun; the present one is used on.
    NotRotated(String),
    /// Another program has removed the present file or moved it away: the record goes on in a new
    /// one.
    Gone,
    /// A trigger has begun a file, or extended the one that is written.
    Triggered {
        /// What triggered, in words.
        by: String,
        /// The file.
        file: PathBuf,
        /// It had been begun already.
        extended: bool,
    },
    /// The memory for the time before a trigger holds less than was asked for, s.
    Short(u64),
}

/// What has been done so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Done {
    /// Frames that could not be written, by place.
    pub lost: Vec<u64>,
    /// Entries whose bytes were no frame, by place.
    pub no_frames: Vec<u64>,
    /// Frames that were written.
    pub frames: u64,
    /// Bytes of all files that were begun, as they are on the disk: with what stands at a file's
    /// end, and without what a full disk has not kept.
    pub bytes: u64,
    /// Files that were begun.
    pub files: u64,
    /// Triggers that have come.
    pub triggers: u64,
    /// Nobody reads any more, or the like: there is no sense in going on.
    pub ended: Option<io::ErrorKind>,
}

/// Writes frames into files, in one of the forms. Time is passed in, as ns of a clock that only
/// goes forward.
pub struct Recorder {
    format: Format,
    packing: Packing,
    flush_every: u64,
    rotate: Rotate,
    names: Known,
    all: Names,
    target: Target,
    stream: bool,
    /// What was formatted and is not written.
    out: Vec<u8>,
    packed: Vec<u8>,
    /// Frames in it, by place.
    waiting: Vec<u64>,
    /// When the first of it came.
    since: Option<u64>,
    /// When the present file was begun.
    begun: u64,
    /// Frames in the present file.
    in_file: u64,
    retry_at: u64,
    /// When it is looked again whether the present file is there.
    look_at: u64,
    /// Bytes of the files before the present one.
    earlier: u64,
    /// The present file can take nothing more.
    needs_new: bool,
    failing: bool,
    remarks: Vec<Remark>,
    done: Done,
}

impl Recorder {
    /// Begins a record; `numbered`: with a file of its own for each trigger.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn new(
        output: &Output,
        rotate: Rotate,
        names: &Names,
        now: u64,
        numbered: bool,
    ) -> Result<Self, FileError> {
        let target = if numbered {
            Target::numbered(output, rotate.keep)?
        } else {
            Target::open(output, rotate.keep)?
        };
        let format = Format::new(output)
            .map_err(|error| FileError::of(&output.path, io::Error::other(error)))?;
        let mut recorder = Self {
            format,
            packing: output.packing,
            flush_every: output.form.flush_every().as_nanos() as u64,
            rotate,
            names: Known::new(names.clone()),
            all: names.clone(),
            target,
            stream: output.is_stream(),
            out: Vec::with_capacity(1 << 19),
            packed: Vec::new(),
            waiting: Vec::new(),
            since: None,
            begun: now,
            in_file: 0,
            retry_at: 0,
            look_at: 0,
            earlier: 0,
            needs_new: false,
            failing: false,
            remarks: Vec::new(),
            done: Done::default(),
        };
        if !numbered {
            recorder.begin(now);
            recorder.flush();
        }
        Ok(recorder)
    }

    /// What has been done so far.
    #[must_use]
    pub const fn done(&self) -> &Done {
        &self.done
    }

    /// What a user should know, since the last call of this.
    pub fn take_remarks(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.remarks)
    }

    pub(crate) fn remark(&mut self, remark: Remark) {
        self.remarks.push(remark);
    }

    pub(crate) const fn triggered(&mut self) {
        self.done.triggers += 1;
    }

    /// When collected frames must be written at the latest, if there are any.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        self.since.map(|since| since + self.flush_every)
    }

    /// Takes a chunk's entries.
    pub fn take(&mut self, chunk: &Chunk, now: u64) {
        self.since.get_or_insert(now);
        for entry in chunk.entries() {
            self.entry(&entry, now);
        }
        self.tick(now);
    }

    /// Takes one entry.
    #[inline]
    pub(crate) fn entry(&mut self, entry: &Entry<'_>, now: u64) {
        self.since.get_or_insert(now);
        match entry {
            Entry::Gap(gap) => self.format.gap(gap, &mut self.names, &mut self.out),
            Entry::Frame(record) => {
                // More than a line or a block with this frame can have.
                let most = 2 * record.bytes.len() as u64 + 128;
                if self.in_file > 0 && self.too_large(most) && now >= self.retry_at {
                    self.exchange(now);
                }
                if !self.format.frame(record, &mut self.names, &mut self.out) {
                    *at(&mut self.done.no_frames, record.interface) += 1;
                    return;
                }
                self.in_file += 1;
                *at(&mut self.waiting, record.interface) += 1;
                if self.format.is_full(&self.out) {
                    self.flush();
                    self.since = Some(now);
                }
            }
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now: u64) {
        if self.due().is_some_and(|due| now >= due) {
            self.flush();
        }
        if now >= self.look_at {
            self.look_at = now.saturating_add(LOOK);
            if now >= self.retry_at && self.target.is_gone() && self.exchange(now) {
                self.remark(Remark::Gone);
            }
        }
        let every = self.rotate.every.map(|every| every.as_nanos() as u64);
        let old = every.is_some_and(|every| now.saturating_sub(self.begun) >= every);
        if old && self.in_file > 0 && now >= self.retry_at {
            self.exchange(now);
        }
    }

    /// Writes what is left, and the file's end.
    pub fn end(&mut self) {
        self.flush();
        self.format.end(&mut self.out);
        if !self.out.is_empty() {
            self.flush();
        }
    }

    /// Begins the file of a trigger.
    pub(crate) fn begin_numbered(&mut self, now: u64) -> Result<PathBuf, FileError> {
        let before = self.target.len();
        let name = self.target.begin_numbered()?;
        self.earlier += before;
        self.begin(now);
        Ok(name)
    }

    /// Is the present file as large as it may be, with so many bytes more?
    fn too_large(&self, more: u64) -> bool {
        let waiting = match self.packing {
            Packing::None => self.out.len() as u64 + more,
            // What it will be when it is packed, nobody knows.
            Packing::Gzip | Packing::Zstd => 0,
        };
        let size = self.rotate.size.filter(|_| self.target.rotates());
        size.is_some_and(|size| self.target.len() + waiting > size)
    }

    fn begin(&mut self, now: u64) {
        self.done.files += 1;
        self.begun = now;
        self.in_file = 0;
        self.format.begin(&mut self.out);
        self.since.get_or_insert(now);
    }

    /// Goes on in a new file; false where that is not possible.
    fn exchange(&mut self, now: u64) -> bool {
        if !self.target.rotates() {
            self.retry_at = u64::MAX;
            return false;
        }
        self.end();
        let before = self.target.len();
        let done = self.target.exchange();
        if let Err(error) = &done {
            self.retry_at = now.saturating_add(RETRY);
            self.remark(Remark::NotRotated(error.to_string()));
            // The file has its end; what follows is a section of its own.
            if self.format.goes_on() {
                self.format.begin(&mut self.out);
            }
            return false;
        }
        self.earlier += before;
        self.retry_at = 0;
        self.begin(now);
        true
    }

    /// Writes what was collected; what cannot be written is counted and forgotten.
    pub(crate) fn flush(&mut self) {
        self.since = None;
        let done = self.write();
        self.out.clear();
        match done {
            Ok(()) => {
                self.done.frames += self.waiting.iter().sum::<u64>();
                self.waiting.fill(0);
                if self.failing {
                    self.failing = false;
                    self.remark(Remark::Working);
                }
            }
            Err(error) => self.failed(&error),
        }
        self.done.bytes = self.earlier + self.target.len();
    }

    fn write(&mut self) -> io::Result<()> {
        if self.needs_new {
            let before = self.target.len();
            self.target.exchange()?;
            self.earlier += before;
            self.done.files += 1;
            self.needs_new = false;
        }
        let names = self.all.all();
        let tail = self
            .format
            .flush(&names, &mut self.out)
            .map_err(io::Error::other)?;
        if self.out.is_empty() {
            return Ok(());
        }
        let bytes = if self.packing == Packing::None {
            &self.out
        } else {
            self.packed.clear();
            self.packing.pack(&self.out, &mut self.packed)?;
            &self.packed
        };
        self.target.put(bytes, tail)
    }

    fn failed(&mut self, error: &io::Error) {
        if self.stream {
            self.done.ended = Some(error.kind());
        }
        if !self.failing {
            self.failing = true;
            self.remark(Remark::Failing(error.to_string()));
        }
        // Whole pieces are in the file, or nothing: it goes on as a new section, or as a new file.
        let waiting = std::mem::take(&mut self.waiting);
        self.in_file -= waiting.iter().sum::<u64>().min(self.in_file);
        if self.in_file == 0 && !self.needs_new {
            let _ = self.target.empty();
        } else if !self.format.goes_on() {
            self.needs_new = true;
            self.in_file = 0;
        }
        self.format.begin(&mut self.out);
        for (place, frames) in waiting.iter().enumerate() {
            if *frames == 0 {
                continue;
            }
            let place = place as u16;
            *at(&mut self.done.lost, place) += frames;
            let gap = Gap {
                stamp: 0,
                interface: Some(place),
                frames: *frames,
                at: Where::File,
            };
            self.format.gap(&gap, &mut self.names, &mut self.out);
        }
    }
}

/// The number at a place; the list grows as long as it must be.
fn at(list: &mut Vec<u64>, place: u16) -> &mut u64 {
    let place = usize::from(place);
    if list.len() <= place {
        list.resize(place + 1, 0);
    }
    #[expect(clippy::indexing_slicing, reason = "the list was made long enough")]
    &mut list[place]
}

#[cfg(test)]
mod tests;
