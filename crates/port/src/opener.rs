//! What ports are told when they are opened, and what those of one kind share.

use crate::PortError;
use frame::Nanos;
use std::any::{Any, TypeId};
use std::collections::HashMap;

/// Opens ports, together with their settings: [`PortSpec::open`](crate::PortSpec::open). It lives
/// as long as the gateway, because a port that is opened later (after a reload) shares things with
/// earlier ones: a bus inside the process, or the knowledge which logs were begun.
///
/// Opening harms nothing that is there. When all ports are open and nothing else can fail,
/// [`Opener::start`] lets them begin; otherwise, [`Opener::give_up`] leaves all as it was.
pub struct Opener {
    started: Nanos,
    epoch: Nanos,
    strict: bool,
    awaits_interfaces: bool,
    shared: HashMap<TypeId, Box<dyn Any + Send>>,
    at_start: Vec<Box<dyn AtStart>>,
}

/// What must not happen before everything else of a start (or of a reload) has succeeded, such as
/// emptying a file. Dropped without a call, it leaves everything as it was.
pub trait AtStart: Send {
    /// The start has succeeded.
    ///
    /// # Errors
    /// [`PortError`] says what is wrong; the start fails after all.
    fn start(&mut self) -> Result<(), PortError>;
}

impl Opener {
    /// The gateway's clock shows `now` when it is `unix`, both ns: logs are written in Unix
    /// time. Embedded buses begin at time 0 now and keep pace with the clock.
    #[must_use]
    pub fn new(now: Nanos, unix: Nanos) -> Self {
        Self {
            started: now,
            epoch: unix.saturating_sub(now),
            strict: false,
            awaits_interfaces: false,
            shared: HashMap::new(),
            at_start: Vec::new(),
        }
    }

    /// Bad input (a line of a log that is no frame) stops its port, instead of being left out.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// A port whose Linux interface is not there is opened all the same, and waits for it.
    #[must_use]
    pub fn awaiting_interfaces(mut self) -> Self {
        self.awaits_interfaces = true;
        self
    }

    /// Is a port opened whose Linux interface is not there?
    #[must_use]
    pub const fn awaits_interfaces(&self) -> bool {
        self.awaits_interfaces
    }

    /// What the gateway's clock showed when the run began, ns.
    #[must_use]
    pub const fn started(&self) -> Nanos {
        self.started
    }

    /// The Unix time at which the gateway's clock was 0, ns.
    #[must_use]
    pub const fn epoch(&self) -> Nanos {
        self.epoch
    }

    /// Does bad input stop a port?
    #[must_use]
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// Keeps something back until [`Opener::start`].
    pub fn at_start(&mut self, what: impl AtStart + 'static) {
        self.at_start.push(Box::new(what));
    }

    /// All ports are open, and nothing else can fail: does what was kept back.
    ///
    /// # Errors
    /// What failed, in the order of the ports. Whatever can be done is done.
    pub fn start(&mut self) -> Result<(), Vec<PortError>> {
        let mut errors = Vec::new();
        for mut what in self.at_start.drain(..) {
            errors.extend(what.start().err());
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// The start or the reload has failed: what was kept back never happens.
    pub fn give_up(&mut self) {
        self.at_start.clear();
    }

    /// What the ports of one kind share, found by its type. It is made at the first use, and kept
    /// for the whole run.
    pub fn shared<T: Any + Send>(&mut self, make: impl FnOnce() -> T) -> &mut T {
        let kept = self
            .shared
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Box::new(make()));
        kept.downcast_mut()
            .unwrap_or_else(|| unreachable!("it is kept under its own type"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_is_kept_once() {
        let mut opener = Opener::new(5, 12).strict(true);
        assert_eq!((opener.started(), opener.epoch()), (5, 7));
        assert!(opener.is_strict());
        *opener.shared(|| 1_u32) += 1;
        *opener.shared(|| 10_u64) += 1;
        assert_eq!(*opener.shared(|| 7_u32), 2);
        assert_eq!(*opener.shared(|| 7_u64), 11);
    }
}
