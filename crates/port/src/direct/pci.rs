//! Controllers on PCI cards.

use super::backend::{BackendError, BackendOptions, FoundBackend, TakenController};
use super::card::{CardOwners, OwnedCard};
use super::registers::PciAccess;
use crate::PortOpener;
use controller::driven::cards::{CardModel, MODELS, model};
use controller::driven::{ControllerBackend, Lost};
use controller::{Controller, Properties};
use linux::pci::{DeviceClass, DeviceInterrupt, PciDevice, UIO_PCI_GENERIC};
use std::sync::Arc;

pub(super) fn find(
    wanted: &BackendOptions<'_>,
    opener: &mut PortOpener,
) -> Result<Box<dyn FoundBackend>, BackendError> {
    let (card, of_interface) = PciDevice::find(wanted.device)?;
    let DeviceClass { vendor, device } = card.class();
    let Some(model) = model((vendor, device)) else {
        let known: Vec<_> = MODELS.iter().map(|model| model.name).collect();
        return Err(BackendError {
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
        return Err(BackendError {
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
        owners: opener.shared(CardOwners::default).clone(),
    }))
}

struct FoundCard {
    card: PciDevice,
    model: &'static CardModel,
    channel: u8,
    interrupts: bool,
    owners: CardOwners,
}

impl FoundBackend for FoundCard {
    fn properties(&self) -> Properties {
        self.model.properties()
    }

    fn take(self: Box<Self>) -> Result<TakenController, BackendError> {
        let owned =
            self.owners
                .take(&self.card, self.channel, self.interrupts, self.model.driver)?;
        let controller = self.model.open(&PciAccess(&self.card), self.channel)?;
        let interrupt = if self.interrupts {
            Some(DeviceInterrupt::open(&self.card, UIO_PCI_GENERIC)?)
        } else {
            None
        };
        Ok(TakenController {
            interrupt: interrupt.as_ref().map(DeviceInterrupt::fd),
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
    interrupt: Option<DeviceInterrupt>,
    /// Last field, which is dropped last: the card is handed back when its registers are no longer
    /// used.
    _owned: Arc<OwnedCard>,
}

impl ControllerBackend for PciBackend {
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
