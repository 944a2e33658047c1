//! Several machines in one virtual time: each is a process of QEMU with one processor, and a plugin
//! (`plugin/lockstep/main.c`) lets them go in step. docs/lockstep.md describes the method.
//!
//! * [`LockstepPlan`]: machines, links, and their check.
//! * [`Lab::run_lockstep`](crate::Lab::run_lockstep): runs it, to its [`LockstepOutcome`].
//! * [`LinkRecord`]: what happened on a link.

mod arguments;
mod network;
mod outcome;
mod plan;
mod record;
mod report;
mod run;
mod so_far;

pub(crate) use plan::MACHINES;

pub use outcome::{LockstepOutcome, MachineOutcome};
pub use plan::{CanLink, EthernetLink, LinkKind, LinkPlan, LockstepPlan, MachinePlan, PlanError};
pub use record::{LinkRecord, RecordKind, RecordsError};
pub use report::{LinkCounts, MachineReport, ReportError};
pub use run::{LockstepError, LockstepFailure, LockstepOutput};
