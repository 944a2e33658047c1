//! PCI cards whose controllers can be driven: how they are known, and where their registers are.

mod ctucan;
mod kvaser;

use crate::{Controller, Properties, Registers};
use alloc::boxed::Box;

/// A card, as its surroundings reach it.
pub trait Card {
    /// Registers of one of its regions.
    type Region: Registers + Send + 'static;
    /// Why there are none.
    type Error;

    /// Registers of region `number` (base address register), `length` bytes from byte `first` on.
    ///
    /// # Errors
    /// The region cannot be reached, or is smaller.
    fn region(&self, number: u8, first: usize, length: usize) -> Result<Self::Region, Self::Error>;
}

/// Which controllers a card has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Kvaser,
    CtuCan,
}

/// A card that is known.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Vendor and device, as in the card's configuration.
    pub classes: &'static [(u16, u16)],
    /// Its name.
    pub name: &'static str,
    /// Linux's driver.
    pub driver: &'static str,
    /// Controllers at most.
    pub channels: u8,
    kind: Kind,
}

/// All cards that are known.
pub const MODELS: &[Model] = &[
    Model {
        classes: &[(0x10E8, 0x8406), (0x1A07, 0x0008)],
        name: "Kvaser PCIcan",
        driver: "kvaser_pci",
        channels: kvaser::CHANNELS,
        kind: Kind::Kvaser,
    },
    Model {
        classes: &[(0x1760, 0xFF00)],
        name: "CTU CAN FD card",
        driver: "ctucanfd_pci",
        channels: ctucan::CHANNELS,
        kind: Kind::CtuCan,
    },
];

/// The model of a card with this vendor and device.
#[must_use]
pub fn model(class: (u16, u16)) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.classes.contains(&class))
}

impl Model {
    /// What can be said of its controllers without asking them.
    #[must_use]
    pub fn properties(&self) -> Properties {
        match self.kind {
            Kind::Kvaser => kvaser::properties(),
            Kind::CtuCan => ctucan::properties(),
        }
    }

    /// The driver of one of its controllers; lets their interrupts through the card's bridge.
    ///
    /// # Errors
    /// A region cannot be reached.
    pub fn open<C: Card>(
        &self,
        card: &C,
        channel: u8,
    ) -> Result<Box<dyn Controller + Send>, C::Error> {
        match self.kind {
            Kind::Kvaser => kvaser::open(card, channel),
            Kind::CtuCan => ctucan::open(card, channel),
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
