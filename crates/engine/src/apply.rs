//! The change from one table and set of ports to the next, between two batches.

use crate::change::{ChangeLeftover, LayoutChange, LeavingPort, PortSlot};
use crate::counters::{PortState, RouteVerifications};
use crate::engine::Engine;
use crate::error::{EngineError, PortError};
use crate::half::{Receive, Transmit};
use crate::lane::{CountedReceiver, PortHalves, SettledFrames};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A change that was not taken over, with the reason.
pub type Unapplied<R, T> = (EngineError, Box<LayoutChange<R, T>>);

impl<R: Receive, T: Transmit> Engine<R, T> {
    /// Takes over another routing table and other ports between two batches. Ports that stay keep
    /// their queues, their held frames and their counters; routes that stay keep their counters;
    /// the counters of removed ones are added to the retired counters, so that all sums still add
    /// up.
    ///
    /// Nothing is freed here: the old table and the removed ports are in [`ChangeLeftover`], for
    /// closing elsewhere. Rate limits restart with full buckets; the counters of end-to-end
    /// protections continue where the route has the same protection.
    ///
    /// # Errors
    /// [`EngineError::Outdated`] with the unused change, if it was made for another layout.
    pub fn apply(
        &mut self,
        mut change: LayoutChange<R, T>,
    ) -> Result<ChangeLeftover<R, T>, Unapplied<R, T>> {
        if !Arc::ptr_eq(&change.old, &self.setup.layout) {
            return Err((EngineError::Outdated, Box::new(change)));
        }
        // From here on, the change has the old setup, whose ports move to the new one.
        core::mem::swap(&mut self.setup, &mut change.setup);
        let old = &mut change.setup;
        for (count, to) in old.routes.iter().zip(&change.route_goes_to) {
            match to.and_then(|to| self.setup.routes.get_mut(to)) {
                Some(kept) => *kept = *count,
                None => self.retired_routes.add(count),
            }
        }
        let goes_to = |route: usize| change.route_goes_to.get(route).copied().flatten();
        let new = &mut self.setup;
        for count in &old.verifications {
            let kept = goes_to(count.route)
                .and_then(|to| RouteVerifications::of_route(&mut new.verifications, to));
            match kept {
                Some(results) => *results = count.results,
                None => self.retired_verifications.add(&count.results),
            }
        }
        new.table
            .adopt(&mut new.memory, (&old.table, &old.memory), goes_to);
        let old_ports = old.rx.drain(..).zip(old.tx.drain(..)).enumerate();
        for (i, (old_rx, old_tx)) in old_ports {
            let lane = PortHalves::join(old_rx, old_tx);
            let slot = change.slots.iter_mut().find(|slot| slot.concerns(i));
            let left = match slot {
                Some(slot) => slot.offer(lane),
                None => {
                    self.retired_ports.add(&lane.count());
                    Some(lane)
                }
            };
            if let Some(lane) = left {
                let then = lane.sent_so_far();
                let leaving = LeavingPort::new(i, &old.layout, lane, then);
                change.gone.push(leaving);
            }
        }
        for lane in change.slots.drain(..).filter_map(PortSlot::into_lane) {
            self.setup.push(lane);
        }
        let mut failed: Vec<(usize, PortError)> = Vec::new();
        for (i, (receiver, interest)) in self.setup.rx.iter_mut().zip(&change.interests).enumerate()
        {
            // It may have other destinations now.
            receiver.blocked = false;
            if receiver.state == PortState::Up
                && let Err(error) = receiver.half.set_interest(interest)
            {
                failed.push((i, error));
            }
        }
        self.setup.note_held_back();
        self.reloads += 1;
        self.first = 0;
        // Ports that stay keep their held frames.
        self.holding = true;
        // A new port may have its interface down.
        self.events |= self.setup.rx.iter().any(CountedReceiver::has_news);
        for (i, error) in failed {
            self.fail(i, &error);
        }
        Ok(ChangeLeftover {
            leaving: core::mem::take(&mut change.gone),
            _rest: change,
        })
    }

    /// Records the fates of frames that the port of this name held when a change removed it: at the
    /// port that continues it, otherwise at the retired ones.
    pub fn settle(&mut self, name: &str, settled: SettledFrames) {
        let at = self.setup.layout.ports.iter().position(|port| port == name);
        let tx = match at.and_then(|at| self.setup.tx.get_mut(at)) {
            Some(port) => &mut port.past.tx,
            None => &mut self.retired_ports.tx,
        };
        tx.held = tx.held.saturating_sub(settled.gone());
        tx.add(&settled);
    }
}
