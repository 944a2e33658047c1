//! How a driver gets at its controller.

/// The registers of one controller, by byte offset from its first one.
///
/// Reads can have effects (a FIFO moves on, interrupts are acknowledged), so every access happens
/// exactly once, in the order of the program. Values are numbers: whoever implements this turns the
/// bus's byte order into the processor's. A read from a device that is gone gives all ones, as PCI
/// does; an offset outside of the device reads all ones and writes nothing.
pub trait Registers {
    /// Reads 8 bits.
    fn read8(&mut self, offset: u32) -> u8;
    /// Writes 8 bits.
    fn write8(&mut self, offset: u32, value: u8);
    /// Reads 32 bits; the offset is a multiple of 4.
    fn read32(&mut self, offset: u32) -> u32;
    /// Writes 32 bits; the offset is a multiple of 4.
    fn write32(&mut self, offset: u32, value: u32);
}

impl<R: Registers + ?Sized> Registers for &mut R {
    fn read8(&mut self, offset: u32) -> u8 {
        (**self).read8(offset)
    }

    fn write8(&mut self, offset: u32, value: u8) {
        (**self).write8(offset, value);
    }

    fn read32(&mut self, offset: u32) -> u32 {
        (**self).read32(offset)
    }

    fn write32(&mut self, offset: u32, value: u32) {
        (**self).write32(offset, value);
    }
}
