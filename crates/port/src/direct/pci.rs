//! Controllers on PCI cards.

use super::backend::{Found, Taken, Trouble, Wanted};
use super::card::{OwnedCard, Owners};
use crate::Opener;
use controller::driven::cards::{self, MODELS, Model, model};
use controller::driven::{Backend, Lost};
use controller::{Controller, Properties, Registers};
use linux::pci::{Card, Class, Interrupt, Region, UIO_PCI_GENERIC};
use std::sync::Arc;

pub(super) fn find(wanted: &Wanted<'_>, opener: &mut Opener) -> Result<Box<dyn Found>, Trouble> {
    let (card, of_interface) = Card::find(wanted.device)?;
    let Class { vendor, device } = card.class();
    let Some(model) = model((vendor, device)) else {
        let known: Vec<_> = MODELS.iter().map(|model| model.name).collect();
        return Err(Trouble {
            what: format!(
                "{} is a PCI card {vendor:04x}:{device:04x}, which cangate cannot drive: it can drive {}",
                wanted.device,
                known.join(" and ")
            ),
            source: None,
        });
    };
    let channel = wanted.channel.or(of_interface).unwrap_or(0);
    if channel >= model.channels {
        return Err(Trouble {
            what: format!(
                "{} has no channel {channel}: a {} has channels 0 to {} at most",
                wanted.device,
                model.name,
                model.channels - 1
            ),
            source: None,
        });
    }
    Ok(Box::new(FoundCard {
        card,
        model,
        channel,
        interrupts: wanted.interrupts,
        owners: opener.shared(Owners::default).clone(),
    }))
}

struct FoundCard {
    card: Card,
    model: &'static Model,
    channel: u8,
    interrupts: bool,
    owners: Owners,
}

impl Found for FoundCard {
    fn properties(&self) -> Properties {
        self.model.properties()
    }

    fn take(self: Box<Self>) -> Result<Taken, Trouble> {
        let owned =
            self.owners
                .take(&self.card, self.channel, self.interrupts, self.model.driver)?;
        let controller = self.model.open(&Reached(&self.card), self.channel)?;
        let interrupt = if self.interrupts {
            Some(Interrupt::open(&self.card, UIO_PCI_GENERIC)?)
        } else {
            None
        };
        Ok(Taken {
            interrupt: interrupt.as_ref().map(Interrupt::fd),
            backend: Box::new(PciBackend {
                controller,
                interrupt,
                _owned: owned,
            }),
        })
    }
}

struct PciBackend {
    controller: Box<dyn Controller + Send>,
    interrupt: Option<Interrupt>,
    /// Last field, which is dropped last: the card is handed back when its registers are no longer
    /// used.
    _owned: Arc<OwnedCard>,
}

impl Backend for PciBackend {
    fn controller(&mut self) -> &mut dyn Controller {
        &mut *self.controller
    }

    fn waits(&self) -> bool {
        self.interrupt.is_some()
    }

    fn take_interrupt(&mut self) -> Result<bool, Lost> {
        match &self.interrupt {
            Some(interrupt) => Ok(interrupt.take()?),
            None => Ok(false),
        }
    }

    fn arm(&mut self) -> Result<(), Lost> {
        match &self.interrupt {
            Some(interrupt) => Ok(interrupt.arm()?),
            None => Ok(()),
        }
    }
}

impl Drop for PciBackend {
    fn drop(&mut self) {
        self.controller.stop();
    }
}

/// Stops all controllers of a card that has no driver, after the process that drove it has ended.
pub(super) fn silence(address: &str) -> Result<(), Trouble> {
    let (card, _) = Card::find(address)?;
    let Class { vendor, device } = card.class();
    let model = model((vendor, device));
    for (model, channel) in model
        .into_iter()
        .flat_map(|m| (0..m.channels).map(move |c| (m, c)))
    {
        // A channel that the card does not have does not answer.
        model.open(&Reached(&card), channel)?.stop();
    }
    Ok(())
}

/// A card as Linux makes it accessible.
struct Reached<'a>(&'a Card);

impl cards::Card for Reached<'_> {
    type Region = Window;
    type Error = linux::pci::PciError;

    fn region(&self, number: u8, first: usize, length: usize) -> Result<Window, Self::Error> {
        let region = Region::open(self.0, number, first + length)?;
        Ok(Window { region, first })
    }
}

/// Registers at an offset of a region.
struct Window {
    region: Region,
    first: usize,
}

impl Registers for Window {
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
