//! The content of the memory when the machine starts: the kernel, its image, and the information
//! that it gets by the PVH boot protocol (Xen's `docs/misc/pvh.pandoc`; Linux:
//! `arch/x86/platform/pvh`). A table of processors and interrupts replaces ACPI (Intel's
//! MultiProcessor Specification 1.4, §4).

use crate::error::{VmmError, file, system};
use linux_loader::configurator::pvh::PvhBootConfigurator;
use linux_loader::configurator::{BootConfigurator as _, BootParams};
use linux_loader::loader::KernelLoader as _;
use linux_loader::loader::elf::start_info::{
    hvm_memmap_table_entry, hvm_modlist_entry, hvm_start_info,
};
use linux_loader::loader::elf::{Elf, PvhBootCapability};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::path::Path;
use vm_memory::{
    Bytes as _, FileOffset, GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion,
    ReadVolatile as _,
};

/// Addresses in the lowest megabyte.
pub(crate) const GDT: u64 = 0x500;
pub(crate) const START_INFO: u64 = 0x6000;
const MEMORY_MAP: u64 = 0x6100;
const MODULES: u64 = 0x6200;
const COMMAND_LINE: u64 = 0x2_0000;
/// The last kilobyte of the lowest 640, where the kernel searches for the table.
const TABLE: u64 = 0x9_FC00;
const VIDEO: u64 = 0xA_0000;
const HIGH: u64 = 0x10_0000;

/// `COMMAND_LINE_SIZE` of Linux on x86.
const LONGEST_LINE: usize = 2048;
/// `XEN_HVM_START_MAGIC_VALUE`.
const MAGIC: u32 = 0x336E_C578;
const PAGE: u64 = 4096;

/// The local interrupt controller and the one of the board (`APIC_DEFAULT_PHYS_BASE`,
/// `IO_APIC_DEFAULT_PHYS_BASE`).
const LOCAL_APIC: u32 = 0xFEE0_0000;
const IO_APIC: u32 = 0xFEC0_0000;

/// Makes memory of this many bytes that other processes can also map, and that none of them can
/// shrink.
pub(crate) fn memory(bytes: u64) -> Result<GuestMemoryMmap, VmmError> {
    let why = "make the machine's memory";
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = memfd_create("memory", flags).map_err(system(why))?;
    ftruncate(&fd, bytes).map_err(system(why))?;
    fcntl_add_seals(&fd, SealFlags::SHRINK).map_err(system(why))?;
    let other = |error: &dyn std::fmt::Display| VmmError::System {
        what: why,
        source: std::io::Error::other(error.to_string()),
    };
    let size = usize::try_from(bytes).map_err(|error| other(&error))?;
    let place = FileOffset::new(File::from(fd), 0);
    let region = MmapRegion::from_file(place, size).map_err(|error| other(&error))?;
    let region = GuestRegionMmap::new(region, GuestAddress(0));
    let region = region.ok_or_else(|| other(&"it does not fit"))?;
    GuestMemoryMmap::from_regions(vec![region]).map_err(|error| other(&error))
}

/// Loads everything into the memory of this many bytes, and returns the address where the processor
/// starts.
pub(crate) fn load(
    memory: &GuestMemoryMmap,
    bytes: u64,
    kernel: &Path,
    image: &Path,
    line: &str,
) -> Result<u64, VmmError> {
    let no_kernel = |why: &dyn std::fmt::Display| VmmError::Kernel {
        path: kernel.to_path_buf(),
        why: why.to_string(),
    };
    let mut opened = File::open(kernel).map_err(file("open", kernel))?;
    let loaded = Elf::load(memory, None, &mut opened, Some(GuestAddress(HIGH)));
    let loaded = loaded.map_err(|error| no_kernel(&error))?;
    let PvhBootCapability::PvhEntryPresent(entry) = loaded.pvh_boot_cap else {
        return Err(no_kernel(&"it has no PVH entry (CONFIG_PVH)"));
    };

    let mut opened = File::open(image).map_err(file("open", image))?;
    let size = opened.metadata().map_err(file("read", image))?.len();
    let at = loaded.kernel_end.next_multiple_of(PAGE);
    let needed = at.saturating_add(size);
    if needed > bytes {
        return Err(VmmError::Memory { needed, has: bytes });
    }
    read_image(memory, at, size, &mut opened).map_err(file("read", image))?;

    if line.len() >= LONGEST_LINE || line.contains('\0') {
        return Err(VmmError::CommandLine {
            most: LONGEST_LINE - 1,
        });
    }
    let text = [line.as_bytes(), b"\0"].concat();
    let put = |bytes: &[u8], at| memory.write_slice(bytes, GuestAddress(at));
    put(&text, COMMAND_LINE).map_err(|error| no_kernel(&error))?;
    put(&table(), TABLE).map_err(|error| no_kernel(&error))?;
    start_info(memory, bytes, at, size).map_err(|error| no_kernel(&error))?;
    Ok(entry.0)
}

fn read_image(
    memory: &GuestMemoryMmap,
    at: u64,
    size: u64,
    opened: &mut File,
) -> std::io::Result<()> {
    use vm_memory::GuestMemoryBackend as _;
    let size = usize::try_from(size).map_err(std::io::Error::other)?;
    let place = memory.get_slice(GuestAddress(at), size);
    let mut place = place.map_err(std::io::Error::other)?;
    opened
        .read_exact_volatile(&mut place)
        .map_err(std::io::Error::other)
}

/// Writes the information for the kernel: the addresses of its command line, its image and its
/// memory.
fn start_info(
    memory: &GuestMemoryMmap,
    bytes: u64,
    image: u64,
    size: u64,
) -> Result<(), linux_loader::configurator::Error> {
    let usable = |addr, end| hvm_memmap_table_entry {
        addr,
        size: end - addr,
        type_: 1,
        reserved: 0,
    };
    let reserved = hvm_memmap_table_entry {
        type_: 2,
        ..usable(TABLE, VIDEO)
    };
    let map = [usable(0, TABLE), reserved, usable(HIGH, bytes)];
    let module = hvm_modlist_entry {
        paddr: image,
        size,
        ..hvm_modlist_entry::default()
    };
    let info = hvm_start_info {
        magic: MAGIC,
        version: 1,
        nr_modules: 1,
        modlist_paddr: MODULES,
        cmdline_paddr: COMMAND_LINE,
        memmap_paddr: MEMORY_MAP,
        memmap_entries: map.len() as u32,
        ..hvm_start_info::default()
    };
    let mut all = BootParams::new(&info, GuestAddress(START_INFO));
    all.set_sections(&map, GuestAddress(MEMORY_MAP));
    all.set_modules(&[module], GuestAddress(MODULES));
    PvhBootConfigurator::write_bootparams(&all, memory)
}

/// Returns the table of one processor, an ISA bus, and its sixteen lines on the first pins of the
/// board's interrupt controller, as KVM connects them.
fn table() -> Vec<u8> {
    const PROCESSOR: u8 = 0;
    const BUS: u8 = 1;
    const IO: u8 = 2;
    const LINE: u8 = 3;
    const LOCAL_LINE: u8 = 4;
    /// Usable, and the first to start.
    const FIRST: u8 = 3;
    const VERSION: u8 = 0x14;
    const BOARD: u8 = 1;
    const EXTERNAL: u8 = 3;
    const NMI: u8 = 1;

    let mut entries = Vec::new();
    let mut count = 0_u16;
    let mut add = |entry: &[u8]| {
        entries.extend(entry);
        count += 1;
    };
    let mut processor = [0; 20];
    processor[..4].copy_from_slice(&[PROCESSOR, 0, VERSION, FIRST]);
    // Family 6; with a floating-point unit and a local interrupt controller.
    processor[4..8].copy_from_slice(&0x600_u32.to_le_bytes());
    processor[8..12].copy_from_slice(&0x201_u32.to_le_bytes());
    add(&processor);
    add(&[BUS, 0, b'I', b'S', b'A', b' ', b' ', b' ']);
    let mut io = [IO, BOARD, VERSION, 1, 0, 0, 0, 0];
    io[4..].copy_from_slice(&IO_APIC.to_le_bytes());
    add(&io);
    for line in 0..16 {
        add(&[LINE, 0, 0, 0, 0, line, BOARD, line]);
    }
    add(&[LOCAL_LINE, EXTERNAL, 0, 0, 0, 0, 0, 0]);
    add(&[LOCAL_LINE, NMI, 0, 0, 0, 0, 0xFF, 1]);

    const HEADER: usize = 44;
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(b"PCMP");
    header[4..6].copy_from_slice(&((HEADER + entries.len()) as u16).to_le_bytes());
    header[6] = 4;
    header[8..16].copy_from_slice(b"CANGATE ");
    header[16..28].copy_from_slice(b"VMM         ");
    header[34..36].copy_from_slice(&count.to_le_bytes());
    header[36..40].copy_from_slice(&LOCAL_APIC.to_le_bytes());
    let mut table = [&header[..], &entries].concat();
    table[7] = check(&table);

    let mut pointer = [0; 16];
    pointer[..4].copy_from_slice(b"_MP_");
    let at = TABLE as u32 + pointer.len() as u32;
    pointer[4..8].copy_from_slice(&at.to_le_bytes());
    pointer[8..10].copy_from_slice(&[1, 4]);
    pointer[10] = check(&pointer);
    [&pointer[..], &table].concat()
}

/// Returns the byte that makes the sum of all bytes zero.
fn check(bytes: &[u8]) -> u8 {
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    sum.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_linux_checks_it() {
        let all = table();
        let (pointer, table) = all.split_at(16);
        for (part, signature) in [(pointer, b"_MP_"), (table, b"PCMP")] {
            assert_eq!(&part[..4], signature);
            assert_eq!(check(part), 0);
        }
        let le16 = |at: usize| u16::from_le_bytes([table[at], table[at + 1]]);
        assert_eq!(usize::from(le16(4)), table.len());
        // A processor, a bus, an interrupt controller, sixteen lines and two local lines of the
        // processor.
        assert_eq!(le16(34), 21);
        assert_eq!(table.len(), 44 + 20 + 20 * 8);
        assert!(all.len() as u64 <= VIDEO - TABLE);
    }

    #[test]
    fn what_is_no_kernel_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinux");
        let memory = memory(1 << 20).unwrap();
        let load = |line: &str| super::load(&memory, 1 << 20, &path, &path, line).unwrap_err();
        assert!(load("").to_string().contains("cannot open"));
        for bytes in [&b""[..], b"\x7fELF", &[0; 4096]] {
            std::fs::write(&path, bytes).unwrap();
            assert!(load("").to_string().contains("is not a kernel"));
        }
    }
}
