//! PCI cards whose controllers can be driven: their identification, and the location of their
//! registers.

mod ctucan;
mod kvaser;

use crate::{Controller, Properties, Registers};
use alloc::boxed::Box;

/// Access to a card.
pub trait CardAccess {
    /// Registers of one of its regions.
    type Region: Registers + Send + 'static;
    /// Reason why the registers cannot be accessed.
    type Error;

    /// Returns registers of region `number` (base address register), `length` bytes from byte
    /// `first` on.
    ///
    /// # Errors
    /// The region cannot be accessed, or is too small.
    fn region(&self, number: u8, first: usize, length: usize) -> Result<Self::Region, Self::Error>;
}

/// The type of a card's controllers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CardKind {
    Kvaser,
    CtuCan,
}

/// A supported card.
#[derive(Clone, Copy, Debug)]
pub struct CardModel {
    /// Vendor and device IDs, as in the card's configuration space.
    pub classes: &'static [(u16, u16)],
    /// The card's name.
    pub name: &'static str,
    /// Name of the Linux driver.
    pub driver: &'static str,
    /// Maximum number of controllers.
    pub channels: u8,
    kind: CardKind,
}

/// All supported cards.
pub const MODELS: &[CardModel] = &[
    CardModel {
        classes: &[(0x10E8, 0x8406), (0x1A07, 0x0008)],
        name: "Kvaser PCIcan",
        driver: "kvaser_pci",
        channels: kvaser::CHANNELS,
        kind: CardKind::Kvaser,
    },
    CardModel {
        classes: &[(0x1760, 0xFF00)],
        name: "CTU CAN FD card",
        driver: "ctucanfd_pci",
        channels: ctucan::CHANNELS,
        kind: CardKind::CtuCan,
    },
];

/// Returns the model of a card with this vendor and device ID.
#[must_use]
pub fn model(class: (u16, u16)) -> Option<&'static CardModel> {
    MODELS.iter().find(|model| model.classes.contains(&class))
}

impl CardModel {
    /// Returns the properties of its controllers that are known without accessing them.
    #[must_use]
    pub fn properties(&self) -> Properties {
        match self.kind {
            CardKind::Kvaser => kvaser::properties(),
            CardKind::CtuCan => ctucan::properties(),
        }
    }

    /// Opens the driver of one of its controllers; forwards their interrupts through the card's
    /// bridge.
    ///
    /// # Errors
    /// A region cannot be accessed.
    pub fn open<C: CardAccess>(
        &self,
        card: &C,
        channel: u8,
    ) -> Result<Box<dyn Controller + Send>, C::Error> {
        match self.kind {
            CardKind::Kvaser => kvaser::open(card, channel),
            CardKind::CtuCan => ctucan::open(card, channel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_known_by_vendor_and_device() {
        let of = |class| model(class).map(|model| model.name);
        assert_eq!(of((0x10E8, 0x8406)), Some("Kvaser PCIcan"));
        assert_eq!(of((0x1760, 0xFF00)), Some("CTU CAN FD card"));
        assert_eq!(of((0x8086, 0x100E)), None);
        for model in MODELS {
            assert!(
                model.channels > 0 && model.properties().clock > 0,
                "{}",
                model.name
            );
        }
    }
}
