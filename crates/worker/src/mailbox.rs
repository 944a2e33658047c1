//! Messages from the control thread to the worker, which reads them between two batches, never
//! within one.

use crate::client_frames::ClientFrames;
use crate::halves::{ChangeResult, LayoutChange};
use crate::watching::TapChange;
use engine::{EngineCounts, SettledFrames};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A request of the control thread to the worker.
pub enum WorkerMessage {
    /// Copy all counters into this and send it back.
    Count(Box<EngineCounts>, SyncSender<Box<EngineCounts>>),
    /// Take over another table and other ports.
    Apply(Box<LayoutChange>, SyncSender<ChangeResult>),
    /// Count the fates of frames of a removed port.
    Settle(String, SettledFrames),
    /// Offer frames of a client to their port, and send them back with its answers.
    Send(Box<ClientFrames>, SyncSender<Box<ClientFrames>>),
    /// Put taps around ports, or take them away, and send back what the other thread frees.
    Tap(Vec<TapChange>, SyncSender<Vec<TapChange>>),
    /// Stop receiving, send the frames that are held within this time, and end.
    Stop(Duration),
}

/// A message queue with an eventfd as its bell. The worker checks one flag after each step; it
/// locks the queue only if the flag is set.
pub struct WorkerMailbox {
    letters: Mutex<VecDeque<WorkerMessage>>,
    waiting: AtomicBool,
    bell: OwnedFd,
}

impl WorkerMailbox {
    /// Creates an empty mailbox.
    ///
    /// # Errors
    /// Those of eventfd(2).
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            letters: Mutex::new(VecDeque::with_capacity(16)),
            waiting: AtomicBool::new(false),
            bell: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        })
    }

    /// Adds a message and wakes the worker up.
    pub fn send(&self, message: WorkerMessage) {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        letters.push_back(message);
        self.waiting.store(true, Ordering::Release);
        drop(letters);
        // The write fails only if the counter is full, and then the bell rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Returns whether a message waits. For the worker.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire)
    }

    /// Takes the oldest message. For the worker.
    pub(crate) fn take(&self) -> Option<WorkerMessage> {
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        let message = letters.pop_front();
        if letters.is_empty() {
            self.waiting.store(false, Ordering::Release);
            let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
        }
        message
    }

    /// Returns a descriptor that is readable while a message waits.
    pub(crate) fn bell(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}
