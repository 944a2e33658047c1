//! Access of a driver to its controller's registers.

/// The registers of one controller, addressed by byte offset from the first one.
///
/// Reads can have side effects (a FIFO advances, interrupts are acknowledged), so every access
/// happens exactly once, in program order. Values are numbers: the implementation converts between
/// the bus's byte order and the processor's. A read from a device that is gone returns all ones, as
/// on PCI; an offset outside of the device reads all ones, and a write there has no effect.
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
