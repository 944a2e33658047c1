//! The ways of messages over the hops of a gateway.

use analysis::{MessagePlace, Network};
use std::collections::BTreeMap;

/// A place as a key: bus and message.
type PlaceKey = (usize, usize);

/// For each message that a gateway passes on, the message of the set from which it comes.
pub(super) struct MessageOrigins<'n> {
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
    pub(super) fn new(network: &'n Network) -> Self {
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

    /// Returns the message of the set from which a message comes, and the hops, the last one first.
    pub(super) fn find(&self, place: MessagePlace) -> (MessagePlace, Vec<usize>) {
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
    pub(super) fn copies(
        &self,
        first: MessagePlace,
        bus: usize,
    ) -> impl Iterator<Item = MessagePlace> {
        let all = self.copies.get(&key(first)).into_iter().flatten();
        all.copied().filter(move |copy| copy.bus == bus)
    }
}
