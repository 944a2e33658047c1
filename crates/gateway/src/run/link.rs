//! How the control thread asks the worker and waits for its answer.

use super::clock::Clock;
use super::mailbox::{Mailbox, Message};
use crate::notice::Outbox;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// The control thread's link to the worker.
pub(crate) struct WorkerLink<'a> {
    pub(crate) mailbox: &'a Mailbox,
    /// What the worker says.
    pub(crate) outbox: &'a Outbox,
    pub(crate) clock: Clock,
    /// Has the worker's thread ended?
    pub(crate) has_ended: &'a dyn Fn() -> bool,
}

impl WorkerLink<'_> {
    /// Sends a message and waits for the answer; none where the worker has ended.
    pub(crate) fn ask<T>(&self, message: impl FnOnce(SyncSender<T>) -> Message) -> Option<T> {
        self.ask_until(None, message)
    }

    /// As [`WorkerLink::ask`], until then at the latest; none where there is no answer by then.
    pub(crate) fn ask_until<T>(
        &self,
        end: Option<Instant>,
        message: impl FnOnce(SyncSender<T>) -> Message,
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
