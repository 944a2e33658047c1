//! The memory that a program can reach, in regions.

/// The bits of an address below the number of its region.
const OFFSET_BITS: u32 = 40;

/// Numbers of regions.
pub(super) const CONTEXT: usize = 1;
pub(super) const PACKET: usize = 2;
/// The first stack; each function that is called has the next one.
pub(super) const STACK: usize = 3;
/// The number of functions that can be in each other, as in the kernel.
pub(super) const FRAMES: usize = 8;
/// The size of a stack in bytes, as in the kernel.
pub(super) const STACK_SIZE: usize = 512;
/// The addresses that stand for maps; none of their bytes can be read.
const HANDLES: usize = STACK + FRAMES;
/// The values of the first map.
const MAPS: usize = HANDLES + 1;

/// The memory of a program.
pub(super) struct Memory {
    regions: Vec<Vec<u8>>,
    /// The name and the size of a value of each map.
    maps: Vec<(String, usize)>,
}

impl Default for Memory {
    fn default() -> Self {
        let mut regions = vec![Vec::new(); MAPS];
        for stack in &mut regions[STACK..HANDLES] {
            stack.resize(STACK_SIZE, 0);
        }
        Self {
            regions,
            maps: Vec::new(),
        }
    }
}

/// Returns the address of a byte.
pub(super) const fn address(region: usize, offset: usize) -> u64 {
    (region as u64) << OFFSET_BITS | offset as u64
}

impl Memory {
    /// Adds the values of the next map.
    pub(super) fn add_map(&mut self, name: &str, value_size: usize, bytes: Vec<u8>) {
        self.maps.push((name.to_owned(), value_size));
        self.regions.push(bytes);
    }

    /// Returns the address that stands for a map.
    pub(super) const fn handle(number: usize) -> u64 {
        address(HANDLES, number)
    }

    /// Returns the address of a byte of a map's values.
    pub(super) const fn in_map(number: usize, offset: usize) -> u64 {
        address(MAPS + number, offset)
    }

    /// Returns the address of a value of an array; 0 if it has no such value.
    pub(super) fn element(&self, handle: u64, key: u32) -> u64 {
        let number = handle.wrapping_sub(Self::handle(0)) as usize;
        let (_, size) = self.maps.get(number).expect("a map's handle");
        let at = key as usize * size;
        if at + size > self.regions[MAPS + number].len() {
            return 0;
        }
        Self::in_map(number, at)
    }

    /// Returns the values of a map.
    pub(super) fn map(&self, name: &str) -> &[u8] {
        let number = self.maps.iter().position(|(known, _)| known == name);
        &self.regions[MAPS + number.expect("the name of a map")]
    }

    /// Returns the bytes of a region.
    pub(super) fn region(&mut self, number: usize) -> &mut Vec<u8> {
        &mut self.regions[number]
    }

    /// Returns the number of up to eight bytes at an address.
    #[inline]
    pub(super) fn load(&self, address: u64, size: usize) -> u64 {
        let (region, offset) = split(address);
        let bytes = self.regions.get(region).and_then(|it| it.get(offset..));
        let Some(bytes) = bytes.and_then(|it| it.get(..size)) else {
            panic!("{size} bytes at {offset} of region {region} are read");
        };
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    /// Writes a number of up to eight bytes.
    #[inline]
    pub(super) fn store(&mut self, address: u64, size: usize, number: u64) {
        let (region, offset) = split(address);
        let bytes = self.regions.get_mut(region);
        let bytes = bytes.and_then(|it| it.get_mut(offset..));
        let Some(bytes) = bytes.and_then(|it| it.get_mut(..size)) else {
            panic!("{size} bytes at {offset} of region {region} are written");
        };
        bytes.copy_from_slice(&number.to_le_bytes()[..size]);
    }
}

const fn split(address: u64) -> (usize, usize) {
    let offset = address & ((1 << OFFSET_BITS) - 1);
    ((address >> OFFSET_BITS) as usize, offset as usize)
}
