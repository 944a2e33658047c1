//! The parameters of a measurement.

use crate::plan::TestPlan;
use crate::play::PlayTimeouts;
use crate::recorder::LatencyMeasure;
use frame::Nanos;
use probe::RunDescription;

/// The parameters of a measurement, independent of the bench.
#[derive(Clone, Debug)]
pub struct TestSetup {
    /// The frames to send.
    pub plan: TestPlan,
    /// Time after which a frame that went in and did not come out is lost, ns. The papers' 1 s.
    pub timeout: Nanos,
    /// One at a time on interfaces: from a frame's return to the next one, ns
    /// ([`PlayTimeouts::pause`]).
    pub pause: Nanos,
    /// Frames that are sent in advance, one at a time, and discarded: caches fill, neighbours
    /// answer, the kernel's first-time work is done.
    pub warm_up: u32,
    /// The tester's SCHED_FIFO priority; `None` for ordinary scheduling. On one processor it
    /// must be lower than a user-space gateway's.
    pub priority: Option<u8>,
    /// The machine's clock is virtual (the lab's).
    pub virtual_time: bool,
    /// The interval that is taken as the latency.
    pub measure: LatencyMeasure,
    /// The entries that the caller knows: title, version, command, configuration, settings. The
    /// rest is filled in.
    pub description: RunDescription,
}

impl Default for TestSetup {
    fn default() -> Self {
        Self {
            plan: TestPlan::default(),
            timeout: 1_000_000_000,
            pause: 200_000,
            warm_up: 0,
            priority: None,
            virtual_time: false,
            measure: LatencyMeasure::Gateway,
            description: RunDescription::default(),
        }
    }
}

impl TestSetup {
    pub(crate) fn patience(&self) -> PlayTimeouts {
        PlayTimeouts {
            timeout: self.timeout,
            pause: self.pause,
        }
    }
}
