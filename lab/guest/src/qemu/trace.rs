//! QEMU's record of what the guest's drivers do with the CAN cards' registers.
//!
//! QEMU's trace event of each access to a device's memory contains the region and the address in
//! the guest. The host alone writes the record: no instruction is added to the guest's.

use crate::error::Error;
use crate::machine::RegisterAccess;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// QEMU's name of the region with the controller's registers (hw/net/can/can_kvaser_pci.c).
const REGION: &str = "kvaser_pci-sja";
/// The number of ports in the region; the SJA1000's registers are the first of them.
const PORTS: u64 = 0x80;

/// The events that QEMU records.
pub(super) const EVENTS: [&str; 2] = ["memory_region_ops_read", "memory_region_ops_write"];

/// Reads a record. `bases` are the addresses of the cards' registers, in the cards' order.
pub(crate) fn accesses(path: &Path, bases: &[u64]) -> Result<Vec<RegisterAccess>, Error> {
    let file = File::open(path).map_err(Error::file("read", path))?;
    let mut all = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(Error::file("read", path))?;
        all.extend(access(&String::from_utf8_lossy(&line), bases));
    }
    Ok(all)
}

/// Parses a line such as `memory_region_ops_write cpu 0 mr 0x… addr 0xc001 value 0x1 size 1 name
/// 'kvaser_pci-sja'`.
fn access(line: &str, bases: &[u64]) -> Option<RegisterAccess> {
    let (event, rest) = line.split_once(" cpu ")?;
    // The process and the time may precede the event's name.
    let write = if event.ends_with(EVENTS[1]) {
        true
    } else if event.ends_with(EVENTS[0]) {
        false
    } else {
        return None;
    };
    let (values, name) = rest.split_once(" name '")?;
    if name.strip_suffix('\'')? != REGION {
        return None;
    }
    let mut words = values.split(' ');
    let mut after = |word: &str| -> Option<u64> {
        words.find(|w| *w == word)?;
        u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()
    };
    let (address, value) = (after("addr")?, after("value")?);
    let (card, base) = bases
        .iter()
        .enumerate()
        .find(|(_, base)| (**base..base.saturating_add(PORTS)).contains(&address))?;
    Some(RegisterAccess {
        card: u8::try_from(card).ok()?,
        register: u8::try_from(address.checked_sub(*base)?).ok()?,
        write,
        value: u8::try_from(value & 0xff).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_the_cards_are_read_and_others_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        std::fs::write(
            &path,
            "memory_region_ops_write cpu 0 mr 0x5580 addr 0xfee00380 value 0x1e848 size 4 name 'apic-msi'\n\
             memory_region_ops_read cpu 0 mr 0x5581 addr 0xc103 value 0x1 size 1 name 'kvaser_pci-sja'\n\
             1234@5.6:memory_region_ops_write cpu 0 mr 0x5582 addr 0xc181 value 0x104 size 1 name 'kvaser_pci-sja'\n\
             memory_region_ops_write cpu 0 mr 0x5582 addr 0xd181 value 0x4 size 1 name 'kvaser_pci-sja'\n\
             qemu-system-x86_64: warning: something else\n",
        )
        .unwrap();
        let all = accesses(&path, &[0xc180, 0xc100]).unwrap();
        let read = RegisterAccess {
            card: 1,
            register: 3,
            write: false,
            value: 1,
        };
        let written = RegisterAccess {
            card: 0,
            register: 1,
            write: true,
            value: 4,
        };
        assert_eq!(all, [read, written]);
        assert!(accesses(&dir.path().join("none"), &[]).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_no_access(line in ".{0,80}", bases in proptest::collection::vec(any::<u64>(), 0..4)) {
            let _ = access(&line, &bases);
            let _ = access(&format!("memory_region_ops_read cpu 0 addr 0x{line} value 0x1 name '{REGION}'"), &bases);
        }
    }
}
