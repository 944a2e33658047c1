//! What the machine under test does.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};

/// What the machine under test does with frames.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// It routes them from one bus to the other; the tester measures its latency.
    #[default]
    Gateway,
    /// Two programs on two controllers of one bus ask and answer each other, as canping does
    /// (drivers-2009 §3.1); what is measured is a round trip. The setting `gateway` says by which ways
    /// both receive and transmit.
    RoundTrip,
}

plain_words!(
    Task,
    "task",
    Task::Gateway = "gateway",
    Task::RoundTrip = "round-trip"
);
