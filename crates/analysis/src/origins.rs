//! The ways of messages over the hops of gateways.

use crate::{GatewayHop, MessagePlace, Network};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A place as a key: bus and message.
type PlaceKey = (usize, usize);

/// For each message that a gateway passes on, the hop by which it comes, and the message of the set
/// from which it comes.
#[derive(Clone, Debug)]
pub struct MessageOrigins<'n> {
    network: &'n Network,
    /// The hop that ends at a place.
    hops: BTreeMap<PlaceKey, usize>,
    /// The places at which hops end, by the origin of their messages, in the order of the hops.
    copies: BTreeMap<PlaceKey, Vec<MessagePlace>>,
}

const fn key(place: MessagePlace) -> PlaceKey {
    (place.bus, place.message)
}

impl<'n> MessageOrigins<'n> {
    /// Returns the origins of the messages of a network. Of several hops to a message, which
    /// [`Network::assess`] refuses, the first one counts.
    #[must_use]
    pub fn new(network: &'n Network) -> Self {
        let mut hops = BTreeMap::new();
        for (index, hop) in network.hops.iter().enumerate() {
            hops.entry(key(hop.to)).or_insert(index);
        }
        let mut origins = Self {
            network,
            hops,
            copies: BTreeMap::new(),
        };
        for hop in &network.hops {
            let (first, _) = origins.find(hop.to);
            let copies = origins.copies.entry(key(first)).or_default();
            copies.push(hop.to);
        }
        origins
    }

    /// Returns the hop by which a message comes; `None` for a message that no gateway passes on.
    #[must_use]
    pub fn hop_to(&self, place: MessagePlace) -> Option<&'n GatewayHop> {
        self.network.hops.get(*self.hops.get(&key(place))?)
    }

    /// Returns the places of a message from bus to bus, from its source to this place.
    pub(crate) fn way(&self, goal: MessagePlace) -> Vec<MessagePlace> {
        let (_, hops) = self.find(goal);
        let before = hops
            .iter()
            .rev()
            .filter_map(|hop| self.network.hops.get(*hop));
        before.map(|hop| hop.from).chain([goal]).collect()
    }

    /// Returns the message of the set from which a message comes, and the indices of the hops, the
    /// last one first.
    #[must_use]
    pub fn find(&self, place: MessagePlace) -> (MessagePlace, Vec<usize>) {
        let (mut place, mut hops) = (place, Vec::new());
        // No message comes from itself; the number of hops ends a circle, too.
        while hops.len() < self.network.hops.len()
            && let Some(&index) = self.hops.get(&key(place))
            && let Some(hop) = self.network.hops.get(index)
        {
            place = hop.from;
            hops.push(index);
        }
        (place, hops)
    }

    /// Returns the places on a bus at which hops end whose messages come from this one.
    pub fn copies(&self, first: MessagePlace, bus: usize) -> impl Iterator<Item = MessagePlace> {
        let all = self.copies.get(&key(first)).into_iter().flatten();
        all.copied().filter(move |copy| copy.bus == bus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HopFrames;

    const fn place(bus: usize) -> MessagePlace {
        MessagePlace { bus, message: 0 }
    }

    fn hop(from: usize, to: usize) -> GatewayHop {
        GatewayHop {
            from: place(from),
            to: place(to),
            delay: 0,
            unchanged: true,
            frames: HopFrames::Same,
            passage: None,
        }
    }

    fn network(hops: &[GatewayHop]) -> Network {
        Network {
            buses: Vec::new(),
            hops: hops.to_vec(),
            tunnels: Vec::new(),
        }
    }

    #[test]
    fn a_way_leads_from_the_source_over_each_hop() {
        let network = network(&[hop(1, 2), hop(0, 1), hop(0, 3)]);
        let origins = MessageOrigins::new(&network);
        assert_eq!(origins.way(place(2)), [0, 1, 2].map(place));
        assert_eq!(origins.way(place(0)), [place(0)]);
        assert_eq!(origins.find(place(2)), (place(0), [0, 1].to_vec()));
        assert_eq!(origins.hop_to(place(1)), Some(&network.hops[1]));
        assert_eq!(origins.hop_to(place(0)), None);
        let copies = |bus| origins.copies(place(0), bus).collect::<Vec<_>>();
        assert_eq!((copies(2), copies(0)), ([place(2)].to_vec(), Vec::new()));
    }

    /// `Network::assess` refuses a circle of hops; here it ends.
    #[test]
    fn a_circle_of_hops_ends() {
        let network = network(&[hop(0, 1), hop(1, 0)]);
        let origins = MessageOrigins::new(&network);
        assert_eq!(origins.way(place(0)), [0, 1, 0].map(place));
    }
}
