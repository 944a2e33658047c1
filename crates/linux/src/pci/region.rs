//! A region (BAR) of a device.

use super::card::{PciDevice, PciError};
use super::ioports::PortRange;
use crate::memory::Registers32;
use crate::shared::SharedMapping;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// `IORESOURCE_IO` and `IORESOURCE_MEM` of `linux/ioport.h`, as the file `resource` of sysfs shows
/// them.
const IO: u64 = 0x100;
const MEMORY: u64 = 0x200;

/// A region of a device, for reading and writing. Outside of the region, reads return all ones and
/// writes have no effect, as on a bus where no device answers. Values have the processor's byte
/// order; PCI is little-endian.
#[derive(Debug)]
pub struct DeviceRegion(RegionAccess);

#[derive(Debug)]
enum RegionAccess {
    Memory(Registers32),
    Ports(PortRange),
    /// One system call per access.
    File(File, usize),
}

impl DeviceRegion {
    /// Opens region `index` of a device, which must be switched on.
    ///
    /// # Errors
    /// [`PciError::Region`] where there is no such region, or it is shorter than `least` bytes;
    /// [`PciError::File`].
    pub fn open(card: &PciDevice, index: u8, least: usize) -> Result<Self, PciError> {
        let ResourceLine { start, len, flags } = ResourceLine::read(card, index)?;
        if len < least {
            return Err(wrong(
                card,
                index,
                "is shorter than this card's should be: is it another card?",
            ));
        }
        let path = card.folder().join(format!("resource{index}"));
        let open = || open(&path);
        if flags & MEMORY != 0 {
            let mapped = Registers32::map(open()?, len).map_err(|errno| PciError::File {
                what: "map",
                path: path.clone(),
                source: errno.into(),
            })?;
            return Ok(Self(RegionAccess::Memory(mapped)));
        }
        if flags & IO == 0 {
            return Err(wrong(card, index, "is neither memory nor ports"));
        }
        let ports = u16::try_from(start).ok().zip(u16::try_from(len).ok());
        match ports.and_then(|(first, count)| PortRange::open(first, count)) {
            Some(ports) => Ok(Self(RegionAccess::Ports(ports))),
            None => Ok(Self(RegionAccess::File(open()?, len))),
        }
    }

    /// Maps region `index` of a device, which contains memory that others also write, and no
    /// registers.
    ///
    /// # Errors
    /// As [`DeviceRegion::open`].
    pub fn shared(card: &PciDevice, index: u8) -> Result<SharedMapping, PciError> {
        let ResourceLine { len, flags, .. } = ResourceLine::read(card, index)?;
        if flags & MEMORY == 0 {
            return Err(wrong(card, index, "is not memory"));
        }
        let path = card.folder().join(format!("resource{index}"));
        SharedMapping::map_device(open(&path)?, len).map_err(|errno| PciError::File {
            what: "map",
            path,
            source: errno.into(),
        })
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            RegionAccess::Memory(memory) => memory.len(),
            RegionAccess::Ports(ports) => ports.len(),
            RegionAccess::File(_, len) => *len,
        }
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the access method, as text.
    #[must_use]
    pub const fn way(&self) -> &'static str {
        match &self.0 {
            RegionAccess::Memory(_) => "mapped memory",
            RegionAccess::Ports(_) => "port instructions",
            RegionAccess::File(..) => "ports by system calls",
        }
    }

    /// Reads 8 bits.
    #[inline]
    #[must_use]
    pub fn read8(&self, at: usize) -> u8 {
        match &self.0 {
            RegionAccess::Memory(memory) => memory.read8(at),
            RegionAccess::Ports(ports) => ports.read8(at),
            RegionAccess::File(file, len) => read::<1>(file, *len, at).map(u8::from_le_bytes),
        }
        .unwrap_or(u8::MAX)
    }

    /// Writes 8 bits.
    #[inline]
    pub fn write8(&self, at: usize, value: u8) {
        match &self.0 {
            RegionAccess::Memory(memory) => memory.write8(at, value),
            RegionAccess::Ports(ports) => ports.write8(at, value),
            RegionAccess::File(file, len) => write(file, *len, at, &value.to_le_bytes()),
        }
    }

    /// Reads 32 bits at a multiple of 4.
    #[inline]
    #[must_use]
    pub fn read32(&self, at: usize) -> u32 {
        match &self.0 {
            RegionAccess::Memory(memory) => memory.read32(at),
            RegionAccess::Ports(ports) => ports.read32(at),
            RegionAccess::File(file, len) => read::<4>(file, *len, at).map(u32::from_le_bytes),
        }
        .unwrap_or(u32::MAX)
    }

    /// Writes 32 bits at a multiple of 4.
    #[inline]
    pub fn write32(&self, at: usize, value: u32) {
        match &self.0 {
            RegionAccess::Memory(memory) => memory.write32(at, value),
            RegionAccess::Ports(ports) => ports.write32(at, value),
            RegionAccess::File(file, len) => write(file, *len, at, &value.to_le_bytes()),
        }
    }
}

/// A line of the file `resource` of sysfs.
struct ResourceLine {
    start: u64,
    len: usize,
    flags: u64,
}

impl ResourceLine {
    fn read(card: &PciDevice, index: u8) -> Result<Self, PciError> {
        let list = card.folder().join("resource");
        let text = fs::read_to_string(&list).map_err(|source| PciError::File {
            what: "read",
            path: list,
            source,
        })?;
        let found = parse(&text, index).ok_or_else(|| wrong(card, index, "does not exist"))?;
        let (start, len, flags) = found;
        Ok(Self { start, len, flags })
    }
}

fn wrong(card: &PciDevice, region: u8, why: &'static str) -> PciError {
    PciError::Region {
        address: card.address().to_owned(),
        region,
        why,
    }
}

fn open(path: &Path) -> Result<File, PciError> {
    let file = File::options().read(true).write(true).open(path);
    file.map_err(|source| PciError::File {
        what: "open",
        path: path.to_owned(),
        source,
    })
}

fn read<const N: usize>(file: &File, len: usize, at: usize) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if at.checked_add(N)? > len {
        return None;
    }
    file.read_exact_at(&mut bytes, at as u64).ok()?;
    Some(bytes)
}

fn write(file: &File, len: usize, at: usize, bytes: &[u8]) {
    if at.checked_add(bytes.len()).is_some_and(|end| end <= len) {
        // A write to a device that is gone has no effect; reading reveals this.
        let _ = file.write_all_at(bytes, at as u64);
    }
}

/// Parses a line of `resource`: the first address, the last one, and flags; zeros where there is no
/// region.
fn parse(text: &str, index: u8) -> Option<(u64, usize, u64)> {
    let mut words = text.lines().nth(index.into())?.split_ascii_whitespace();
    let mut number = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (start, end, flags) = (number()?, number()?, number()?);
    let len = usize::try_from(end.checked_sub(start)?.checked_add(1)?).ok()?;
    (end > 0).then_some((start, len, flags))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_list_of_regions_is_read() {
        let text = "0x000000000000c000 0x000000000000c07f 0x0000000000040101\n\
                    0x0000000000000000 0x0000000000000000 0x0000000000000000\n\
                    0x00000000febf0000 0x00000000febf7fff 0x0000000000040200\n";
        assert_eq!(parse(text, 0), Some((0xC000, 0x80, 0x4_0101)));
        assert_eq!(parse(text, 1), None);
        assert_eq!(parse(text, 2), Some((0xFEBF_0000, 0x8000, 0x4_0200)));
        assert_eq!(parse(text, 3), None);
    }

    /// A file in place of a device.
    #[test]
    fn nothing_beyond_the_end() {
        let file = tempfile();
        let region = DeviceRegion(RegionAccess::File(file, 8));
        region.write32(4, 0x0403_0201);
        region.write8(3, 0xAB);
        assert_eq!(region.read32(0), 0xAB00_0000);
        assert_eq!((region.read8(5), region.read8(8)), (2, 0xFF));
        region.write32(6, 0);
        region.write8(usize::MAX, 0);
        assert_eq!(
            (region.read32(4), region.read32(6)),
            (0x0403_0201, u32::MAX)
        );
        assert_eq!(region.read32(usize::MAX - 1), u32::MAX);
    }

    fn tempfile() -> File {
        let name = format!("cangate-region-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        file.set_len(8).unwrap();
        std::fs::remove_file(path).unwrap();
        file
    }

    proptest! {
        #[test]
        fn any_list_is_read_without_panic(text in ".{0,200}", index: u8) {
            let _ = parse(&text, index);
        }
    }
}
