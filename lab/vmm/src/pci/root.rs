//! The bus: the device that the ports 0xCF8 and 0xCFC address (PCI Local Bus Specification 3.0,
//! §3.2.2.3).

use super::config::PciConfig;

/// A device on the bus.
pub(crate) trait PciFunction {
    /// Handles a read of the configuration space.
    fn read_config(&mut self, at: usize, bytes: &mut [u8]);
    /// Handles a write to the configuration space.
    fn write_config(&mut self, at: usize, bytes: &[u8]);
    /// Handles a read of memory; returns true if the address belongs to the device.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> bool;
    /// Handles a write to memory; returns true if the address belongs to the device.
    fn write(&mut self, address: u64, bytes: &[u8]) -> bool;
    /// Handles a write to a port; returns true if the port belongs to the device.
    fn out(&mut self, port: u16, bytes: &[u8]) -> bool;
}

/// The bridge between processor and bus: Linux searches for one before it uses a bus. Its number is
/// that of Intel's Q35.
const BRIDGE: (u16, u16) = (0x8086, 0x29C0);
const BRIDGE_CLASS: [u8; 3] = [6, 0, 0];

/// The ports of the address and of the data.
pub(crate) const ADDRESS: u16 = 0xCF8;
pub(crate) const DATA: u16 = 0xCFC;
/// Bit of the address: accesses to the data's ports are for configuration space.
const ENABLED: u32 = 1 << 31;

/// Returns the number of bytes from this offset to the end of the word that the address selects.
fn within(offset: u16) -> usize {
    4_usize.saturating_sub(offset.into())
}

/// One bus with a bridge in slot 0 and devices from [`PciRoot::FIRST`] on.
pub(crate) struct PciRoot<F> {
    address: u32,
    bridge: PciConfig,
    devices: Vec<F>,
}

impl<F: PciFunction> PciRoot<F> {
    /// The slot of the first device, the same as that of inner machines with QEMU.
    pub(crate) const FIRST: usize = 0x10;
    /// The most devices: the bus has 32 slots.
    pub(crate) const MOST: usize = 32 - Self::FIRST;

    pub(crate) fn new(devices: Vec<F>) -> Self {
        Self {
            address: 0,
            bridge: PciConfig::new(BRIDGE.0, BRIDGE.1, BRIDGE_CLASS, 0),
            devices,
        }
    }

    /// Returns the devices, in the order of their slots.
    pub(crate) fn devices(&mut self) -> &mut [F] {
        &mut self.devices
    }

    /// Returns slot and offset that the address selects: only bus 0 and the first function of a
    /// device exist.
    fn place(&self) -> Option<(usize, usize)> {
        let bits = |from: u32, count: u32| (self.address >> from & ((1 << count) - 1)) as usize;
        let here = self.address & ENABLED != 0 && bits(16, 8) == 0 && bits(8, 3) == 0;
        here.then(|| (bits(11, 5), bits(2, 6) * 4))
    }

    /// Handles a read of one of the ports from [`ADDRESS`] to [`DATA`] + 3.
    pub(crate) fn read(&mut self, port: u16, bytes: &mut [u8]) {
        bytes.fill(0xFF);
        let Some(offset) = port.checked_sub(DATA) else {
            if port == ADDRESS && bytes.len() == 4 {
                bytes.copy_from_slice(&self.address.to_le_bytes());
            }
            return;
        };
        let Some((slot, at)) = self.place() else {
            return;
        };
        let at = at + usize::from(offset);
        // Bytes beyond the last of the ports do not belong to this word.
        let len = bytes.len().min(within(offset));
        let bytes = bytes.get_mut(..len).unwrap_or_default();
        match slot.checked_sub(Self::FIRST) {
            None if slot == 0 => self.bridge.read(at, bytes),
            None => {}
            Some(index) => {
                if let Some(device) = self.devices.get_mut(index) {
                    device.read_config(at, bytes);
                }
            }
        }
    }

    /// Handles a write to one of these ports.
    pub(crate) fn write(&mut self, port: u16, bytes: &[u8]) {
        let Some(offset) = port.checked_sub(DATA) else {
            // Only as a whole word (§3.2.2.3.2).
            if let (ADDRESS, Ok(word)) = (port, bytes.try_into()) {
                self.address = u32::from_le_bytes(word);
            }
            return;
        };
        let Some((slot, at)) = self.place() else {
            return;
        };
        let at = at + usize::from(offset);
        let bytes = bytes.get(..bytes.len().min(within(offset)));
        let bytes = bytes.unwrap_or_default();
        match slot.checked_sub(Self::FIRST) {
            None if slot == 0 => self.bridge.write(at, bytes),
            None => {}
            Some(index) => {
                if let Some(device) = self.devices.get_mut(index) {
                    device.write_config(at, bytes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct TestFunction(PciConfig);

    impl PciFunction for TestFunction {
        fn read_config(&mut self, at: usize, bytes: &mut [u8]) {
            self.0.read(at, bytes);
        }
        fn write_config(&mut self, at: usize, bytes: &[u8]) {
            self.0.write(at, bytes);
        }
        fn read(&mut self, _: u64, _: &mut [u8]) -> bool {
            false
        }
        fn write(&mut self, _: u64, _: &[u8]) -> bool {
            false
        }
        fn out(&mut self, _: u16, _: &[u8]) -> bool {
            false
        }
    }

    fn root() -> PciRoot<TestFunction> {
        PciRoot::new(vec![TestFunction(PciConfig::new(
            0x1AF4, 0x1064, [0; 3], 1,
        ))])
    }

    fn read(root: &mut PciRoot<TestFunction>, slot: u32, at: u32, len: usize) -> Vec<u8> {
        let address = ENABLED | slot << 11 | at & !3;
        root.write(ADDRESS, &address.to_le_bytes());
        let mut bytes = vec![0; len];
        root.read(DATA + (at & 3) as u16, &mut bytes);
        bytes
    }

    #[test]
    fn a_bridge_and_a_device_are_found() {
        let mut root = root();
        assert_eq!(read(&mut root, 0, 0, 4), [0x86, 0x80, 0xC0, 0x29]);
        // Its class, by which Linux recognizes the bus.
        assert_eq!(read(&mut root, 0, 0xA, 2), [0, 6]);
        assert_eq!(read(&mut root, 0x10, 0, 2), [0xF4, 0x1A]);
        assert_eq!(read(&mut root, 0x10, 2, 2), [0x64, 0x10]);
        for empty in [1, 0xF, 0x11, 0x1F] {
            assert_eq!(read(&mut root, empty, 0, 4), [0xFF; 4]);
        }
    }

    #[test]
    fn an_access_ends_with_the_word_that_the_address_names() {
        let mut root = root();
        // Of a four-byte access at 0xCFD, three bytes belong to the subsystem's word.
        assert_eq!(read(&mut root, 0x10, 0x2D, 4), [0x1A, 0x64, 0x10, 0xFF]);
        let address = ENABLED | 0x10 << 11 | 0x38;
        root.write(ADDRESS, &address.to_le_bytes());
        root.write(DATA + 3, &[0, 0x55]);
        // A string access is not an access to a word.
        root.write(DATA, &[0x55; 8]);
        assert_eq!(read(&mut root, 0x10, 0x3C, 1), [0], "the next word stays");
    }

    #[test]
    fn other_buses_and_functions_are_empty() {
        let mut root = root();
        for address in [0, ENABLED | 1 << 16, ENABLED | 1 << 8] {
            root.write(ADDRESS, &u32::to_le_bytes(address));
            let mut bytes = [0; 4];
            root.read(DATA, &mut bytes);
            assert_eq!(bytes, [0xFF; 4], "{address:#x}");
        }
        // The address is read and written only as a whole.
        root.write(ADDRESS, &[0x12; 2]);
        let mut bytes = [0; 4];
        root.read(ADDRESS, &mut bytes);
        assert_eq!(u32::from_le_bytes(bytes), ENABLED | 1 << 8);
    }
}
