//! The task of the machine under test.

use super::word::plain_words;

plain_words! {
    /// The task of the machine under test, as a word. [`crate::Measurement`] is the task with the
    /// settings that belong to it.
    pub enum ExperimentTask, "task" {
        /// The latency of a gateway between two buses.
        Gateway = "gateway",
        /// Two programs on two controllers of one bus ask and answer each other, as `cangate ping`
        /// does; --gateway sets the ways by which both receive and transmit.
        ///
        /// This is what canping does (drivers-2009 §3.1).
        RoundTrip = "round-trip",
        /// A program sends on one controller and waits for its own frame, as `cangate ping --own`
        /// does; on the bench vm.
        ///
        /// The driver echoes the frame at its end of frame (virtualization-2015 §5.2, Fig. 5). The
        /// result is the time that this takes in addition to the frame's time on the bus.
        Loop = "loop",
        /// The number of a node's frames that arrive in a program; on the bench vm.
        Receive = "receive",
    }
}
