//! What is to be measured.

use crate::plan::Plan;
use crate::play::Patience;
use crate::recorder::Measure;
use frame::Nanos;
use probe::Description;

/// What is to be measured, on whatever bench.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What to send.
    pub plan: Plan,
    /// A frame that did not come out so long after it went in is lost, ns. The papers' 1 s.
    pub timeout: Nanos,
    /// One at a time on interfaces: from a frame's return to the next one, ns
    /// ([`Patience::pause`]).
    pub pause: Nanos,
    /// Frames that are sent before, one at a time, and thrown away: caches fill, neighbours
    /// answer, the kernel's first-time work is done.
    pub warm_up: u32,
    /// The tester's SCHED_FIFO priority; `None` for ordinary scheduling. On one processor it
    /// must be lower than a user-space gateway's.
    pub priority: Option<u8>,
    /// The machine's clock is virtual (the lab's).
    pub virtual_time: bool,
    /// What the latency is taken to be.
    pub measure: Measure,
    /// What the caller knows: title, version, command, configuration, settings. The rest is
    /// filled in.
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
