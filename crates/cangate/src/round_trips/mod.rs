//! Round trips: a *master* sends a frame, a *slave* answers it, and the master measures how long
//! that took (drivers-2009 §3.1, whose tool is called canping). It works over every kind of port,
//! and so over every kind of driver.
//!
//! * [`PingPlan`]: the frames to send, the period, and the timeout for an answer.
//! * [`PingMaster`], [`PingSlave`]: one step of each; a clock passes the time in, so that tests run
//!   in virtual time.
//! * [`RoundTrips`]: the statistics of a master, exact for the first million, in bounded memory.
//! * [`PingParty`], [`play`]: masters and slaves with their ports, in threads that wait.
//! * [`results`]: every round trip for `probe`'s file.
//!
//! The measured time is the time that an application sees: from just before the call that sends to
//! just after the call that returns the answer. It includes the time of both frames on the bus.

mod figures;
mod live;
mod master;
mod number;
mod party;
mod plan;
mod player;
mod rate;
pub(crate) mod results;
mod slave;
mod stop;
#[cfg(test)]
mod test_port;

pub(crate) use figures::RoundTrips;
pub(crate) use live::LiveCounts;
pub(crate) use master::{MasterCounts, PingMaster, RoundTrip};
pub(crate) use party::{PartyEnd, PartyRole, PingParty, PingSettings, play};
pub(crate) use plan::{PingPlan, bus_time};
pub(crate) use rate::bit_rate;
pub(crate) use slave::{PingSlave, SlaveCounts};
pub(crate) use stop::StopHandle;

use frame::Nanos;

/// The time of the next step of a master or a slave, if no frame comes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextCall {
    /// At this time at the latest; `None`: when a frame comes.
    At(Option<Nanos>),
    /// Never: its work is complete.
    Done,
}
