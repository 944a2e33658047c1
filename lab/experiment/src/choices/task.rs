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
    /// (drivers-2009 §3.1); what is measured is a round trip. The setting `gateway` says by which
    /// ways both receive and transmit.
    RoundTrip,
    /// A program sends on one controller and waits for its own frame, which the driver echoes at
    /// its end of frame (virtualization-2015 §5.2, Fig. 5); what is measured is how long that takes
    /// beside the frame's time on the bus.
    Loop,
    /// A program receives what a node of the bus sends; what is measured is how many frames arrive.
    Receive,
}

plain_words!(
    Task,
    "task",
    Task::Gateway = "gateway",
    Task::RoundTrip = "round-trip",
    Task::Loop = "loop",
    Task::Receive = "receive",
);
