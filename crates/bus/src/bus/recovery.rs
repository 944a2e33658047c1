//! Recovery of bus-off nodes: counts recessive bits until they are back (ISO 11898-1, fault
//! confinement, rule 12).

use super::{Bus, BusPhase};
use crate::{
    ErrorState, NodeEvent, NodeId,
    confinement::ConfinementCounters,
    node::{BusOffRecovery, Node},
};
use frame::{Nanos, wire::BUS_OFF_RECOVERY_BITS};

/// Recessive bits of a run that counts.
const RUN: u32 = 11;
/// Runs that bring a bus-off node back.
const RUNS: u32 = BUS_OFF_RECOVERY_BITS / RUN;

impl Bus {
    /// Starts the recovery of a node that is bus-off: it is back after 128 runs of 11 recessive
    /// bits. Has no effect if the node is not bus-off, or if its recovery has started already.
    pub fn restart(&mut self, node: NodeId) {
        let counting = BusOffRecovery::Counting {
            done: 0,
            asked: self.now,
            since: (self.phase == BusPhase::Free).then_some(self.now),
        };
        if let Some(n) = self.nodes.get_mut(usize::from(node.0))
            && n.state == ErrorState::BusOff
            && matches!(n.recovery, BusOffRecovery::Waiting(_))
        {
            n.recovery = counting;
        }
    }

    pub(super) fn next_timer(&self) -> Option<Nanos> {
        let timers = self.nodes.iter().filter_map(|n| self.timer(n));
        timers.min().map(|t| t.max(self.now))
    }

    /// Returns the time of a bus-off node's next step towards recovery, if the bus stays idle.
    fn timer(&self, node: &Node) -> Option<Nanos> {
        if node.state != ErrorState::BusOff {
            return None;
        }
        match node.recovery {
            BusOffRecovery::Waiting(at) => at,
            BusOffRecovery::Counting { done, since, .. } => {
                let left = RUNS.saturating_sub(done) * RUN;
                since.map(|s| s.saturating_add(self.clock.bits(left)))
            }
        }
    }

    pub(super) fn recover(&mut self, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        for i in 0..self.nodes.len() {
            if self.timer(&self.nodes[i]).is_none_or(|t| t > self.now) {
                continue;
            }
            let id = NodeId(i as u16);
            if let BusOffRecovery::Waiting(_) = self.nodes[i].recovery {
                self.restart(id);
                continue;
            }
            let node = &mut self.nodes[i];
            node.counters = ConfinementCounters::default();
            node.state = ErrorState::Active;
            node.joined = self.now;
            self.joined = self.now;
            self.off -= 1;
            self.count_nodes();
            observer(&NodeEvent::State {
                at: self.now,
                node: id,
                state: ErrorState::Active,
            });
        }
    }

    /// Ends a recessive period of the bus: counts its runs of 11 bits for recovering nodes.
    pub(super) fn end_recessive(&mut self) {
        for node in &mut self.nodes {
            if let BusOffRecovery::Counting { done, since, .. } = &mut node.recovery
                && let Some(s) = since.take()
            {
                let runs = self.clock.count(self.now.saturating_sub(s)) / u64::from(RUN);
                *done = done.saturating_add(runs.min(u64::from(RUNS)) as u32);
            }
        }
    }

    /// Begins a recessive period of the bus: it has been recessive since `from`, and is free.
    pub(super) fn begin_recessive(&mut self, from: Nanos) {
        for node in &mut self.nodes {
            if let BusOffRecovery::Counting { since, asked, .. } = &mut node.recovery {
                *since = Some(from.max(*asked));
            }
        }
    }
}
