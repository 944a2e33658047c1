//! The phases of clocks in which a bound is reached.

use super::BusyPeriod;
use crate::compiled::{CompiledBus, RivalFrames};
use crate::model::SendOrder;
use crate::window::NoBound;
use crate::{Assessment, LatencyBound, QueueService, priority, queue};
use alloc::vec;
use alloc::vec::Vec;
use frame::Nanos;

/// The phases with the longest latency.
#[derive(Clone, Debug)]
pub(crate) struct CriticalPhases {
    /// For each node, the time on its clock at which the busy period begins; `None` where nothing
    /// depends on it.
    pub(crate) clocks: Vec<Option<Nanos>>,
    pub(crate) bound: LatencyBound,
}

impl CompiledBus {
    /// Returns the phases in which a message's latency is longest, and its bound in them; without
    /// the time that other nodes' frames wait in their queues. `None` if there is no bound.
    pub(crate) fn critical(&self, found: &Assessment, message: usize) -> Option<CriticalPhases> {
        let sent = self.messages.get(message)?;
        let queued = found.nodes.get(sent.node)?.service == QueueService::Queue;
        let mailboxes = match self.orders.get(sent.node)? {
            SendOrder::Mailboxes(mailboxes) if queued => Some(mailboxes.get()),
            _ => None,
        };
        let own = match queued {
            true => self.of_node(sent.node),
            false => [message].into(),
        };
        let lowest = own.iter().map(|&i| self.messages[i].key).max()?;
        let place = own.iter().position(|&i| i == message)?;
        let arrivals = self.arrivals();
        let others = (0..self.messages.len()).filter(|i| !own.contains(i));
        let (rivals, lower): (Vec<usize>, Vec<usize>) =
            others.partition(|&i| self.messages[i].key < lowest);
        let against = RivalFrames {
            rivals: rivals.iter().map(|&i| (i, arrivals[i], 0)).collect(),
            lower,
            together: false,
        };
        let mut worst: Option<CriticalPhases> = None;
        let looked = self.in_each_phase(&own, &arrivals, against, queued, |looked| {
            let new = match mailboxes {
                Some(mailboxes) => {
                    let members = self.members(&own, &arrivals, looked);
                    let all = queue::bounds(looked.window, &members, mailboxes, |p| p == place)?;
                    all.get(place).copied().flatten()
                }
                None => {
                    let stream = looked.own.first().copied().ok_or(NoBound::TooLong)?;
                    priority::bound(looked.window, stream, sent.frame)?
                }
            };
            let longest = worst.as_ref().map_or(0, |worst| worst.bound.latency);
            if let Some(bound) = new.filter(|bound| bound.latency > longest) {
                let clocks = self.clocks(sent.node, looked, &bound, place);
                worst = Some(CriticalPhases { clocks, bound });
            }
            Ok(())
        });
        looked.ok()?;
        worst
    }

    fn clocks(
        &self,
        node: usize,
        looked: &BusyPeriod<'_>,
        bound: &LatencyBound,
        place: usize,
    ) -> Vec<Option<Nanos>> {
        let mut clocks = vec![None; self.orders.len()];
        let first = looked.own.get(place);
        let released = first.map_or(0, |own| own.earliest(bound.latency_instance));
        let span = released.saturating_add(bound.waiting);
        for joint in &looked.window.joint {
            if let Some((message, at)) = joint.worst(span) {
                clocks[self.messages[message].node] = Some(at);
            }
        }
        clocks[node] = looked.begins;
        clocks
    }
}
