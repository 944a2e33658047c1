//! How a world moves in time: the events of all buses in order, with the traffic between them.

use super::index::BusIndex;
use super::traffic::{BusTraffic, WorldTraffic};
use super::world::{BusSlot, BusWorld, WorldState};
use bus::{NodeConfig, NodeEvent};
use frame::Nanos;

impl BusWorld {
    /// Lets this traffic run on the buses, from the first time on to which the world is moved.
    pub fn replay(&self, traffic: Box<dyn BusTraffic>) {
        self.lock().traffic = Some(WorldTraffic::new(traffic));
    }
}

impl WorldState {
    pub(super) fn run_until(
        &mut self,
        t: Nanos,
        observer: &mut dyn FnMut(BusIndex, &NodeEvent<'_>),
    ) {
        let Some(mut traffic) = self.traffic.take() else {
            return self.run_buses(t, observer);
        };
        let buses = self.slots.iter();
        let buses = buses.map(|slot| (slot.name.clone(), slot.bus.config().clone()));
        traffic.begin(buses, t);
        // A frame takes part in the arbitration of its time, so it is handed over before the events
        // of that time; and the traffic may depend on every event before it.
        loop {
            let due = traffic.next_release(t);
            match self.soonest(t) {
                Some((at, i)) if due.is_none_or(|due| at < due) => {
                    let watch = &mut |bus, event: &NodeEvent<'_>| {
                        observer(bus, event);
                        traffic.see(bus, event);
                    };
                    self.slots[i].run_until(at, BusIndex(i), watch);
                }
                _ if due.is_some() => self.release(&mut traffic),
                _ => break,
            }
        }
        let watch = &mut |bus, event: &NodeEvent<'_>| {
            observer(bus, event);
            traffic.see(bus, event);
        };
        self.run_buses(t, watch);
        traffic.note_quiet(self.slots.iter().all(BusSlot::is_quiet), self.now);
        self.traffic = Some(traffic);
    }

    fn run_buses(&mut self, t: Nanos, observer: &mut dyn FnMut(BusIndex, &NodeEvent<'_>)) {
        while let Some((due, i)) = self.soonest(t) {
            self.slots[i].run_until(due, BusIndex(i), observer);
        }
        for (i, slot) in self.slots.iter_mut().enumerate() {
            slot.run_until(t, BusIndex(i), observer);
        }
        self.now = self.now.max(t);
    }

    /// Returns the time and the index of the bus with the first event, if that is before `t`.
    fn soonest(&self, t: Nanos) -> Option<(Nanos, usize)> {
        let due = |(i, slot): (usize, &BusSlot)| Some((slot.next()?, i));
        let soonest = self.slots.iter().enumerate().filter_map(due).min();
        soonest.filter(|(due, _)| *due < t)
    }

    /// Gives a frame that is due to its tester.
    fn release(&mut self, traffic: &mut WorldTraffic) {
        let Some(frame) = traffic.take() else {
            return;
        };
        let Some(slot) = self.slots.get_mut(frame.bus.0) else {
            return traffic.refuse(&frame);
        };
        let fd = slot.bus.config().data.is_some();
        let attach = |config| slot.bus.attach(NodeConfig { fd, ..config }).ok();
        let node = traffic.tester(frame.bus, frame.tester, attach);
        let at = frame.at.max(slot.bus.now());
        let sent = node.map(|node| slot.bus.send(node, at, &frame.frame, frame.tag));
        if !matches!(sent, Some(Ok(()))) {
            traffic.refuse(&frame);
        }
    }
}
