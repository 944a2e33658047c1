//! The change from one table and set of ports to the next, between two batches.

use crate::change::{ChangeLeftover, LayoutChange, LeavingPort, PortSlot};
use crate::counters::PortState;
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
    /// closing elsewhere. Rate limits restart with full buckets.
    ///
    /// # Errors
    /// [`EngineError::Outdated`] with the unused change, if it was made for another layout.
    pub fn apply(
        &mut self,
        change: LayoutChange<R, T>,
    ) -> Result<ChangeLeftover<R, T>, Unapplied<R, T>> {
        if !Arc::ptr_eq(&change.old, &self.layout) {
            return Err((EngineError::Outdated, Box::new(change)));
        }
        let LayoutChange {
            table,
            memory,
            layout,
            mut slots,
            mut routes,
            options,
            destinations,
            route_goes_to,
            mut gone,
            mut rx,
            mut tx,
            interests,
            ..
        } = change;
        let mut failed: Vec<(usize, PortError)> = Vec::new();
        for (old, to) in self.routes.iter().zip(&route_goes_to) {
            match to.and_then(|to| routes.get_mut(to)) {
                Some(kept) => *kept = *old,
                None => self.retired_routes.add(old),
            }
        }
        let old_ports = self.rx.drain(..).zip(self.tx.drain(..)).enumerate();
        for (i, (old_rx, old_tx)) in old_ports {
            let lane = PortHalves::join(old_rx, old_tx);
            let slot = slots.iter_mut().find(|slot| slot.concerns(i));
            let left = match slot {
                Some(slot) => slot.offer(lane),
                None => {
                    self.retired_ports.add(&lane.count());
                    Some(lane)
                }
            };
            if let Some(lane) = left {
                let then = lane.sent_so_far();
                gone.push(LeavingPort::new(i, &self.layout, lane, then));
            }
        }
        for lane in slots.drain(..).filter_map(PortSlot::into_lane) {
            let (mut receiver, sender) = lane.split();
            // It may have other destinations now.
            receiver.blocked = false;
            rx.push(receiver);
            tx.push(sender);
        }
        for (i, interest) in interests.iter().enumerate() {
            if let Some(receiver) = rx.get_mut(i)
                && receiver.state == PortState::Up
                && let Err(error) = receiver.half.set_interest(interest)
            {
                failed.push((i, error));
            }
        }
        let removed = ChangeLeftover {
            leaving: gone,
            _table: core::mem::replace(&mut self.table, table),
            _memory: core::mem::replace(&mut self.memory, memory),
            _layout: core::mem::replace(&mut self.layout, layout),
            _routes: core::mem::replace(&mut self.routes, routes),
            _route_goes_to: route_goes_to,
            _options: core::mem::replace(&mut self.options, options),
            _destinations: core::mem::replace(&mut self.destinations, destinations),
            _interests: interests,
            _rx: core::mem::replace(&mut self.rx, rx),
            _tx: core::mem::replace(&mut self.tx, tx),
            _slots: slots,
        };
        self.note_who_is_held_back();
        self.reloads += 1;
        self.first = 0;
        // Ports that stay keep their held frames.
        self.holding = true;
        // A new port may have its interface down.
        self.events |= self.rx.iter().any(CountedReceiver::has_news);
        for (i, error) in failed {
            self.fail(i, &error);
        }
        Ok(removed)
    }

    /// Records the fates of frames that the port of this name held when a change removed it: at the
    /// port that continues it, otherwise at the retired ones.
    pub fn settle(&mut self, name: &str, settled: SettledFrames) {
        let at = self.layout.ports.iter().position(|port| port == name);
        let tx = match at.and_then(|at| self.tx.get_mut(at)) {
            Some(port) => &mut port.past.tx,
            None => &mut self.retired_ports.tx,
        };
        tx.held = tx.held.saturating_sub(settled.gone());
        tx.add(&settled);
    }
}
