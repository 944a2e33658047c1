//! The results of machines in one virtual time.

use super::plan::{LinkPlan, LockstepPlan};
use super::record::{LinkRecord, RecordKind};
use super::report::MachineReport;
use crate::outcome::GuestOutcome;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The results.
#[derive(Debug)]
pub struct LockstepOutcome {
    /// Those of each machine, in the plan's order.
    pub machines: Vec<MachineOutcome>,
    /// What happened on each link, in the plan's order. All machines have computed the same.
    pub links: Vec<Vec<LinkRecord>>,
}

/// The results of a machine.
#[derive(Debug)]
pub struct MachineOutcome {
    /// Those of the guest.
    pub guest: GuestOutcome,
    /// The plugin's report.
    pub report: MachineReport,
    /// SHA-256 of its job's standard output and of its standard error.
    pub outputs: [[u8; 32]; 2],
}

impl LockstepOutcome {
    /// Returns a digest of everything that can be observed of the machines: their outputs and exit
    /// statuses, and each frame and packet with its times. It is 64 hexadecimal digits.
    ///
    /// A run of the same plan with the same programs and packages has the same digest on each host.
    #[must_use]
    pub fn digest(&self, plan: &LockstepPlan) -> String {
        let mut all = Sha256::new();
        for (machine, outcome) in plan.machines.iter().zip(&self.machines) {
            text(&mut all, &machine.name);
            all.update(outcome.guest.status.unwrap_or(-1).to_le_bytes());
            for output in outcome.outputs {
                all.update(output);
            }
        }
        for (link, records) in plan.links.iter().zip(&self.links) {
            self.add_link(&mut all, link, records);
        }
        let mut digits = String::new();
        for byte in all.finalize() {
            // Writing to memory cannot fail.
            let _ = write!(digits, "{byte:02x}");
        }
        digits
    }

    fn add_link(&self, all: &mut Sha256, link: &LinkPlan, records: &[LinkRecord]) {
        text(all, &link.name);
        for record in records {
            all.update(record.at.to_le_bytes());
            all.update(record.asked.to_le_bytes());
            all.update([
                match record.kind {
                    RecordKind::Sent => 1,
                    RecordKind::Error => 2,
                    RecordKind::Lost => 3,
                    RecordKind::Crowded => 4,
                },
                u8::try_from(record.machine).unwrap_or(u8::MAX),
            ]);
            all.update((record.bytes.len() as u64).to_le_bytes());
            all.update(&record.bytes);
        }
    }
}

fn text(all: &mut Sha256, text: &str) {
    all.update((text.len() as u64).to_le_bytes());
    all.update(text);
}
