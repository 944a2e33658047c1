//! The control thread's way to pass notices to the listener.

use super::limit::NoticeLimiter;
use super::outbox::NoticeOutbox;
use super::{Listener, LoggedNotice, Notice};
use frame::Nanos;
use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime};

/// Passes notices to a listener, at a limited rate.
pub(crate) struct NoticeSender<'l> {
    listener: &'l Listener<'l>,
    limiter: RefCell<NoticeLimiter>,
    started: Instant,
}

impl<'l> NoticeSender<'l> {
    pub(crate) fn new(listener: &'l Listener<'l>) -> Self {
        Self {
            listener,
            limiter: RefCell::default(),
            started: Instant::now(),
        }
    }

    /// Passes on a notice of an event that happens now.
    pub(crate) fn send(&self, notice: Notice) {
        self.limit(LoggedNotice::new(SystemTime::now(), notice));
    }

    fn limit(&self, logged: LoggedNotice) {
        let logged = self.limiter.borrow_mut().offer(self.now(), logged);
        if let Some(logged) = logged {
            (self.listener)(&logged);
        }
    }

    /// Passes on the worker's notices, with their times, after `complete` has filled them in.
    pub(crate) fn relay(&self, outbox: &NoticeOutbox, complete: impl Fn(Notice) -> Notice) {
        for logged in outbox.take() {
            self.limit(LoggedNotice {
                notice: complete(logged.notice),
                ..logged
            });
        }
    }

    /// Passes on the notices that were held back and are due.
    pub(crate) fn catch_up(&self) {
        let due = self.limiter.borrow_mut().due(self.now());
        due.iter().for_each(self.listener);
    }

    /// Returns the time until [`NoticeSender::catch_up`] has a notice to pass on.
    pub(crate) fn time_until_due(&self) -> Option<Duration> {
        let at = self.limiter.borrow().deadline()?;
        Some(Duration::from_nanos(at.saturating_sub(self.now())))
    }

    fn now(&self) -> Nanos {
        Nanos::try_from(self.started.elapsed().as_nanos()).unwrap_or(Nanos::MAX)
    }
}

impl Drop for NoticeSender<'_> {
    /// Passes on all notices that were held back, at the end.
    fn drop(&mut self) {
        let rest = self.limiter.borrow_mut().rest();
        rest.iter().for_each(self.listener);
    }
}
