//! Joins gateways of many vehicles by Zenoh.
//!
//! A gateway's port of `kind = "ieee1722"` sends its frames over loopback to this program, which
//! publishes them as samples, and hands over the frames of samples that it has subscribed to. See
//! docs/fleet.md for users, and docs/decisions/0043-fleet.md for the reasons.
//!
//! | module | responsibility |
//! |---|---|
//! | [`settings`] | the file of settings |
//! | [`key`] | the key space |
//! | [`class`] | classes of identifiers, and their priorities |
//! | [`sample`] | frames in a sample, written and read |
//! | [`account`] | the numbers of the samples of one stream: what was lost, doubled, overtaken |
//! | [`queue`] | samples that wait to be published, bounded |
//! | [`counters`] | the fates of frames, and their sums |
//! | [`publish`] | from the gateway to Zenoh |
//! | [`deliver`] | from Zenoh to the gateway |
//! | [`session`] | opening Zenoh |
//! | [`run`] | all of these together |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod account;
pub mod class;
pub mod counters;
pub mod deliver;
pub mod key;
pub mod publish;
pub mod queue;
pub mod run;
pub mod sample;
pub mod session;
pub mod settings;
mod values;

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns Unix time by this machine's clock, ns.
#[must_use]
pub fn unix_now() -> frame::Nanos {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}
