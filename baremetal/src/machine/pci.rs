//! PCI cards, by configuration mechanism 1 (PCI Local Bus Specification 3.0, §3.2.2.3.2).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use controller::Registers;
use controller::driven::cards;
use core::fmt;
use x86_64::instructions::port::Port;

/// The address of a card.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Card {
    bus: u8,
    slot: u8,
    function: u8,
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "0000:{:02x}:{:02x}.{}",
            self.bus, self.slot, self.function
        )
    }
}

impl Card {
    fn select(self, register: u8) -> Port<u32> {
        let address = 0x8000_0000
            | u32::from(self.bus) << 16
            | u32::from(self.slot) << 11
            | u32::from(self.function) << 8
            | u32::from(register & 0xFC);
        // SAFETY: selects a register of the configuration; does not access memory.
        unsafe { Port::new(0xCF8).write(address) };
        Port::new(0xCFC)
    }

    fn read(self, register: u8) -> u32 {
        // SAFETY: reads the selected register; configuration reads have no effect.
        unsafe { self.select(register).read() }
    }

    fn write(self, register: u8, value: u32) {
        // SAFETY: the callers write only the command register.
        unsafe { self.select(register).write(value) }
    }

    /// Returns vendor and device.
    pub(super) fn class(self) -> (u16, u16) {
        let word = self.read(0);
        (word as u16, (word >> 16) as u16)
    }

    /// Returns the line of the 8259s that the firmware assigned to the card.
    pub(super) fn line(self) -> Option<u8> {
        let line = self.read(0x3C) as u8;
        (line < 16).then_some(line)
    }

    /// Enables the card's registers, and its interrupts by the line.
    fn wake(self) {
        let command = self.read(4);
        self.write(4, (command | 0b11) & !(1 << 10) & 0xFFFF);
    }
}

/// Returns all cards of the machine.
pub(super) fn scan() -> Vec<Card> {
    let mut all = Vec::new();
    for bus in 0..=255 {
        for slot in 0..32 {
            for function in 0..8 {
                let card = Card {
                    bus,
                    slot,
                    function,
                };
                if card.class().0 != 0xFFFF {
                    all.push(card);
                }
            }
        }
    }
    all
}

/// Registers of a card.
pub(super) enum Window {
    /// Ports, from this one on.
    Ports(u16),
    /// Memory, from this address on.
    Memory(usize),
}

impl cards::CardAccess for Card {
    type Region = Window;
    type Error = String;

    fn region(&self, number: u8, first: usize, length: usize) -> Result<Window, String> {
        self.wake();
        let bar = self.read(0x10 + 4 * number);
        let nothing = || format!("{self} has no region {number}");
        if bar & 1 == 1 {
            let base = (bar & 0xFFFC) as usize + first;
            let end = u16::try_from(base + length).ok();
            return end.map(|_| Window::Ports(base as u16)).ok_or_else(nothing);
        }
        if bar & 0b110 == 0b100 && self.read(0x14 + 4 * number) != 0 {
            return Err(format!(
                "region {number} of {self} lies above 4 GiB, which is not mapped"
            ));
        }
        let base = (bar & !0xF) as usize;
        if base == 0 {
            return Err(nothing());
        }
        Ok(Window::Memory(base + first))
    }
}

impl Registers for Window {
    fn read8(&mut self, offset: u32) -> u8 {
        match self {
            // SAFETY: a register of a CAN card that no other driver has, by the firmware's address.
            Self::Ports(base) => unsafe { Port::new(*base + offset as u16).read() },
            // SAFETY: the same; all below 4 GiB is mapped.
            Self::Memory(base) => unsafe {
                core::ptr::read_volatile((*base + offset as usize) as *const u8)
            },
        }
    }

    fn write8(&mut self, offset: u32, value: u8) {
        match self {
            // SAFETY: as in `read8`; CAN controllers reach no memory.
            Self::Ports(base) => unsafe { Port::new(*base + offset as u16).write(value) },
            // SAFETY: the same.
            Self::Memory(base) => unsafe {
                core::ptr::write_volatile((*base + offset as usize) as *mut u8, value);
            },
        }
    }

    fn read32(&mut self, offset: u32) -> u32 {
        match self {
            // SAFETY: as in `read8`.
            Self::Ports(base) => unsafe { Port::new(*base + offset as u16).read() },
            // SAFETY: the same; regions and offsets are multiples of 4.
            Self::Memory(base) => unsafe {
                core::ptr::read_volatile((*base + offset as usize) as *const u32)
            },
        }
    }

    fn write32(&mut self, offset: u32, value: u32) {
        match self {
            // SAFETY: as in `write8`.
            Self::Ports(base) => unsafe { Port::new(*base + offset as u16).write(value) },
            // SAFETY: the same; regions and offsets are multiples of 4.
            Self::Memory(base) => unsafe {
                core::ptr::write_volatile((*base + offset as usize) as *mut u32, value);
            },
        }
    }
}
