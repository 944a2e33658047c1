//! One experiment: everything that is chosen, and nothing that is found out.

use crate::choices::{Boot, Cpu, Filters, Gateway, Hops, Load, Modify};
use guest::machine::Bench;
use probe::traffic::Pattern;
use serde::{Deserialize, Serialize};

/// One experiment, one row of a matrix. Its text forms are those of `cangate lab measure`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// `6.1`, `6.12-rt`.
    pub kernel: String,
    /// Kvaser or timed.
    pub bench: Bench,
    /// The gateway under test.
    pub gateway: Gateway,
    /// How frames come.
    pub traffic: Pattern,
    /// What else the gateway's machine does.
    pub load: Load,
    /// Payload bytes, at least 2 (the frame's number); above 8 the frames are FD.
    pub payload: u8,
    /// How many frames.
    pub frames: u32,
    /// What the gateway filters by.
    pub filters: Filters,
    /// What the gateway changes.
    pub modify: Modify,
    /// Passes through virtual interfaces.
    pub hops: Hops,
    /// How fast the guest's processor is, and which controllers it has.
    pub cpu: Cpu,
    /// Parameters for the guest's kernel.
    pub boot: Boot,
    /// Seed of everything random.
    pub seed: u64,
    /// Not in virtual time.
    pub real_time: bool,
    /// Every how many frames the tester takes stamps (timed bench): 1, except to see what
    /// stamping costs.
    pub stamp_every: u32,
}

impl Default for Experiment {
    /// What `cangate lab measure` does without options: can-gw on the kvaser bench, 4 bytes, one
    /// frame at a time.
    fn default() -> Self {
        Self {
            kernel: "6.1".to_owned(),
            bench: Bench::Kvaser,
            gateway: Gateway::Cangw,
            traffic: Pattern::OneAtATime,
            load: Load::None,
            payload: 4,
            frames: 500,
            filters: Filters::None,
            modify: Modify::None,
            hops: Hops::NONE,
            cpu: Cpu::Pc,
            boot: Boot::default(),
            seed: 1,
            real_time: false,
            stamp_every: 1,
        }
    }
}

impl Experiment {
    /// Are the frames FD frames? Classic ones have up to 8 bytes.
    #[must_use]
    pub const fn is_fd(&self) -> bool {
        self.payload > 8
    }

    /// Does the kernel have PREEMPT_RT?
    #[must_use]
    pub fn is_rt(&self) -> bool {
        self.kernel.parse().is_ok_and(guest::Kernel::rt)
    }
}
