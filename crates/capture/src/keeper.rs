//! Keeps the last seconds in memory, and writes a file for each trigger.

use crate::chunk::{Chunk, ChunkEntry};
use crate::recorder::{FileRecorder, RecorderRemark};
use crate::trigger::CaptureTrigger;
use frame::Nanos;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

/// The time and memory that is kept, and the triggers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeepRule {
    /// Time before a trigger that is written.
    pub before: Duration,
    /// Time after a trigger that is written.
    pub after: Duration,
    /// Maximum memory, in bytes; the oldest frames are discarded first.
    pub memory: u64,
    /// The triggers.
    pub triggers: Vec<CaptureTrigger>,
}

/// Keeps frames in memory until a trigger occurs. A trigger that occurs while a file is being
/// written extends this file.
pub struct FrameKeeper {
    settings: KeepRule,
    recorder: FileRecorder,
    /// The chunks, oldest first; the last one is being filled.
    kept: VecDeque<KeptChunk>,
    /// The file that is being written.
    open: Option<OpenFile>,
    /// The shortest time that the memory covered, in ns, if it was too small.
    short: Option<Nanos>,
}

#[derive(Default)]
struct KeptChunk {
    chunk: Chunk,
    /// Its newest stamp.
    newest: Nanos,
}

struct OpenFile {
    name: PathBuf,
    /// The last stamp that belongs to the file.
    until: Nanos,
    /// Time at which the file ends at the latest, if no frame with a later stamp ends it before.
    latest: u64,
}

impl FrameKeeper {
    /// Creates a keeper with empty memory. The recorder has one file for each trigger.
    #[must_use]
    pub const fn new(settings: KeepRule, recorder: FileRecorder) -> Self {
        Self {
            settings,
            recorder,
            kept: VecDeque::new(),
            open: None,
            short: None,
        }
    }

    /// Returns the recorder that writes the files.
    pub const fn recorder(&mut self) -> &mut FileRecorder {
        &mut self.recorder
    }

    /// Takes a chunk's entries.
    pub fn take(&mut self, chunk: &Chunk, now: u64) {
        for entry in chunk.entries() {
            if let ChunkEntry::Frame(record) = &entry {
                let over = self.open.as_ref();
                if over.is_some_and(|open| record.stamp > open.until) {
                    self.close();
                }
                let triggers = &self.settings.triggers;
                if let Some(trigger) = triggers.iter().find(|trigger| trigger.is(record)) {
                    let by = trigger.to_string();
                    self.trigger(by, record.stamp, now);
                }
            }
            if self.open.is_some() {
                self.recorder.entry(&entry, now);
            }
            self.keep(&entry);
        }
        self.tick(now);
    }

    /// Handles SIGUSR1, received at this Unix time.
    pub fn signal(&mut self, stamp: Nanos, now: u64) {
        if self.settings.triggers.contains(&CaptureTrigger::Signal) {
            self.trigger(CaptureTrigger::Signal.to_string(), stamp, now);
        }
    }

    /// Performs the actions that are due.
    pub fn tick(&mut self, now: u64) {
        if self.open.as_ref().is_some_and(|open| now >= open.latest) {
            self.close();
        }
        if self.open.is_some() {
            self.recorder.tick(now);
        }
    }

    /// Returns the time of the next action that is due without new frames.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let open = self.open.as_ref()?;
        let due = self.recorder.due().unwrap_or(u64::MAX);
        Some(due.min(open.latest))
    }

    /// Ends the record; an open file ends here.
    pub fn end(&mut self) {
        if self.open.is_some() {
            self.close();
        }
    }

    fn close(&mut self) {
        self.open = None;
        self.recorder.end();
    }

    fn trigger(&mut self, by: String, stamp: Nanos, now: u64) {
        self.recorder.triggered();
        let after = self.settings.after.as_nanos() as u64;
        let until = stamp.saturating_add(after);
        // Blocks of the ring and chunks arrive with a delay.
        let latest = now.saturating_add(after).saturating_add(2_000_000_000);
        if let Some(open) = &mut self.open {
            (open.until, open.latest) = (open.until.max(until), latest);
            let file = open.name.clone();
            self.recorder.remark(RecorderRemark::Triggered {
                by,
                file,
                extended: true,
            });
            return;
        }
        let name = match self.recorder.begin_numbered(now) {
            Ok(name) => name,
            Err(error) => {
                self.recorder
                    .remark(RecorderRemark::Failing(error.to_string()));
                return;
            }
        };
        let from = stamp.saturating_sub(self.settings.before.as_nanos() as u64);
        if let Some(short) = self.short.take() {
            self.recorder
                .remark(RecorderRemark::Short(short / 1_000_000_000));
        }
        for kept in &self.kept {
            for entry in kept.chunk.entries() {
                let at = match &entry {
                    ChunkEntry::Frame(record) => record.stamp,
                    ChunkEntry::Gap(gap) => gap.stamp,
                };
                if at >= from {
                    self.recorder.entry(&entry, now);
                }
            }
        }
        self.recorder.remark(RecorderRemark::Triggered {
            by,
            file: name.clone(),
            extended: false,
        });
        self.open = Some(OpenFile {
            name,
            until,
            latest,
        });
    }

    fn keep(&mut self, entry: &ChunkEntry<'_>) {
        if self.kept.back().is_none_or(|last| !last.chunk.has_room()) {
            let chunk = self.forget();
            self.kept.push_back(KeptChunk {
                chunk: chunk.unwrap_or_else(Chunk::with_room),
                newest: 0,
            });
        }
        if let Some(last) = self.kept.back_mut() {
            if let ChunkEntry::Frame(record) = entry {
                last.newest = last.newest.max(record.stamp);
            }
            last.chunk.push_entry(entry);
        }
    }

    /// Makes room for one more chunk; returns one that is free.
    fn forget(&mut self) -> Option<Chunk> {
        let newest = self.kept.back()?.newest;
        let before = self.settings.before.as_nanos() as u64;
        let most = (self.settings.memory / crate::chunk::CHUNK as u64).max(2) as usize;
        let mut free = None;
        while let Some(first) = self.kept.front() {
            let age = newest.saturating_sub(first.newest);
            if age <= before {
                if self.kept.len() < most {
                    break;
                }
                let worst = self.short.unwrap_or(Nanos::MAX);
                self.short = Some(worst.min(age));
            }
            free = self.kept.pop_front().map(|kept| kept.chunk);
        }
        if let Some(chunk) = &mut free {
            chunk.clear();
        }
        free
    }
}

#[cfg(test)]
mod tests;
