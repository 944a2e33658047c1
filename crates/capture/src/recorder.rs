//! Writing of chunks into files.

use crate::chunk::{Chunk, ChunkEntry, FrameGap, LossPlace};
use crate::databases::FrameDecoder;
use crate::file::{FileError, OutputTarget, RotationRule};
use crate::form::CaptureOutput;
use crate::names::{InterfaceNames, KnownNames};
use crate::pack::Packing;
use logs::{FrameEntry, FrameWriter, LossEntry};
use std::io;
use std::path::PathBuf;

/// Time for which the present file is kept in use if no new one can be created, in ns.
const RETRY: u64 = 10_000_000_000;

/// Interval of the checks whether the present file is still at the path of the record, in ns.
const CHECK_INTERVAL: u64 = 1_000_000_000;

/// A message for the user about the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecorderRemark {
    /// Nothing can be written at the moment; frames that arrive are counted as lost.
    Failing(String),
    /// Writing works again.
    Working,
    /// No new file can be created; the present one remains in use.
    NotRotated(String),
    /// Another program has removed or moved the present file: the record continues in a new one.
    Gone,
    /// A trigger has begun a file, or extended the one that is being written.
    Triggered {
        /// The trigger, in words.
        by: String,
        /// The file.
        file: PathBuf,
        /// The file had already been begun.
        extended: bool,
    },
    /// The memory for the time before a trigger covers less than requested; the time is in s.
    Short(u64),
}

/// The results so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecorderTotals {
    /// Frames that could not be written, by the index of the interface.
    pub lost: Vec<u64>,
    /// Entries whose bytes were not a frame, by the index of the interface.
    pub no_frames: Vec<u64>,
    /// Frames that were written.
    pub frames: u64,
    /// Frames whose message is in a database, and was passed to the format with them.
    pub named: u64,
    /// Bytes of all files that were begun, in their size on the disk: including the bytes at the
    /// end of a file, and excluding those that a full disk has not stored.
    pub bytes: u64,
    /// Files that were begun.
    pub files: u64,
    /// Triggers that occurred.
    pub triggers: u64,
    /// The error after which continuing is useless, for example because the reader of a pipe has
    /// closed it.
    pub ended: Option<io::ErrorKind>,
}

/// Writes frames into files, in one of the formats. The caller passes the time, in ns of a
/// monotonic clock.
pub struct FileRecorder {
    format: Box<dyn FrameWriter>,
    packing: Packing,
    flush_every: u64,
    rotate: RotationRule,
    names: KnownNames,
    decoder: FrameDecoder,
    target: OutputTarget,
    stream: bool,
    /// Formatted bytes that are not yet written.
    out: Vec<u8>,
    packed: Vec<u8>,
    /// Number of frames in `out`, by the index of the interface.
    waiting: Vec<u64>,
    /// Time at which the first of these frames arrived.
    since: Option<u64>,
    /// Time at which the present file was begun.
    begun: u64,
    /// Number of frames in the present file.
    in_file: u64,
    retry_at: u64,
    /// Time of the next check whether the present file exists.
    look_at: u64,
    /// Number of bytes of the files before the present one.
    earlier: u64,
    /// The present file cannot take more data.
    needs_new: bool,
    failing: bool,
    remarks: Vec<RecorderRemark>,
    done: RecorderTotals,
}

impl FileRecorder {
    /// Begins a record. With `numbered`, each trigger gets a file of its own.
    ///
    /// # Errors
    /// [`FileError`]
    pub fn new(
        output: &CaptureOutput,
        rotate: RotationRule,
        names: &InterfaceNames,
        now: u64,
        numbered: bool,
    ) -> Result<Self, FileError> {
        let target = if numbered {
            OutputTarget::numbered(output, rotate.keep)?
        } else {
            OutputTarget::open(output, rotate.keep)?
        };
        let format = output
            .format
            .writer(output.options)
            .map_err(|error| FileError::new(&output.path, io::Error::other(error)))?;
        // A program that reads a stream gets each chunk at once. Less frequent writes would save
        // system calls only for files, and packed bytes need enough input to be small.
        let at_once = output.is_stream() && output.packing == Packing::None;
        let flush_every = match at_once {
            true => 0,
            false => output.format.flush_every().as_nanos() as u64,
        };
        let mut recorder = Self {
            format,
            packing: output.packing,
            flush_every,
            rotate,
            names: KnownNames::new(names.clone()),
            decoder: FrameDecoder::new(output.databases().clone()),
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
            done: RecorderTotals::default(),
        };
        if !numbered {
            recorder.begin(now);
            recorder.flush();
        }
        Ok(recorder)
    }

    /// Returns the results so far.
    #[must_use]
    pub const fn done(&self) -> &RecorderTotals {
        &self.done
    }

    /// Returns the messages for the user since the last call.
    pub fn take_remarks(&mut self) -> Vec<RecorderRemark> {
        std::mem::take(&mut self.remarks)
    }

    pub(crate) fn remark(&mut self, remark: RecorderRemark) {
        self.remarks.push(remark);
    }

    pub(crate) const fn triggered(&mut self) {
        self.done.triggers += 1;
    }

    /// Returns the time at which collected frames must be written at the latest, if there are any.
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
    pub(crate) fn entry(&mut self, entry: &ChunkEntry<'_>, now: u64) {
        self.since.get_or_insert(now);
        match entry {
            ChunkEntry::Gap(gap) => self.loss(gap),
            ChunkEntry::Frame(record) => {
                // An upper bound for the size of a line or a block with this frame, without its
                // message.
                let most = 2 * record.bytes.len() as u64 + 128;
                if self.in_file > 0 && self.too_large(most) && now >= self.retry_at {
                    self.exchange(now);
                }
                let entry = record.frame().map(|frame| FrameEntry {
                    stamp: record.stamp,
                    interface: record.interface,
                    name: self.names.get(record.interface),
                    direction: record.direction,
                    frame,
                });
                let Some(entry) = entry.filter(|entry| self.format.frame(entry, &mut self.out))
                else {
                    *at(&mut self.done.no_frames, record.interface) += 1;
                    return;
                };
                if let Some(decoded) = self.decoder.decode(record, entry.name, entry.frame) {
                    self.format.message(&decoded, &mut self.out);
                    self.done.named += 1;
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

    fn loss(&mut self, gap: &FrameGap) {
        let loss = LossEntry {
            stamp: gap.stamp,
            interface: gap.interface.map(|place| (place, self.names.get(place))),
            frames: gap.frames,
            reason: gap.at.words(),
        };
        self.format.loss(&loss, &mut self.out);
    }

    /// Performs the actions that are due.
    pub fn tick(&mut self, now: u64) {
        if self.due().is_some_and(|due| now >= due) {
            self.flush();
        }
        if now >= self.look_at {
            self.look_at = now.saturating_add(CHECK_INTERVAL);
            if now >= self.retry_at && self.target.is_gone() && self.exchange(now) {
                self.remark(RecorderRemark::Gone);
            }
        }
        let every = self.rotate.every.map(|every| every.as_nanos() as u64);
        let old = every.is_some_and(|every| now.saturating_sub(self.begun) >= every);
        if old && self.in_file > 0 && now >= self.retry_at {
            self.exchange(now);
        }
    }

    /// Writes the remaining frames, and the file's end.
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

    /// Returns whether the present file would exceed its maximum size with `more` bytes more.
    fn too_large(&self, more: u64) -> bool {
        let waiting = match self.packing {
            Packing::None => self.out.len() as u64 + more,
            // The size after compression is unknown.
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

    /// Continues in a new file; returns false if that is not possible.
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
            self.remark(RecorderRemark::NotRotated(error.to_string()));
            // The file has its end; a section of its own follows.
            if self.format.is_resumable() {
                self.format.begin(&mut self.out);
            }
            return false;
        }
        self.earlier += before;
        self.retry_at = 0;
        self.begin(now);
        true
    }

    /// Writes the collected frames; those that cannot be written are counted and discarded.
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
                    self.remark(RecorderRemark::Working);
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
        let tail = self.format.flush(&mut self.out).map_err(io::Error::other)?;
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
            self.remark(RecorderRemark::Failing(error.to_string()));
        }
        // The file contains complete pieces or nothing: continue with a new section, or with a new
        // file.
        let waiting = std::mem::take(&mut self.waiting);
        self.in_file -= waiting.iter().sum::<u64>().min(self.in_file);
        if self.in_file == 0 && !self.needs_new {
            let _ = self.target.empty();
        } else if !self.format.is_resumable() {
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
            let gap = FrameGap {
                stamp: 0,
                interface: Some(place),
                frames: *frames,
                at: LossPlace::File,
            };
            self.loss(&gap);
        }
    }
}

/// Returns the number at an index; extends the list if necessary.
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
