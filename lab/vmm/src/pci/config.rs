//! A device's configuration space (PCI Local Bus Specification 3.0, §6).

/// Size in bytes.
const SIZE: usize = 256;
const COMMAND: usize = 4;
const STATUS: usize = 6;
const BARS: usize = 0x10;
const CAPABILITIES: usize = 0x34;
const LINE: usize = 0x3C;
/// The first byte after the header that all devices have.
const FIRST_CAPABILITY: usize = 0x40;

/// Bits of the command register.
const IO: u8 = 1;
const MEMORY: u8 = 2;
/// Bit of the status register: the device has capabilities.
const HAS_CAPABILITIES: u8 = 1 << 4;
/// Bit of a base address: it is an address of ports.
const IS_IO: u32 = 1;

/// The address space of a base address register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BarSpace {
    /// Addresses of memory.
    Memory,
    /// Ports.
    Io,
}

/// The space: its bytes, and the bits that the machine can change.
pub(crate) struct PciConfig {
    bytes: [u8; SIZE],
    writable: [u8; SIZE],
    /// The offset of the next capability, and the offset of the link to it.
    next: usize,
    link: usize,
}

impl PciConfig {
    /// Creates the configuration space of a device of this vendor, number and class (class,
    /// subclass, interface).
    pub(crate) fn new(vendor: u16, device: u16, class: [u8; 3], revision: u8) -> Self {
        let mut config = Self {
            bytes: [0; SIZE],
            writable: [0; SIZE],
            next: FIRST_CAPABILITY,
            link: CAPABILITIES,
        };
        config.put(0, &vendor.to_le_bytes());
        config.put(2, &device.to_le_bytes());
        config.put(8, &[revision, class[2], class[1], class[0]]);
        // The subsystem is the device itself.
        config.put(0x2C, &vendor.to_le_bytes());
        config.put(0x2E, &device.to_le_bytes());
        // Ports, memory, bus mastering; no interrupt line.
        config.writable[COMMAND..COMMAND + 2].copy_from_slice(&[7, 4]);
        config.writable[LINE] = 0xFF;
        config
    }

    /// Writes bytes from the device's side.
    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Adds a base address register for this many bytes, a power of two. They are at the address
    /// `at` until the machine moves them.
    pub(crate) fn base(&mut self, index: usize, space: BarSpace, size: u32, at: u32) {
        let kind = if space == BarSpace::Io { IS_IO } else { 0 };
        let offset = BARS + 4 * index;
        self.put(offset, &(at | kind).to_le_bytes());
        let mask = !(size - 1);
        if let Some(place) = self.writable.get_mut(offset..offset + 4) {
            place.copy_from_slice(&mask.to_le_bytes());
        }
    }

    /// Adds a capability with these bytes after its number and link; returns its offset. Some of
    /// its bits are writable.
    pub(crate) fn capability(&mut self, number: u8, body: &[u8], writable: &[u8]) -> usize {
        let at = self.next;
        let link = self.link;
        self.put(link, &[at as u8]);
        self.put(STATUS, &[HAS_CAPABILITIES]);
        self.put(at, &[number, 0]);
        self.put(at + 2, body);
        if let Some(place) = self.writable.get_mut(at + 2..at + 2 + writable.len()) {
            place.copy_from_slice(writable);
        }
        self.link = at + 1;
        self.next = (at + 2 + body.len()).next_multiple_of(4);
        at
    }

    /// Returns the address of a base address register, if the machine has enabled the device's
    /// response there.
    pub(crate) fn address(&self, index: usize, space: BarSpace) -> Option<u32> {
        let on = match space {
            BarSpace::Io => IO,
            BarSpace::Memory => MEMORY,
        };
        let offset = BARS + 4 * index;
        let word = self.bytes.get(offset..offset + 4)?.first_chunk()?;
        // The lowest bits encode the kind of the register.
        let low = if space == BarSpace::Io { 3 } else { 15 };
        (self.bytes[COMMAND] & on != 0).then_some(u32::from_le_bytes(*word) & !low)
    }

    /// Returns two bytes.
    pub(crate) fn word(&self, at: usize) -> u16 {
        let pair = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
        pair.map_or(0, |pair| u16::from_le_bytes(*pair))
    }

    /// Reads bytes for the machine; all ones where there are no registers.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) {
        for (offset, byte) in bytes.iter_mut().enumerate() {
            *byte = self.bytes.get(at + offset).copied().unwrap_or(0xFF);
        }
    }

    /// Writes bytes from the machine's side.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        for (offset, new) in bytes.iter().enumerate() {
            let at = at + offset;
            let place = self.bytes.get_mut(at).zip(self.writable.get(at));
            if let Some((place, mask)) = place {
                *place = *place & !mask | new & mask;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn device() -> PciConfig {
        let mut config = PciConfig::new(0x1AF4, 0x1064, [0x0C, 0x09, 0], 1);
        config.base(0, BarSpace::Memory, 0x4000, 0xE000_0000);
        config.base(1, BarSpace::Io, 0x10, 0xC000);
        config
    }

    fn dword(config: &PciConfig, at: usize) -> u32 {
        let mut bytes = [0; 4];
        config.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    #[test]
    fn base_addresses_state_their_size_and_move() {
        let mut config = device();
        assert_eq!(config.address(0, BarSpace::Memory), None, "not yet");
        config.write(4, &[3, 0]);
        assert_eq!(config.address(0, BarSpace::Memory), Some(0xE000_0000));
        assert_eq!(config.address(1, BarSpace::Io), Some(0xC000));
        for (at, read) in [(0x10, 0xFFFF_C000), (0x14, 0xFFFF_FFF1)] {
            config.write(at, &[0xFF; 4]);
            assert_eq!(dword(&config, at), read);
        }
        config.write(0x10, &0xD000_0123_u32.to_le_bytes());
        assert_eq!(config.address(0, BarSpace::Memory), Some(0xD000_0000));
    }

    #[test]
    fn capabilities_are_a_list() {
        let mut config = device();
        let first = config.capability(9, &[1, 2, 3], &[]);
        let second = config.capability(0x11, &[0; 10], &[0, 0xC0]);
        let mut link = [0; 2];
        config.read(CAPABILITIES, &mut link[..1]);
        assert_eq!(usize::from(link[0]), first);
        config.read(first, &mut link);
        assert_eq!(link, [9, second as u8]);
        config.read(second, &mut link);
        assert_eq!(link, [0x11, 0]);
        assert_eq!(config.word(STATUS), 1 << 4);
        config.write(second + 2, &[0xFF; 2]);
        assert_eq!(config.word(second + 2), 0xC000);
    }

    proptest! {
        /// Writes of any value at any offset do not change fixed bits.
        #[test]
        fn what_is_fixed_stays(writes in proptest::collection::vec((0_usize..300, any::<[u8; 4]>(), 0_usize..5), 0..50)) {
            let mut config = device();
            config.capability(9, &[1, 2, 3], &[]);
            for (at, bytes, len) in writes {
                config.write(at, &bytes[..len]);
            }
            prop_assert_eq!(dword(&config, 0), 0x1064_1AF4);
            prop_assert_eq!(dword(&config, 8), 0x0C09_0001);
            prop_assert_eq!(dword(&config, 0x10) & 0x3FFF, 0);
            prop_assert_eq!(dword(&config, 0x14) & 0xF, 1);
            prop_assert_eq!(dword(&config, FIRST_CAPABILITY), 0x0201_0009);
        }
    }
}
