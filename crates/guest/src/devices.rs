//! The cards of a guest: where they are plugged in, and what the agent calls their interfaces.

/// The PCI slots of the kvaser bench's cards and the names that the agent gives them; first all
/// of the first bus.
pub(crate) const CARDS: [(&str, u8, &str); 5] = [
    ("can0", 0x10, "b0"),
    ("can1", 0x11, "b0"),
    ("can2", 0x13, "b1"),
    ("gw0", 0x12, "b0"),
    ("gw1", 0x14, "b1"),
];

/// The PCI slots of the CTU CAN FD cards; channel 0 of each is on the first bus, channel 1 on the second.
pub(crate) const CTUCAN_CARDS: [u8; 2] = [0x10, 0x11];

/// The PCI slots of the Ethernet cards, and their names.
pub(crate) const ETHERNET: [(&str, u8); 2] = [("eth0", 0x18), ("eth1", 0x19)];

fn address(slot: u8) -> String {
    format!("0000:00:{slot:02x}.0")
}

/// The interfaces of the kvaser bench's cards with their PCI addresses.
pub(crate) fn card_addresses() -> impl Iterator<Item = (&'static str, String)> {
    CARDS
        .into_iter()
        .map(|(name, slot, _)| (name, address(slot)))
}

/// The Ethernet interfaces with their PCI addresses.
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
            .collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 7);
        assert!(all.contains(&"0000:00:12.0".to_owned()));
    }
}
