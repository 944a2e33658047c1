//! Configuration space (PCI Local Bus Specification 3.0, §6) and the capabilities in it, as a
//! driver finds them.

use vmm::model::DeviceModel;

pub(super) const ADDRESS: u16 = 0xCF8;
pub(super) const DATA: u16 = 0xCFC;
const COMMAND: usize = 4;
const BARS: usize = 0x10;

/// Returns the value for [`ADDRESS`] that selects this slot and offset.
pub(super) const fn aimed(slot: usize, at: usize) -> u32 {
    1 << 31 | (slot as u32) << 11 | (at as u32 & 0xFC)
}

/// Reads a word of configuration space.
pub(super) fn word(model: &mut DeviceModel, slot: usize, at: usize) -> u32 {
    let mut bytes = [0; 4];
    model.out(ADDRESS, &aimed(slot, at).to_le_bytes());
    model.input(DATA, &mut bytes);
    u32::from_le_bytes(bytes)
}

fn write(model: &mut DeviceModel, slot: usize, at: usize, word: u32) {
    model.out(ADDRESS, &aimed(slot, at).to_le_bytes());
    model.out(DATA, &word.to_le_bytes());
}

/// A device's configuration space: its content, and the bits that the machine can change.
pub(super) struct ConfigModel {
    pub(super) bytes: [u8; 256],
    mask: [u8; 256],
    /// The size of the region of each base address register in bytes; 0 if it does not exist.
    pub(super) sizes: [u32; 6],
    /// Each kind of virtio's structures (its `cfg_type`): its capability's offset, base address
    /// register, offset and length.
    pub(super) structures: [Option<Structure>; 6],
    /// The offset of the capability for MSI-X.
    pub(super) msix: Option<usize>,
}

/// A structure that a capability of virtio names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Structure {
    pub(super) at: usize,
    pub(super) bar: usize,
    pub(super) offset: u32,
    pub(super) len: u32,
}

impl ConfigModel {
    /// Explores a device as a driver does: it reads everything, determines the size of each base
    /// address register, and follows the list of capabilities.
    pub(super) fn found(model: &mut DeviceModel, slot: usize) -> Self {
        let mut space = Self {
            bytes: [0; 256],
            mask: [0; 256],
            sizes: [0; 6],
            structures: [None; 6],
            msix: None,
        };
        for at in (0..256).step_by(4) {
            space.bytes[at..at + 4].copy_from_slice(&word(model, slot, at).to_le_bytes());
        }
        // Ports, memory, bus mastering, no interrupt line; the machine may store the line's number.
        space.mask[COMMAND..COMMAND + 2].copy_from_slice(&[7, 4]);
        space.mask[0x3C] = 0xFF;
        for bar in 0..6 {
            let at = BARS + 4 * bar;
            let before = word(model, slot, at);
            write(model, slot, at, u32::MAX);
            let low = if before & 1 == 0 { 15 } else { 3 };
            let bits = word(model, slot, at) & !low;
            space.sizes[bar] = bits.wrapping_neg();
            assert!(bits == 0 || space.sizes[bar].is_power_of_two(), "{bits:#x}");
            space.mask[at..at + 4].copy_from_slice(&bits.to_le_bytes());
            write(model, slot, at, before);
        }
        space.follow();
        space
    }

    fn follow(&mut self) {
        // A bit of the status indicates whether there is a list.
        if self.bytes[6] & 0x10 == 0 {
            return;
        }
        let mut at = usize::from(self.bytes[0x34]);
        for _ in 0..48 {
            match self.bytes[at] {
                0x11 => {
                    self.msix = Some(at);
                    self.mask[at + 3] = 0xC0;
                }
                9 => {
                    let kind = usize::from(self.bytes[at + 3]);
                    self.structures[kind] = Some(Structure {
                        at,
                        bar: self.bytes[at + 4].into(),
                        offset: self.long(at + 8),
                        len: self.long(at + 12),
                    });
                    if kind == 5 {
                        // The bar, the offset, the length and the data.
                        self.mask[at + 4] = 0xFF;
                        self.mask[at + 8..at + 20].fill(0xFF);
                    }
                }
                other => panic!("unknown capability {other}"),
            }
            at = self.bytes[at + 1].into();
            if at == 0 {
                return;
            }
        }
        panic!("a list without an end");
    }

    pub(super) fn long(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) {
        for (at, byte) in (at..).zip(bytes) {
            let (old, mask) = (self.bytes[at], self.mask[at]);
            self.bytes[at] = old & !mask | byte & mask;
        }
    }

    /// Returns the address of a base address register, if it is enabled.
    pub(super) fn base(&self, bar: usize) -> Option<u64> {
        let word = self.long(BARS + 4 * bar);
        let (on, low) = if word & 1 == 0 { (2, 15) } else { (1, 3) };
        let there = self.sizes[bar] > 0 && self.bytes[COMMAND] & on != 0;
        there.then_some(u64::from(word & !low))
    }

    /// Returns whether it is a register for ports.
    pub(super) fn is_ports(&self, bar: usize) -> bool {
        self.bytes[BARS + 4 * bar] & 1 != 0
    }
}
