//! Kvaser PCIcan and PCIcanx: up to four SJA1000 behind an AMCC S5920 bridge. Sources of the
//! values: Linux's `drivers/net/can/sja1000/kvaser_pci.c` and the S5920's data book.

use super::CardAccess;
use crate::sja1000::{ChipWiring, Sja1000};
use crate::{Controller, Properties, Registers};
use alloc::boxed::Box;

pub(super) const CHANNELS: u8 = 4;

/// Distance between controllers, bytes.
const SPACING: usize = 0x20;
/// Region 0 holds the S5920's registers, region 1 the controllers.
const BRIDGE: u8 = 0;
const CONTROLLERS: u8 = 1;
/// The bridge's interrupt control and status register, and its bit that forwards the controllers'
/// interrupts.
const INTCSR: usize = 0x38;
const ADD_ON_INTERRUPTS: u32 = 0x2000;
/// The bridge's pass-through configuration: passive mode for all four regions.
const PTCR: usize = 0x60;
const PASSIVE: u32 = 0x8080_8080;

const WIRING: ChipWiring = ChipWiring {
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

pub(super) fn open<C: CardAccess>(
    card: &C,
    channel: u8,
) -> Result<Box<dyn Controller + Send>, C::Error> {
    let mut bridge = card.region(BRIDGE, 0, PTCR + 4)?;
    bridge.write32(PTCR as u32, PASSIVE);
    let interrupts = bridge.read32(INTCSR as u32);
    bridge.write32(INTCSR as u32, interrupts | ADD_ON_INTERRUPTS);
    let first = usize::from(channel) * SPACING;
    let registers = card.region(CONTROLLERS, first, SPACING)?;
    Ok(Box::new(Sja1000::new(registers, WIRING)))
}

/// Placeholder registers for reading the properties, which depend on no register.
struct NoRegisters;

impl Registers for NoRegisters {
    fn read8(&mut self, _: u32) -> u8 {
        u8::MAX
    }
    fn write8(&mut self, _: u32, _: u8) {}
    fn read32(&mut self, _: u32) -> u32 {
        u32::MAX
    }
    fn write32(&mut self, _: u32, _: u32) {}
}
