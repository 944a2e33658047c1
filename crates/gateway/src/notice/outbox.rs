//! The queue of the worker's notices to the control thread.

use super::{LinkSource, LoggedNotice, Notice};
use engine::PortEvent;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use worker::WorkerListener;

/// The length from which on a notice replaces an older one of the same port and event, and counts
/// it. Each port has only a few events, so this limits the length of the queue.
const MOST: usize = 256;

/// A queue with an eventfd as its bell, from the worker to the control thread. The worker uses it
/// for events of ports, never for a frame.
pub(crate) struct NoticeOutbox {
    waiting: Mutex<VecDeque<LoggedNotice>>,
    bell: OwnedFd,
}

impl NoticeOutbox {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            waiting: Mutex::new(VecDeque::new()),
            bell: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
        })
    }

    /// Adds a notice, with the time, and rings the bell.
    pub(crate) fn push(&self, notice: Notice) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut more = 0;
        if waiting.len() >= MOST {
            let key = |n: &Notice| (n.about().to_owned(), n.event());
            let new = key(&notice);
            let older = waiting.iter().position(|logged| key(&logged.notice) == new);
            more = older
                .and_then(|at| waiting.remove(at))
                .map_or(0, |older| older.more + 1);
        }
        let logged = LoggedNotice::new(SystemTime::now(), notice);
        waiting.push_back(LoggedNotice { more, ..logged });
        drop(waiting);
        // The write fails only if the counter is full, and then the bell rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Takes all waiting notices, the oldest first.
    pub(crate) fn take(&self) -> VecDeque<LoggedNotice> {
        let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *waiting)
    }

    /// Returns a descriptor that is readable while notices wait.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl WorkerListener for NoticeOutbox {
    fn port_event(&self, event: PortEvent<'_>) {
        self.push(match event {
            PortEvent::Failed { port, why } => Notice::PortFailed {
                port: port.to_owned(),
                why: why.to_owned(),
            },
            PortEvent::Recovered { port } => Notice::PortRecovered {
                port: port.to_owned(),
            },
            PortEvent::Alarm { port, what } => Notice::PortRemarks {
                remarks: vec![format!("{port}: {what}")],
            },
            PortEvent::Link { port, before, now } => Notice::Link {
                port: port.to_owned(),
                interface: None,
                before,
                now,
                source: LinkSource::Socket,
            },
            _ => return,
        });
    }

    fn wait_failed(&self, why: &std::io::Error) {
        self.push(Notice::WaitFailed {
            what: "frames",
            why: why.to_string(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_keeps_the_last_of_each_port() {
        let outbox = NoticeOutbox::new().unwrap();
        for n in 0..10_000 {
            outbox.push(Notice::PortFailed {
                port: format!("port {}", n % 2),
                why: n.to_string(),
            });
        }
        let all = outbox.take();
        assert_eq!(all.len(), MOST);
        let reported: u64 = all.iter().map(|logged| logged.more + 1).sum();
        assert_eq!(reported, 10_000, "each is there or counted");
        let of = |logged: &&LoggedNotice, port: &str| logged.notice.about() == port;
        let last = |port: &str| all.iter().rev().find(|logged| of(logged, port)).cloned();
        for (port, why) in [("port 0", "9998"), ("port 1", "9999")] {
            let notice = last(port).unwrap().notice;
            let expected = Notice::PortFailed {
                port: port.into(),
                why: why.into(),
            };
            assert_eq!(notice, expected);
        }
        assert!(outbox.take().is_empty());
    }
}
