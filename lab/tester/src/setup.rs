//! The parameters of a measurement.

use crate::plan::Plan;
use crate::play::Patience;
use crate::recorder::Measure;
use frame::Nanos;
use probe::Description;

/// The parameters of a measurement, independent of the bench.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The frames to send.
    pub plan: Plan,
    /// Time after which a frame that went in and did not come out is lost, ns. The papers' 1 s.
    pub timeout: Nanos,
    /// One at a time on interfaces: from a frame's return to the next one, ns
    /// ([`Patience::pause`]).
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
    pub measure: Measure,
    /// The entries that the caller knows: title, version, command, configuration, settings. The
    /// rest is filled in.
    pub description: Description,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            plan: Plan::default(),
            timeout: 1_000_000_000,
            pause: 200_000,
            warm_up: 0,
            priority: None,
            virtual_time: false,
            measure: Measure::Gateway,
            description: Description::default(),
        }
    }
}

impl Setup {
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            timeout: self.timeout,
            pause: self.pause,
        }
    }
}
