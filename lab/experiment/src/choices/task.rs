//! The task of the machine under test.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};

/// The task of the machine under test.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentTask {
    /// It routes them from one bus to the other; the tester measures its latency.
    #[default]
    Gateway,
    /// Two programs on two controllers of one bus ask and answer each other, as canping does
    /// (drivers-2009 §3.1); the round trip is measured. The setting `gateway` specifies the ways by
    /// which both receive and transmit.
    RoundTrip,
    /// A program sends on one controller and waits for its own frame, which the driver echoes at
    /// its end of frame (virtualization-2015 §5.2, Fig. 5); the time is measured that this takes in
    /// addition to the frame's time on the bus.
    Loop,
    /// A program receives the frames that a node of the bus sends; the number of frames that arrive
    /// is measured.
    Receive,
}

plain_words!(
    ExperimentTask,
    "task",
    ExperimentTask::Gateway = "gateway",
    ExperimentTask::RoundTrip = "round-trip",
    ExperimentTask::Loop = "loop",
    ExperimentTask::Receive = "receive",
);
