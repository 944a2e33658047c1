//! The queue from the reader to the writer.

use crate::chunk::Chunk;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// A message to the writer.
#[derive(Debug)]
pub(crate) enum WriterMessage {
    /// Frames, and the time at which they were handed over, in ns of a monotonic clock.
    Chunk(Chunk, u64),
    /// SIGUSR1 was received at this Unix time, in ns.
    Signal(u64),
}

/// The reader's end: it never waits, and allocates at most as many chunks as the queue is long.
#[derive(Debug)]
pub(crate) struct ChunkSender {
    full: SyncSender<WriterMessage>,
    empty: Receiver<Chunk>,
    made: usize,
    most: usize,
}

/// The writer's end.
#[derive(Debug)]
pub(crate) struct ChunkInbox {
    pub(crate) full: Receiver<WriterMessage>,
    pub(crate) empty: SyncSender<Chunk>,
}

/// Creates a queue for `chunks` chunks.
pub(crate) fn queue(chunks: usize) -> (ChunkSender, ChunkInbox) {
    let (full, inbox) = sync_channel(chunks + 8);
    let (back, empty) = sync_channel(chunks + 8);
    let sender = ChunkSender {
        full,
        empty,
        made: 0,
        most: chunks,
    };
    let inbox = ChunkInbox {
        full: inbox,
        empty: back,
    };
    (sender, inbox)
}

impl ChunkSender {
    /// Returns an empty chunk to fill; `None` if all are in use.
    pub(crate) fn chunk(&mut self) -> Option<Chunk> {
        if let Ok(chunk) = self.empty.try_recv() {
            return Some(chunk);
        }
        if self.made == self.most {
            return None;
        }
        self.made += 1;
        Some(Chunk::with_room())
    }

    /// Sends a message; returns it if the queue is full or the writer has ended.
    pub(crate) fn send(&self, message: WriterMessage) -> Result<(), WriterMessage> {
        match self.full.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) => Err(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_chunks_than_the_queue_is_long() {
        let (mut sender, inbox) = queue(2);
        for _ in 0..2 {
            let chunk = sender.chunk().unwrap();
            sender.send(WriterMessage::Chunk(chunk, 0)).unwrap();
        }
        assert!(sender.chunk().is_none());
        let Ok(WriterMessage::Chunk(chunk, _)) = inbox.full.recv() else {
            panic!("a chunk was sent");
        };
        inbox.empty.send(chunk).unwrap();
        assert!(sender.chunk().is_some() && sender.chunk().is_none());
        drop(inbox);
        assert!(sender.send(WriterMessage::Signal(1)).is_err());
    }
}
