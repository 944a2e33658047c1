//! The writer's thread.

use super::settings::words;
use crate::chunk::Chunk;
use crate::counts::CaptureCounts;
use crate::keeper::FrameKeeper;
use crate::queue::{ChunkInbox, WriterMessage};
use crate::recorder::{FileRecorder, RecorderTotals};
use std::io;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The destination of chunks.
pub(super) enum ChunkSink {
    Always(Box<FileRecorder>),
    Triggered(Box<FrameKeeper>),
}

/// The state of the writer that other threads can read.
#[derive(Debug, Default)]
pub(super) struct WriterStatus(Mutex<WriterState>);

#[derive(Debug, Default)]
struct WriterState {
    done: RecorderTotals,
    remarks: Vec<String>,
}

impl WriterStatus {
    fn lock(&self) -> MutexGuard<'_, WriterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn done(&self) -> RecorderTotals {
        self.lock().done.clone()
    }

    pub(super) fn ended(&self) -> Option<io::ErrorKind> {
        self.lock().done.ended
    }

    pub(super) fn take_remarks(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().remarks)
    }

    /// Adds the frames that could not be written to the counts.
    pub(super) fn add_to(&self, counts: &mut CaptureCounts) {
        let state = self.lock();
        for (place, frames) in state.done.lost.iter().enumerate() {
            counts.at(place as u16).lost_file = *frames;
        }
        for (place, frames) in state.done.no_frames.iter().enumerate() {
            counts.at(place as u16).no_frames = *frames;
        }
    }
}

/// Takes chunks out of the queue until the sender is dropped.
pub(super) struct ChunkWriter {
    sink: ChunkSink,
    inbox: ChunkInbox,
    shared: Arc<WriterStatus>,
    start: Instant,
}

impl ChunkWriter {
    pub(super) const fn new(
        sink: ChunkSink,
        inbox: ChunkInbox,
        shared: Arc<WriterStatus>,
        start: Instant,
    ) -> Self {
        Self {
            sink,
            inbox,
            shared,
            start,
        }
    }

    pub(super) fn run(mut self) {
        loop {
            let due = match &self.sink {
                ChunkSink::Always(recorder) => recorder.due(),
                ChunkSink::Triggered(keeper) => keeper.due(),
            };
            let message = match due {
                // No data is waiting to be written: block without a timeout.
                None => self.inbox.full.recv().map_err(RecvTimeoutError::from),
                Some(due) => {
                    let time = due.saturating_sub(self.now());
                    self.inbox.full.recv_timeout(Duration::from_nanos(time))
                }
            };
            match message {
                Ok(WriterMessage::Chunk(chunk, now)) => self.chunk(chunk, now),
                Ok(WriterMessage::Signal(stamp)) => {
                    let now = self.now();
                    if let ChunkSink::Triggered(keeper) = &mut self.sink {
                        keeper.signal(stamp, now);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.now();
                    match &mut self.sink {
                        ChunkSink::Always(recorder) => recorder.tick(now),
                        ChunkSink::Triggered(keeper) => keeper.tick(now),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.report();
        }
        match &mut self.sink {
            ChunkSink::Always(recorder) => recorder.end(),
            ChunkSink::Triggered(keeper) => keeper.end(),
        }
        self.report();
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn chunk(&mut self, mut chunk: Chunk, now: u64) {
        match &mut self.sink {
            ChunkSink::Always(recorder) => recorder.take(&chunk, now),
            ChunkSink::Triggered(keeper) => keeper.take(&chunk, now),
        }
        chunk.clear();
        // If the reader has ended, the chunk is not needed any more.
        let _ = self.inbox.empty.try_send(chunk);
    }

    fn report(&mut self) {
        let recorder = match &mut self.sink {
            ChunkSink::Always(recorder) => recorder,
            ChunkSink::Triggered(keeper) => keeper.recorder(),
        };
        let remarks = recorder.take_remarks();
        let mut state = self.shared.lock();
        state.done.clone_from(recorder.done());
        state.remarks.extend(remarks.iter().map(words));
    }
}
