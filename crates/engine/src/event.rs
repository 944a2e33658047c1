//! What people should be told about ports, when it happens.

use crate::link::LinkState;

/// Something that happened to a port. [`Engine::events`](crate::Engine::events) tells it once;
/// what to do with it (a log, a display) is the caller's affair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// The port cannot go on. It is out of service; the others go on.
    Failed {
        /// The port's name.
        port: &'e str,
        /// What happened, with its cause and what to do.
        why: &'e str,
    },
    /// A port that had failed is in service again: it tries by itself
    /// ([`Transmit::retry_at`](crate::Transmit::retry_at)).
    Recovered {
        /// The port's name.
        port: &'e str,
    },
    /// Something that a user should know at once
    /// ([`Receive::take_alarm`](crate::Receive::take_alarm)).
    Alarm {
        /// The port's name.
        port: &'e str,
        /// What happened, in a sentence.
        what: &'e str,
    },
    /// The port's interface changed how it takes part in its bus. Changes that followed one another
    /// before they were told are one: the last state is told.
    Link {
        /// The port's name.
        port: &'e str,
        /// What was told last; [`LinkState::Up`] at first.
        before: LinkState,
        /// How it is now.
        now: LinkState,
    },
}
