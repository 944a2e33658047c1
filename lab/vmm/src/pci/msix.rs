//! MSI-X (PCI Local Bus Specification 3.0, §6.8.2): a table of messages, one per interrupt, each of
//! which can be masked.

use super::config::PciConfig;

/// The capability's number.
const NUMBER: u8 = 0x11;
/// Size of the table's entries in bytes: address, data, control.
const ENTRY: usize = 16;
/// Bits of the capability's control word.
const ENABLE: u16 = 1 << 15;
const MASK_ALL: u16 = 1 << 14;

/// The message of an interrupt: its address and its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MsixMessage {
    /// The address that is written.
    pub address: u64,
    /// The value that is written.
    pub data: u32,
}

/// The connection of interrupts to the processor.
pub(crate) trait InterruptWires {
    /// Connects this interrupt to a message from now on; with `None`, the interrupt stays pending.
    fn connect(&mut self, vector: usize, message: Option<MsixMessage>);
    /// Returns whether an interrupt is pending.
    fn waits(&self, vector: usize) -> bool;
}

/// The table of a device's interrupts.
pub(crate) struct MsixTable {
    entries: Vec<[u8; ENTRY]>,
    /// The offset of the capability.
    at: usize,
    control: u16,
    /// The last values that were passed to [`InterruptWires`].
    connected: Vec<Option<MsixMessage>>,
}

impl MsixTable {
    /// Returns the offset of the pending bits, which follow the table.
    pub(crate) const fn pending_at(count: usize) -> usize {
        (count * ENTRY).next_multiple_of(0x800)
    }

    /// Creates a table of `count` interrupts at the beginning of the region of this base address
    /// register.
    pub(crate) fn new(config: &mut PciConfig, count: usize, bar: u8) -> Self {
        let last = count as u16 - 1;
        let table = u32::from(bar);
        let pending = Self::pending_at(count) as u32 | u32::from(bar);
        let body = [
            &last.to_le_bytes()[..],
            &table.to_le_bytes(),
            &pending.to_le_bytes(),
        ];
        let at = config.capability(NUMBER, &body.concat(), &[0, 0xC0]);
        let mut masked = [0; ENTRY];
        masked[12] = 1;
        Self {
            entries: vec![masked; count],
            at,
            control: 0,
            connected: vec![None; count],
        }
    }

    /// Returns the number of interrupts.
    pub(crate) const fn count(&self) -> usize {
        self.entries.len()
    }

    /// Applies changes of the configuration space.
    pub(crate) fn configured(&mut self, config: &PciConfig, wires: &mut dyn InterruptWires) {
        let control = config.word(self.at + 2);
        if control != self.control {
            self.control = control;
            self.connect(wires);
        }
    }

    /// Handles a read of the table, or of the pending bits.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8], wires: &dyn InterruptWires) {
        let pending = Self::pending_at(self.count());
        for (offset, byte) in bytes.iter_mut().enumerate() {
            let at = at + offset;
            let entry = self.entries.get(at / ENTRY);
            *byte = match (entry.and_then(|entry| entry.get(at % ENTRY)), at) {
                (Some(byte), _) => *byte,
                (None, at) if at >= pending => (0..8)
                    .filter(|bit| {
                        let vector = (at - pending) * 8 + bit;
                        vector < self.count() && wires.waits(vector)
                    })
                    .fold(0, |byte, bit| byte | 1 << bit),
                (None, _) => 0,
            };
        }
    }

    /// Handles a write to the table.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8], wires: &mut dyn InterruptWires) {
        for (offset, new) in bytes.iter().enumerate() {
            let at = at + offset;
            let entry = self.entries.get_mut(at / ENTRY);
            if let Some(place) = entry.and_then(|entry| entry.get_mut(at % ENTRY)) {
                // Of the control word, only the mask bit exists.
                *place = match at % ENTRY {
                    12 => new & 1,
                    13..ENTRY => 0,
                    _ => *new,
                };
            }
        }
        self.connect(wires);
    }

    fn message(&self, entry: &[u8; ENTRY]) -> Option<MsixMessage> {
        let on = self.control & (ENABLE | MASK_ALL) == ENABLE && entry[12] & 1 == 0;
        let (address, rest) = entry.split_first_chunk()?;
        on.then_some(MsixMessage {
            address: u64::from_le_bytes(*address),
            data: u32::from_le_bytes(*rest.first_chunk()?),
        })
    }

    fn connect(&mut self, wires: &mut dyn InterruptWires) {
        for vector in 0..self.count() {
            let message = self.message(&self.entries[vector]);
            if message != self.connected[vector] {
                self.connected[vector] = message;
                wires.connect(vector, message);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The interrupts that were connected last.
    #[derive(Default)]
    pub(crate) struct FakeWires {
        pub(crate) connected: Vec<Option<MsixMessage>>,
        pub(crate) waiting: Vec<bool>,
    }

    impl FakeWires {
        pub(crate) fn new(count: usize) -> Self {
            Self {
                connected: vec![None; count],
                waiting: vec![false; count],
            }
        }
    }

    impl InterruptWires for FakeWires {
        fn connect(&mut self, vector: usize, message: Option<MsixMessage>) {
            self.connected[vector] = message;
        }

        fn waits(&self, vector: usize) -> bool {
            self.waiting[vector]
        }
    }

    fn device() -> (PciConfig, MsixTable, FakeWires) {
        let mut config = PciConfig::new(1, 2, [0; 3], 0);
        let msix = MsixTable::new(&mut config, 4, 2);
        (config, msix, FakeWires::new(4))
    }

    #[test]
    fn an_interrupt_is_connected_while_nothing_masks_it() {
        let (mut config, mut msix, mut wires) = device();
        let entry = [0x10, 0, 0xE0, 0xFE, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0];
        msix.write(ENTRY, &entry, &mut wires);
        assert_eq!(wires.connected[1], None, "it is not enabled");
        config.write(msix.at + 2, &ENABLE.to_le_bytes());
        msix.configured(&config, &mut wires);
        let message = MsixMessage {
            address: 0xFEE0_0010,
            data: 0x21,
        };
        assert_eq!(wires.connected, [None, Some(message), None, None]);
        msix.write(ENTRY + 12, &[1], &mut wires);
        assert_eq!(wires.connected[1], None);
        msix.write(ENTRY + 12, &[0; 4], &mut wires);
        assert_eq!(wires.connected[1], Some(message));
        config.write(msix.at + 2, &(ENABLE | MASK_ALL).to_le_bytes());
        msix.configured(&config, &mut wires);
        assert_eq!(wires.connected[1], None);
    }

    #[test]
    fn what_waits_is_read() {
        let (_, msix, mut wires) = device();
        wires.waiting = vec![true, false, true, false];
        let mut bytes = [0xFF; 8];
        msix.read(0x800, &mut bytes, &wires);
        assert_eq!(bytes, [5, 0, 0, 0, 0, 0, 0, 0]);
        // A masked entry.
        msix.read(0, &mut bytes, &wires);
        assert_eq!(bytes, [0; 8]);
        msix.read(8, &mut bytes, &wires);
        assert_eq!(bytes, [0, 0, 0, 0, 1, 0, 0, 0]);
    }

    proptest! {
        /// Any accesses do not cause a panic, and reads of the table return the values that were
        /// written, except for bits that do not exist.
        #[test]
        fn any_access(writes in proptest::collection::vec((0_usize..0x1100, any::<[u8; 8]>(), 0_usize..9), 0..50)) {
            let (_, mut msix, mut wires) = device();
            let mut plain = [0_u8; 64];
            for entry in plain.chunks_mut(ENTRY) {
                entry[12] = 1;
            }
            for (at, bytes, len) in writes {
                msix.write(at, &bytes[..len], &mut wires);
                for (offset, byte) in bytes[..len].iter().enumerate() {
                    if let Some(place) = plain.get_mut(at + offset) {
                        *place = match (at + offset) % ENTRY { 12 => byte & 1, 13.. => 0, _ => *byte };
                    }
                }
                let mut read = [0; 8];
                msix.read(at, &mut read, &wires);
            }
            let mut read = [0; 64];
            msix.read(0, &mut read, &wires);
            prop_assert_eq!(read, plain);
        }
    }
}
