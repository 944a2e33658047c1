//! The registers of a PCI card.

use super::backend::BackendError;
use controller::Registers;
use controller::driven::cards::{self, model};
use linux::pci::{DeviceClass, DeviceRegion, PciDevice};

/// Stops all controllers of a card that has no driver, after the process that drove it has ended.
pub(super) fn silence(address: &str) -> Result<(), BackendError> {
    let (card, _) = PciDevice::find(address)?;
    let DeviceClass { vendor, device } = card.class();
    let model = model((vendor, device));
    for (model, channel) in model
        .into_iter()
        .flat_map(|m| (0..m.channels).map(move |c| (m, c)))
    {
        // A channel that the card does not have does not answer.
        model.open(&PciAccess(&card), channel)?.stop();
    }
    Ok(())
}

/// A card as Linux makes it accessible.
pub(super) struct PciAccess<'a>(pub(super) &'a PciDevice);

impl cards::CardAccess for PciAccess<'_> {
    type Region = RegionWindow;
    type Error = linux::pci::PciError;

    fn region(&self, number: u8, first: usize, length: usize) -> Result<RegionWindow, Self::Error> {
        let region = DeviceRegion::open(self.0, number, first + length)?;
        Ok(RegionWindow { region, first })
    }
}

/// Registers at an offset of a region.
pub(super) struct RegionWindow {
    region: DeviceRegion,
    first: usize,
}

impl Registers for RegionWindow {
    fn read8(&mut self, offset: u32) -> u8 {
        self.region.read8(self.first + offset as usize)
    }

    fn write8(&mut self, offset: u32, value: u8) {
        self.region.write8(self.first + offset as usize, value);
    }

    fn read32(&mut self, offset: u32) -> u32 {
        self.region.read32(self.first + offset as usize)
    }

    fn write32(&mut self, offset: u32, value: u32) {
        self.region.write32(self.first + offset as usize, value);
    }
}
