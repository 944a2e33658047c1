//! Round trips: a *master* sends a frame, a *slave* answers it, and the master says how long that
//! took (drivers-2009 §3.1, whose tool is called canping). It works over every kind of port, and so
//! over every kind of driver.
//!
//! * [`Plan`]: what is sent, how often, and how long an answer is waited for.
//! * [`Master`], [`Slave`]: what each does when it is asked; time is passed in by a clock, so that
//!   tests run in virtual time.
//! * [`RoundTrips`]: the figures of a master, exact for the first million, in bounded memory.
//! * [`Party`], [`play`]: masters and slaves with their ports, in threads that wait.
//! * [`results`]: every round trip for `probe`'s file.
//!
//! What is measured is what an application sees: from just before the call that sends to just
//! after the call that brings the answer. Both frames' time on the bus is in it.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod figures;
mod live;
mod master;
mod number;
mod party;
mod plan;
mod player;
mod rate;
pub mod results;
mod slave;
mod stop;
#[cfg(test)]
mod test_port;

pub use figures::RoundTrips;
pub use live::Live;
pub use master::{Counts, Master, RoundTrip};
pub use party::{Part, Party, Played, Settings, play};
pub use plan::{LONGEST_TIMEOUT, Plan, PlanError, bus_time};
pub use rate::bit_rate;
pub use slave::{Answered, Slave};
pub use stop::Stop;

use frame::Nanos;

/// When a master or a slave wants to be asked again, if nothing comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time at the latest; `None`: when a frame comes.
    At(Option<Nanos>),
    /// Never: it has done all that it was to do.
    Done,
}
