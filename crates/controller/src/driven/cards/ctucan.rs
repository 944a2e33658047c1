//! CTU CAN FD on a PCI Express card with an Intel Cyclone IV, and QEMU's `ctucan_pci`. Source of
//! the values: Linux's `drivers/net/can/ctucanfd/ctucanfd_pci.c`.

use super::CardAccess;
use crate::ctucanfd::CtuCanFd;
use crate::{Controller, Properties, Registers};
use alloc::boxed::Box;

pub(super) const CHANNELS: u8 = 2;

const CLOCK: u32 = 100_000_000;
/// Distance between cores, bytes.
const SPACING: usize = 0x4000;
/// Length of a core's register area that is accessed, bytes.
const LENGTH: usize = 0x1000;
/// Region 0 holds the bridge's registers, region 1 the cores.
const BRIDGE: u8 = 0;
const CORES: u8 = 1;
/// The bridge's interrupt enable register (Cyclone IV, control register access).
const INTERRUPTS: usize = 0x4000 + 0x50;

pub(super) fn properties() -> Properties {
    CtuCanFd::usual_properties(CLOCK)
}

pub(super) fn open<C: CardAccess>(
    card: &C,
    channel: u8,
) -> Result<Box<dyn Controller + Send>, C::Error> {
    let mut bridge = card.region(BRIDGE, 0, INTERRUPTS + 4)?;
    let enabled = bridge.read32(INTERRUPTS as u32);
    bridge.write32(INTERRUPTS as u32, enabled | 1);
    let registers = card.region(CORES, usize::from(channel) * SPACING, LENGTH)?;
    Ok(Box::new(CtuCanFd::new(registers, CLOCK)))
}
