//! Marks that identify the owner of a rule. A rule carries 32 bits for its creator
//! ([`Job::marked`](super::GatewayJob::marked) documents the place: `CGW_MOD_UID`, or an operand).
//! In cangate's marks, the upper half contains the hash of the [`GatewayInstance`]'s name and the
//! lower half the rule's number. The uppermost bit is always set, because people who type `cangw
//! -u` choose small numbers.
//!
//! If two instances had the same mark by accident (1 in 32768 for two names), one could remove
//! rules that the other left behind. While both run this cannot happen, because a process that uses
//! a mark holds it.

use super::error::Error;
use crate::instance::{GatewayInstance, InstanceHeld, InstanceHold};
use std::collections::BTreeSet;

/// Maximum number of rules of one instance: marks have 16 bits for the number.
pub const MOST: usize = u16::MAX as usize;

/// Makes sure that no other process uses the marks, until the result is dropped.
pub(super) fn hold(instance: &GatewayInstance) -> Result<InstanceHold, Error> {
    instance.hold("can-gw").map_err(|held| match held {
        InstanceHeld::By(pid) => Error::Busy {
            instance: instance.name().to_owned(),
            pid,
        },
        InstanceHeld::Foreign(holder) => Error::Foreign(holder),
        InstanceHeld::Failed(source) => Error::Socket {
            doing: "ensuring that no other process uses the same rules",
            source: source.into(),
        },
    })
}

/// Assigns numbers that no rule has. A number that was released is used again only after all
/// others, so that old and new rules are not confused.
#[derive(Debug, Default)]
pub(super) struct RuleNumbers {
    last: u16,
}

impl RuleNumbers {
    /// Returns the next mark that is not taken.
    pub(super) fn next(
        &mut self,
        instance: &GatewayInstance,
        taken: &BTreeSet<u32>,
    ) -> Option<u32> {
        for _ in 0..=u16::MAX {
            self.last = self.last.wrapping_add(1);
            let uid = instance.uid(self.last);
            // Number 0 stays unused: `last` is 0 before the first number.
            if self.last != 0 && !taken.contains(&uid) {
                return Some(uid);
            }
        }
        None
    }

    /// Starts after the numbers of existing rules.
    pub(super) fn after(&mut self, uids: impl Iterator<Item = u32>) {
        if self.last == 0 {
            self.last = uids.map(|uid| uid as u16).max().unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_last() {
        let instance = GatewayInstance::new("n");
        let mut numbers = RuleNumbers::default();
        numbers.after([instance.uid(0xFFFD), instance.uid(3)].into_iter());
        let mut taken = BTreeSet::from([instance.uid(0xFFFE), instance.uid(1)]);
        let mut next = |taken: &BTreeSet<u32>| numbers.next(&instance, taken);
        assert_eq!(next(&taken), Some(instance.uid(0xFFFF)));
        assert_eq!(next(&taken), Some(instance.uid(2)));
        taken.extend((0..=u16::MAX).map(|n| instance.uid(n)));
        assert_eq!(next(&taken), None);
    }
}
