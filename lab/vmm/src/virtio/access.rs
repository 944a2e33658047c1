//! Access to the device's registers by its configuration space (`VIRTIO_PCI_CAP_PCI_CFG`, virtio
//! 1.4, §4.1.4.9): for firmware that cannot access the memory of devices. A capability selects an
//! address; a read or write of its last four bytes reads or writes there.

use crate::pci::PciConfig;

/// The kind of this capability, and its size in bytes.
const KIND: u8 = 5;
const BYTES: u8 = 20;
/// Offsets of its fields.
const BAR: usize = 4;
const OFFSET: usize = 8;
const LENGTH: usize = 12;
const DATA: usize = 16;
/// Size of its data in bytes.
pub(super) const MOST: usize = 4;

/// The address that the machine has selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AccessTarget {
    /// The base address register.
    pub(super) bar: usize,
    /// The offset in the register's region: a multiple of the length.
    pub(super) at: u32,
    /// The length: 1, 2 or 4.
    pub(super) len: usize,
}

/// The capability.
pub(super) struct ConfigAccess {
    at: usize,
}

impl ConfigAccess {
    /// Adds a capability with this number.
    pub(super) fn new(config: &mut PciConfig, number: u8) -> Self {
        let mut body = [0; BYTES as usize - 2];
        body[..2].copy_from_slice(&[BYTES, KIND]);
        let mut writable = [0; BYTES as usize - 2];
        writable[BAR - 2] = 0xFF;
        writable[OFFSET - 2..].fill(0xFF);
        Self {
            at: config.capability(number, &body, &writable),
        }
    }

    /// Returns whether this access to configuration space reaches the data.
    pub(super) fn is_reached(&self, at: usize, len: usize) -> bool {
        let data = self.at + DATA;
        at < data + MOST && data < at + len
    }

    /// Returns the address that the machine has selected; `None` if it is not a valid access of a
    /// driver (§4.1.4.9.2).
    pub(super) fn aim(&self, config: &PciConfig) -> Option<AccessTarget> {
        let mut bar = [0];
        config.read(self.at + BAR, &mut bar);
        let long = |at: usize| {
            let mut bytes = [0; 4];
            config.read(self.at + at, &mut bytes);
            u32::from_le_bytes(bytes)
        };
        let (at, len) = (long(OFFSET), long(LENGTH));
        let whole = matches!(len, 1 | 2 | 4) && at.is_multiple_of(len);
        whole.then_some(AccessTarget {
            bar: bar[0].into(),
            at,
            len: len as usize,
        })
    }

    /// Returns the data.
    pub(super) fn data(&self, config: &PciConfig) -> [u8; MOST] {
        let mut data = [0; MOST];
        config.read(self.at + DATA, &mut data);
        data
    }

    /// Stores the bytes that the device has returned.
    pub(super) fn answer(&self, config: &mut PciConfig, bytes: &[u8]) {
        config.put(self.at + DATA, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_aims_at_whole_words() {
        let mut config = PciConfig::new(1, 2, [0; 3], 0);
        let access = ConfigAccess::new(&mut config, 9);
        assert_eq!(access.aim(&config), None, "no length yet");
        let aimed = |config: &mut PciConfig, at: u32, len: u32| {
            config.write(access.at + BAR, &[2, 0xFF, 0xFF, 0xFF]);
            config.write(access.at + OFFSET, &at.to_le_bytes());
            config.write(access.at + LENGTH, &len.to_le_bytes());
            access.aim(config)
        };
        let aim = |at: u32, len: usize| Some(AccessTarget { bar: 2, at, len });
        assert_eq!(aimed(&mut config, 7, 1), aim(7, 1));
        assert_eq!(aimed(&mut config, 6, 2), aim(6, 2));
        assert_eq!(aimed(&mut config, 4, 4), aim(4, 4));
        for (at, len) in [(6, 4), (7, 2), (0, 0), (0, 3), (0, 8), (0, 0x1_0004)] {
            assert_eq!(aimed(&mut config, at, len), None, "{at}, {len}");
        }
        // The identifying bytes stay unchanged.
        let mut head = [0; 8];
        config.read(access.at, &mut head);
        assert_eq!(head, [9, 0, BYTES, KIND, 2, 0, 0, 0]);
    }

    #[test]
    fn only_its_last_four_bytes_reach_the_device() {
        let mut config = PciConfig::new(1, 2, [0; 3], 0);
        let access = ConfigAccess::new(&mut config, 9);
        let data = access.at + DATA;
        for (at, len, reached) in [
            (data - 4, 4, false),
            (data, 4, true),
            (data, 1, true),
            (data + 3, 1, true),
            (data + 4, 4, false),
            (data, 0, false),
        ] {
            assert_eq!(access.is_reached(at, len), reached, "{at}, {len}");
        }
    }
}
