//! Requests of the control thread to the worker, and the wait for its answer.

use crate::notice::NoticeOutbox;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use worker::WallClock;
use worker::{WorkerMailbox, WorkerMessage};

/// The control thread's link to the worker.
pub(crate) struct WorkerLink<'a> {
    pub(crate) mailbox: &'a WorkerMailbox,
    /// The queue of the worker's notices.
    pub(crate) outbox: &'a NoticeOutbox,
    pub(crate) clock: WallClock,
    /// Returns whether the worker's thread has ended.
    pub(crate) has_ended: &'a dyn Fn() -> bool,
}

impl WorkerLink<'_> {
    /// Sends a message and waits for the answer; returns `None` if the worker has ended.
    pub(crate) fn ask<T>(&self, message: impl FnOnce(SyncSender<T>) -> WorkerMessage) -> Option<T> {
        self.ask_until(None, message)
    }

    /// Does the same as [`WorkerLink::ask`], until `end` at the latest; returns `None` if there is
    /// no answer by then.
    pub(crate) fn ask_until<T>(
        &self,
        end: Option<Instant>,
        message: impl FnOnce(SyncSender<T>) -> WorkerMessage,
    ) -> Option<T> {
        let (reply, answer) = sync_channel(1);
        self.mailbox.send(message(reply));
        loop {
            match answer.recv_timeout(Duration::from_millis(20)) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if (self.has_ended)() => {
                    return answer.try_recv().ok();
                }
                Err(RecvTimeoutError::Timeout) if end.is_some_and(|at| at <= Instant::now()) => {
                    return None;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
