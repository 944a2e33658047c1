//! Controllers of a PC: on PCI cards, or on the bench in the image.

use super::{bench, interrupts, pci};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use baremetal::bench::controller;
use baremetal::{ControllerPlace, DriveMode, PortPlan, TargetMachine};
use controller::Controller;
use controller::driven::{ControllerBackend, Lost, cards};

/// This machine, and the cards that were found in it.
#[derive(Default)]
pub(super) struct Pc {
    cards: Option<Vec<pci::Card>>,
}

impl TargetMachine for Pc {
    fn controller(
        &mut self,
        number: u8,
        port: &PortPlan,
    ) -> Result<Box<dyn ControllerBackend>, String> {
        let waits = port.drive == DriveMode::Interrupt;
        match &port.place {
            ControllerPlace::Bench { bus } => controller(&bench::Bench, *bus, waits),
            ControllerPlace::Card { address, channel } => {
                let card = self.card(address)?;
                on_card(card, *channel, waits.then_some(number))
            }
        }
    }
}

impl Pc {
    fn card(&mut self, address: &str) -> Result<pci::Card, String> {
        let cards = self.cards.get_or_insert_with(pci::scan);
        let found = cards.iter().find(|card| card.to_string() == address);
        found.copied().ok_or_else(|| {
            let known: Vec<_> = cards
                .iter()
                .filter(|card| cards::model(card.class()).is_some())
                .map(ToString::to_string)
                .collect();
            let known = if known.is_empty() {
                "there is no card that cangate can drive".to_string()
            } else {
                format!("cards that cangate can drive are at {}", known.join(", "))
            };
            format!("there is no PCI card {address}: {known}")
        })
    }
}

fn on_card(
    card: pci::Card,
    channel: u8,
    waits: Option<u8>,
) -> Result<Box<dyn ControllerBackend>, String> {
    let model = cards::model(card.class()).ok_or_else(|| {
        let (vendor, device) = card.class();
        format!("{card} is a PCI card {vendor:04x}:{device:04x}, which cangate cannot drive")
    })?;
    if channel >= model.channels {
        return Err(format!(
            "{card} has no channel {channel}: a {} has channels 0 to {} at most",
            model.name,
            model.channels - 1
        ));
    }
    let line = match waits {
        None => None,
        Some(number) => {
            let line = card.line().ok_or_else(|| {
                format!("the firmware gave {card} no interrupt: use mode = \"poll\"")
            })?;
            interrupts::attach(number, line);
            Some((number, line))
        }
    };
    let controller = model.open(&card, channel)?;
    Ok(Box::new(OnCard { controller, line }))
}

struct OnCard {
    controller: Box<dyn Controller + Send>,
    /// The port's number, and the line of its card.
    line: Option<(u8, u8)>,
}

impl ControllerBackend for OnCard {
    fn controller(&mut self) -> &mut dyn Controller {
        &mut *self.controller
    }

    fn waits(&self) -> bool {
        self.line.is_some()
    }

    fn take_interrupt(&mut self) -> Result<bool, Lost> {
        Ok(self.line.is_none_or(|(number, _)| interrupts::take(number)))
    }

    fn arm(&mut self) -> Result<(), Lost> {
        if let Some((_, line)) = self.line {
            interrupts::arm(line);
        }
        Ok(())
    }
}
