//! Events of ports, for users.

use crate::link::LinkState;

/// An event of a port. [`Engine::events`](crate::Engine::events) reports it once; the caller
/// decides what to do with it (a log, a display).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PortEvent<'e> {
    /// The port cannot go on. It is out of service; the others go on.
    Failed {
        /// The port's name.
        port: &'e str,
        /// The error, with its cause and what to do.
        why: &'e str,
    },
    /// A port that had failed is in service again: it retries on its own
    /// ([`Transmit::retry_at`](crate::Transmit::retry_at)).
    Recovered {
        /// The port's name.
        port: &'e str,
    },
    /// Something that a user should know immediately
    /// ([`Receive::take_alarm`](crate::Receive::take_alarm)).
    Alarm {
        /// The port's name.
        port: &'e str,
        /// The message, in a sentence.
        what: &'e str,
    },
    /// The state of the port's interface on its bus has changed. Successive changes before a report
    /// are combined: only the last state is reported.
    Link {
        /// The port's name.
        port: &'e str,
        /// The previously reported state; [`LinkState::Up`] at first.
        before: LinkState,
        /// The current state.
        now: LinkState,
    },
}
