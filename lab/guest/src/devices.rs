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

/// The first PCI slots of the cards on links between machines, and the number of cards of each kind
/// that have room.
const LINKED_CAN: u8 = 0x0a;
const LINKED_ETHERNET: u8 = 0x1a;
pub(crate) const LINKED_CARDS: u8 = 5;

/// Returns the PCI slots of the CAN cards on links between machines, in order.
pub(crate) fn linked_can_slots(count: u8) -> impl Iterator<Item = u8> {
    (LINKED_CAN..).take(usize::from(count))
}

/// Returns the PCI slots of the Ethernet cards on links between machines, in order.
pub(crate) fn linked_ethernet_slots(count: u8) -> impl Iterator<Item = u8> {
    (LINKED_ETHERNET..).take(usize::from(count))
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
        let mut all: Vec<String> = card_addresses()
            .chain(ethernet_addresses())
            .map(|(_, address)| address)
            .chain(linked_can_slots(LINKED_CARDS).map(address))
            .chain(linked_ethernet_slots(LINKED_CARDS).map(address))
            .collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 7 + 2 * usize::from(LINKED_CARDS));
        assert!(all.contains(&"0000:00:12.0".to_owned()));
    }
}
