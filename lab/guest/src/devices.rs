//! The cards of a guest: their PCI slots, and the names that the agent gives their interfaces.

/// The PCI slots of the kvaser bench's cards and the names that the agent gives them; all cards of
/// the first bus come first.
pub(crate) const CARDS: [(&str, u8, &str); 5] = [
    ("can0", 0x10, "b0"),
    ("can1", 0x11, "b0"),
    ("can2", 0x13, "b1"),
    ("gw0", 0x12, "b0"),
    ("gw1", 0x14, "b1"),
];

/// The PCI slots of the ctucan bench's cards, the buses of their two controllers, and the names
/// that the agent gives the controllers that are used.
pub(crate) const CTU_CARDS: [(u8, [&str; 2], &[&str]); 3] = [
    (0x10, ["b0", "b1"], &["can0", "can2"]),
    (0x11, ["b0", "b1"], &["can1"]),
    (0x12, ["b0", "b1"], &["gw0", "gw1"]),
];

/// The PCI slots of the vm bench's cards, and the names that the agent gives them. Both are on the
/// same bus.
pub(crate) const VM_CARDS: [(&str, u8); 2] = [("card0", 0x10), ("card1", 0x11)];

/// The PCI slots of the Ethernet cards, and their names.
pub(crate) const ETHERNET: [(&str, u8); 2] = [("eth0", 0x18), ("eth1", 0x19)];

/// The controllers of a CTU CAN FD card.
pub(crate) const CTU_CONTROLLERS: usize = 2;

/// The first PCI slots of the cards on links between machines, and the number of CAN and of
/// Ethernet cards that have room.
const LINKED_CAN: u8 = 0x0a;
const LINKED_ETHERNET: u8 = 0x1a;
pub(crate) const LINKED_CARDS: u8 = 5;

/// The number of a machine's first CAN bus and first hub that are links; the benches have buses b0
/// and b1, and hub 1.
const FIRST_LINK: u8 = 2;

/// The numbers of a machine's cards on links between machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkedCards {
    /// CAN cards for classic frames: SJA1000.
    pub(crate) classic: u8,
    /// CAN FD cards: CTU CAN FD, of which the first controller is on the link.
    pub(crate) fd: u8,
    /// Ethernet cards: e1000.
    pub(crate) ethernet: u8,
}

/// A card on a link between machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkedCard {
    /// The number of the machine's bus or hub.
    pub(crate) place: u8,
    /// The PCI slot.
    pub(crate) slot: u8,
}

impl LinkedCards {
    /// Returns the CAN cards for classic frames, in the order of their links.
    pub(crate) fn classic_cards(self) -> impl Iterator<Item = LinkedCard> {
        cards(LINKED_CAN, 0, self.classic)
    }

    /// Returns the CAN FD cards, in the order of their links; they come after the others.
    pub(crate) fn fd_cards(self) -> impl Iterator<Item = LinkedCard> {
        cards(LINKED_CAN, self.classic, self.fd)
    }

    /// Returns the Ethernet cards, in the order of their links.
    pub(crate) fn ethernet_cards(self) -> impl Iterator<Item = LinkedCard> {
        cards(LINKED_ETHERNET, 0, self.ethernet)
    }
}

fn cards(first_slot: u8, first: u8, count: u8) -> impl Iterator<Item = LinkedCard> {
    (first..)
        .take(usize::from(count))
        .map(move |number| LinkedCard {
            place: FIRST_LINK + number,
            slot: first_slot + number,
        })
}

pub(crate) fn address(slot: u8) -> String {
    format!("0000:00:{slot:02x}.0")
}

/// Returns the interfaces of the kvaser bench's cards with their PCI addresses.
pub(crate) fn card_addresses() -> impl Iterator<Item = (&'static str, String)> {
    CARDS
        .into_iter()
        .map(|(name, slot, _)| (name, address(slot)))
}

/// Returns the interfaces of the vm bench's cards with their PCI addresses.
pub(crate) fn vm_card_addresses() -> impl Iterator<Item = (&'static str, String)> {
    VM_CARDS
        .into_iter()
        .map(|(name, slot)| (name, address(slot)))
}

/// Returns the ctucan bench's cards: PCI address, and the names of the interfaces in the order of
/// the controllers.
pub(crate) fn ctu_card_addresses() -> impl Iterator<Item = (String, &'static [&'static str])> {
    CTU_CARDS
        .into_iter()
        .map(|(slot, _, names)| (address(slot), names))
}

/// Returns the Ethernet interfaces with their PCI addresses.
pub(crate) fn ethernet_addresses() -> impl Iterator<Item = (&'static str, String)> {
    ETHERNET
        .into_iter()
        .map(|(name, slot)| (name, address(slot)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_cards_share_a_slot() {
        let linked = LinkedCards {
            classic: 2,
            fd: LINKED_CARDS - 2,
            ethernet: LINKED_CARDS,
        };
        let mut all: Vec<String> = card_addresses()
            .chain(ethernet_addresses())
            .map(|(_, address)| address)
            .chain(linked.classic_cards().map(|card| address(card.slot)))
            .chain(linked.fd_cards().map(|card| address(card.slot)))
            .chain(linked.ethernet_cards().map(|card| address(card.slot)))
            .collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 7 + 2 * usize::from(LINKED_CARDS));
        assert!(all.contains(&"0000:00:12.0".to_owned()));
        let places = linked.classic_cards().chain(linked.fd_cards());
        let places: Vec<u8> = places.map(|card| card.place).collect();
        assert_eq!(places, [2, 3, 4, 5, 6]);
    }
}
