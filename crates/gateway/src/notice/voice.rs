//! The control thread's way to the listener.

use super::limit::Limiter;
use super::outbox::Outbox;
use super::{Listener, Notice, Said};
use frame::Nanos;
use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime};

/// Says things to a listener, not too many at once.
pub(crate) struct Voice<'l> {
    listener: &'l Listener<'l>,
    limiter: RefCell<Limiter>,
    started: Instant,
}

impl<'l> Voice<'l> {
    pub(crate) fn new(listener: &'l Listener<'l>) -> Self {
        Self {
            listener,
            limiter: RefCell::default(),
            started: Instant::now(),
        }
    }

    /// Something happens now.
    pub(crate) fn say(&self, notice: Notice) {
        self.pass(Said::new(SystemTime::now(), notice));
    }

    fn pass(&self, said: Said) {
        let said = self.limiter.borrow_mut().offer(self.now(), said);
        if let Some(said) = said {
            (self.listener)(&said);
        }
    }

    /// Says what the worker has put in, with its time, as `complete` fills it in.
    pub(crate) fn relay(&self, outbox: &Outbox, complete: impl Fn(Notice) -> Notice) {
        for said in outbox.take() {
            self.pass(Said {
                notice: complete(said.notice),
                ..said
            });
        }
    }

    /// Says what was kept back and may be said now.
    pub(crate) fn catch_up(&self) {
        let due = self.limiter.borrow_mut().due(self.now());
        due.iter().for_each(self.listener);
    }

    /// How long until [`Voice::catch_up`] has something to say.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let at = self.limiter.borrow().deadline()?;
        Some(Duration::from_nanos(at.saturating_sub(self.now())))
    }

    fn now(&self) -> Nanos {
        Nanos::try_from(self.started.elapsed().as_nanos()).unwrap_or(Nanos::MAX)
    }
}

impl Drop for Voice<'_> {
    /// The end: says all that was kept back.
    fn drop(&mut self) {
        let rest = self.limiter.borrow_mut().rest();
        rest.iter().for_each(self.listener);
    }
}
