//! Parameters with which ports are opened, and data that the ports of one kind share.

use crate::PortError;
use frame::Nanos;
use linux::clock::{ClockLead, lead};
use std::any::{Any, TypeId};
use std::collections::HashMap;

/// The context in which settings open ports: [`PortSpec::open`](crate::PortSpec::open). It lives
/// as long as the gateway, because a port that is opened later (after a reload) shares data with
/// earlier ones: a bus inside the process, or the list of logs that this run has begun.
///
/// Opening does no harm to anything that exists. When all ports are open and nothing else can fail,
/// [`PortOpener::start`] lets them begin; otherwise, [`PortOpener::give_up`] leaves everything as
/// it was.
pub struct PortOpener {
    started: Nanos,
    epoch: Nanos,
    lead: ClockLead,
    strict: bool,
    awaits_interfaces: bool,
    shared: HashMap<TypeId, Box<dyn Any + Send>>,
    at_start: Vec<Box<dyn AtStart>>,
}

/// An action that must not happen before everything else of a start (or of a reload) has succeeded,
/// such as emptying a file. Dropped without a call, it leaves everything as it was.
pub trait AtStart: Send {
    /// Performs the action, because the start has succeeded.
    ///
    /// # Errors
    /// [`PortError`] if the action fails; then the start fails after all.
    fn start(&mut self) -> Result<(), PortError>;
}

impl PortOpener {
    /// Returns an opener. `now` is the present time of the gateway's clock and `unix` the present
    /// Unix time, both ns: logs are written in Unix time. Embedded buses begin at time 0 now and
    /// keep pace with the clock.
    #[must_use]
    pub fn new(now: Nanos, unix: Nanos) -> Self {
        Self {
            started: now,
            epoch: unix.saturating_sub(now),
            lead: lead(),
            strict: false,
            awaits_interfaces: false,
            shared: HashMap::new(),
            at_start: Vec::new(),
        }
    }

    /// Sets whether bad input (a line of a log that is not a frame) stops its port, instead of
    /// being left out.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Lets a port whose Linux interface does not exist be opened all the same, and wait for it.
    #[must_use]
    pub fn awaiting_interfaces(mut self) -> Self {
        self.awaits_interfaces = true;
        self
    }

    /// Returns whether a port whose Linux interface does not exist is opened.
    #[must_use]
    pub const fn awaits_interfaces(&self) -> bool {
        self.awaits_interfaces
    }

    /// Returns the time of the gateway's clock at which the run began, ns.
    #[must_use]
    pub const fn started(&self) -> Nanos {
        self.started
    }

    /// Returns the Unix time at which the gateway's clock was 0, ns.
    #[must_use]
    pub const fn epoch(&self) -> Nanos {
        self.epoch
    }

    /// Returns the lead of the system clock when [`PortOpener::epoch`] was determined: later steps
    /// of the system clock change it.
    #[must_use]
    pub const fn lead(&self) -> ClockLead {
        self.lead
    }

    /// Returns whether bad input stops a port.
    #[must_use]
    pub const fn is_strict(&self) -> bool {
        self.strict
    }

    /// Defers an action until [`PortOpener::start`].
    pub fn at_start(&mut self, what: impl AtStart + 'static) {
        self.at_start.push(Box::new(what));
    }

    /// Performs the deferred actions, when all ports are open and nothing else can fail.
    ///
    /// # Errors
    /// The errors of the actions, in the order of the ports. All actions are tried, even if some
    /// fail.
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

    /// Discards the deferred actions, because the start or the reload has failed.
    pub fn give_up(&mut self) {
        self.at_start.clear();
    }

    /// Returns data that the ports of one kind share, identified by its type. It is made at the
    /// first use, and kept for the whole run.
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
        let mut opener = PortOpener::new(5, 12).strict(true);
        assert_eq!((opener.started(), opener.epoch()), (5, 7));
        assert!(opener.is_strict());
        *opener.shared(|| 1_u32) += 1;
        *opener.shared(|| 10_u64) += 1;
        assert_eq!(*opener.shared(|| 7_u32), 2);
        assert_eq!(*opener.shared(|| 7_u64), 11);
    }
}
