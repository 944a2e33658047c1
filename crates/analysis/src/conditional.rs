//! Bounds that are only as good as a time that was measured or stated.
//!
//! A message whose way leads through such a tunnel ([`crate::tunnel::StatedDelay`]) has a
//! conditional bound. So has every other message of its bus that it can delay: in order of priority
//! those below it, because what is above it waits for one of its frames at most, however late that
//! comes; with other orders, all. And so have all messages in a tunnel that one of them enters.

use crate::{MessagePlace, Network, NetworkFound, SendOrder};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// The tunnels on whose stated times the bound of a message depends, by their indices.
pub type StatedTunnels = BTreeSet<usize>;

impl NetworkFound {
    /// Returns for each bus and message the tunnels on whose stated times its bound depends.
    #[must_use]
    pub fn conditions(&self, network: &Network) -> Vec<Vec<StatedTunnels>> {
        let each = |bus: &crate::BusSpec| vec![StatedTunnels::new(); bus.messages.len()];
        let mut all: Vec<Vec<StatedTunnels>> = network.buses.iter().map(each).collect();
        while self.spread(network, &mut all) {}
        all
    }

    /// Returns for each tunnel the tunnels on whose stated times its figures depend: itself, if its
    /// time is stated, and those on which a message that enters it depends.
    #[must_use]
    pub fn tunnel_conditions(&self, network: &Network) -> Vec<StatedTunnels> {
        let messages = self.conditions(network);
        let tunnels = network.tunnels.iter().enumerate();
        let each = tunnels.map(|(number, tunnel)| {
            let places = tunnel.flows.iter().map(|flow| flow.from);
            let known = places.filter_map(|at| messages.get(at.bus)?.get(at.message));
            let own = tunnel.stated.map(|_| number);
            known.flatten().copied().chain(own).collect()
        });
        each.collect()
    }

    /// Passes conditions on; returns whether one was new.
    fn spread(&self, network: &Network, all: &mut [Vec<StatedTunnels>]) -> bool {
        let mut is_new = false;
        let mut add = |all: &mut [Vec<StatedTunnels>], place: MessagePlace, new: &StatedTunnels| {
            let known = all.get_mut(place.bus);
            let Some(known) = known.and_then(|bus| bus.get_mut(place.message)) else {
                return;
            };
            if !new.is_subset(known) {
                known.extend(new);
                is_new = true;
            }
        };
        let of = |all: &[Vec<StatedTunnels>], place: MessagePlace| {
            let known = all.get(place.bus).and_then(|bus| bus.get(place.message));
            known.cloned().unwrap_or_default()
        };
        for hop in &network.hops {
            let mut new = of(all, hop.from);
            let tunnel = hop.passage.map(|passage| passage.tunnel);
            if let Some((number, tunnel)) = tunnel.and_then(|n| Some((n, network.tunnels.get(n)?)))
            {
                for flow in &tunnel.flows {
                    new.extend(of(all, flow.from));
                }
                if tunnel.stated.is_some() {
                    new.insert(number);
                }
            }
            add(all, hop.to, &new);
        }
        for (bus, compiled) in self.compiled.iter().enumerate() {
            let is_plain = compiled
                .orders
                .iter()
                .all(|order| *order == SendOrder::Priority);
            for (message, sent) in compiled.messages.iter().enumerate() {
                let new = of(all, MessagePlace { bus, message });
                if new.is_empty() {
                    continue;
                }
                for (other, below) in compiled.messages.iter().enumerate() {
                    if !is_plain || below.key >= sent.key {
                        add(
                            all,
                            MessagePlace {
                                bus,
                                message: other,
                            },
                            &new,
                        );
                    }
                }
            }
        }
        is_new
    }
}
