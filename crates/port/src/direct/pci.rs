//! Controllers on PCI cards.

use super::backend::{Backend, Found, Trouble, Wanted};
use super::card::{OwnedCard, Owners};
use crate::Opener;
use controller::sja1000::{Sja1000, Wiring};
use controller::{Controller, Properties, Registers};
use linux::pci::{Card, Class, Interrupt, Region};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

/// A card that is known, and how its controllers are reached.
struct Model {
    classes: &'static [Class],
    name: &'static str,
    /// The kernel's driver.
    driver: &'static str,
    channels: u8,
    properties: fn() -> Properties,
    open: fn(&Card, u8) -> Opened,
}

type Opened = Result<Box<dyn Controller + Send>, Trouble>;

const fn class(vendor: u16, device: u16) -> Class {
    Class { vendor, device }
}

const MODELS: &[Model] = &[
    Model {
        classes: &[class(0x10E8, 0x8406), class(0x1A07, 0x0008)],
        name: "Kvaser PCIcan",
        driver: "kvaser_pci",
        channels: kvaser::CHANNELS,
        properties: kvaser::properties,
        open: kvaser::open,
    },
    Model {
        classes: &[class(0x1760, 0xFF00)],
        name: "CTU CAN FD card",
        driver: "ctucanfd_pci",
        channels: ctucan::CHANNELS,
        properties: ctucan::properties,
        open: ctucan::open,
    },
];

pub(super) fn find(wanted: &Wanted<'_>, opener: &mut Opener) -> Result<Box<dyn Found>, Trouble> {
    let (card, of_interface) = Card::find(wanted.device)?;
    let Some(model) = MODELS
        .iter()
        .find(|model| model.classes.contains(&card.class()))
    else {
        let Class { vendor, device } = card.class();
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
        (self.model.properties)()
    }

    fn take(self: Box<Self>) -> Result<Box<dyn Backend>, Trouble> {
        let owned =
            self.owners
                .take(&self.card, self.channel, self.interrupts, self.model.driver)?;
        let controller = (self.model.open)(&self.card, self.channel)?;
        let interrupt = if self.interrupts {
            Some(Interrupt::open(&self.card)?)
        } else {
            None
        };
        Ok(Box::new(PciBackend {
            controller,
            interrupt,
            _owned: owned,
        }))
    }
}

struct PciBackend {
    controller: Box<dyn Controller + Send>,
    interrupt: Option<Interrupt>,
    /// Last: the card is handed back when its registers are no longer used.
    _owned: Arc<OwnedCard>,
}

impl Backend for PciBackend {
    fn controller(&mut self) -> &mut dyn Controller {
        &mut *self.controller
    }

    fn interrupt(&self) -> Option<RawFd> {
        self.interrupt.as_ref().map(Interrupt::fd)
    }

    fn take_interrupt(&mut self) -> io::Result<bool> {
        match &self.interrupt {
            Some(interrupt) => Ok(interrupt.take()?),
            None => Ok(false),
        }
    }

    fn arm(&mut self) -> io::Result<()> {
        match &self.interrupt {
            Some(interrupt) => interrupt.arm().map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

impl Drop for PciBackend {
    fn drop(&mut self) {
        self.controller.stop();
    }
}

/// Stops all controllers of a card that is with no driver, after the process that drove it is gone.
pub(super) fn silence(address: &str) -> Result<(), Trouble> {
    let (card, _) = Card::find(address)?;
    let model = MODELS.iter().find(|m| m.classes.contains(&card.class()));
    for (model, channel) in model
        .into_iter()
        .flat_map(|m| (0..m.channels).map(move |c| (m, c)))
    {
        // A channel that the card does not have does not answer.
        (model.open)(&card, channel)?.stop();
    }
    Ok(())
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

/// Kvaser PCIcan and PCIcanx: up to four SJA1000 behind an AMCC S5920 bridge. What is known of them is
/// in Linux's `drivers/net/can/sja1000/kvaser_pci.c` and in the S5920's data book.
mod kvaser {
    use super::{Card, Opened, Properties, Region, Sja1000, Window, Wiring};
    use controller::Controller;

    pub(super) const CHANNELS: u8 = 4;

    /// Bytes from one controller to the next.
    const SPACING: usize = 0x20;
    /// The S5920's registers are region 0, the controllers region 1.
    const BRIDGE: u8 = 0;
    const CONTROLLERS: u8 = 1;
    /// The bridge's interrupt control and status, and its bit that lets the controllers' interrupts through.
    const INTCSR: usize = 0x38;
    const ADD_ON_INTERRUPTS: u32 = 0x2000;
    /// The bridge's pass-through configuration: passive mode for all four regions.
    const PTCR: usize = 0x60;
    const PASSIVE: u32 = 0x8080_8080;

    const WIRING: Wiring = Wiring {
        // A crystal of 16 MHz.
        clock: 8_000_000,
        // Both outputs push-pull.
        output: 0xD8,
        // RX1 is not used: the comparator is bypassed; no clock output.
        clock_divider: 0x47,
    };

    pub(super) fn properties() -> Properties {
        Sja1000::new(NoRegisters, WIRING).properties().clone()
    }

    pub(super) fn open(card: &Card, channel: u8) -> Opened {
        let bridge = Region::open(card, BRIDGE, PTCR + 4)?;
        bridge.write32(PTCR, PASSIVE);
        let interrupts = bridge.read32(INTCSR);
        bridge.write32(INTCSR, interrupts | ADD_ON_INTERRUPTS);
        let first = usize::from(channel) * SPACING;
        let region = Region::open(card, CONTROLLERS, first + SPACING)?;
        Ok(Box::new(Sja1000::new(Window { region, first }, WIRING)))
    }

    /// For the properties, which no register decides.
    struct NoRegisters;

    impl controller::Registers for NoRegisters {
        fn read8(&mut self, _: u32) -> u8 {
            u8::MAX
        }
        fn write8(&mut self, _: u32, _: u8) {}
        fn read32(&mut self, _: u32) -> u32 {
            u32::MAX
        }
        fn write32(&mut self, _: u32, _: u32) {}
    }
}

/// CTU CAN FD on a PCI Express card with an Intel Cyclone IV, and QEMU's `ctucan_pci`. What is known of them
/// is in Linux's `drivers/net/can/ctucanfd/ctucanfd_pci.c`.
mod ctucan {
    use super::{Card, Opened, Properties, Region, Window};
    use controller::ctucanfd::CtuCanFd;

    pub(super) const CHANNELS: u8 = 2;

    const CLOCK: u32 = 100_000_000;
    /// Bytes from one core to the next.
    const SPACING: usize = 0x4000;
    /// What is read and written of a core.
    const LENGTH: usize = 0x1000;
    /// The bridge's registers are region 0, the cores region 1.
    const BRIDGE: u8 = 0;
    const CORES: u8 = 1;
    /// The bridge's interrupt enable register (Cyclone IV, control register access).
    const INTERRUPTS: usize = 0x4000 + 0x50;

    pub(super) fn properties() -> Properties {
        CtuCanFd::usual_properties(CLOCK)
    }

    pub(super) fn open(card: &Card, channel: u8) -> Opened {
        let bridge = Region::open(card, BRIDGE, INTERRUPTS + 4)?;
        bridge.write32(INTERRUPTS, bridge.read32(INTERRUPTS) | 1);
        let first = usize::from(channel) * SPACING;
        let region = Region::open(card, CORES, first + LENGTH)?;
        Ok(Box::new(CtuCanFd::new(Window { region, first }, CLOCK)))
    }
}
