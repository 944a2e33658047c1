//! The heap: the largest range of memory after the image, according to the loader's table.

use core::alloc::{GlobalAlloc, Layout};
use linked_list_allocator::Heap;
use spin::Mutex;
use x86_64::instructions::interrupts::without_interrupts;

/// A heap that is locked with interrupts off: a handler that allocated would otherwise wait forever
/// for the code that it has interrupted.
struct Quiet(Mutex<Heap>);

#[global_allocator]
static HEAP: Quiet = Quiet(Mutex::new(Heap::empty()));

// SAFETY: the heap's own functions keep the contract; one processor, and no interrupt in between.
unsafe impl GlobalAlloc for Quiet {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        without_interrupts(|| {
            let block = self.0.lock().allocate_first_fit(layout);
            block.map_or(core::ptr::null_mut(), core::ptr::NonNull::as_ptr)
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(block) = core::ptr::NonNull::new(block) {
            // SAFETY: by the caller's contract, the block came from `alloc` with this layout.
            without_interrupts(|| unsafe { self.0.lock().deallocate(block, layout) });
        }
    }
}

unsafe extern "C" {
    /// The linker's symbol: the first byte after the image.
    static image_end: u8;
}

/// `struct hvm_start_info` (Xen, `public/arch-x86/hvm/start_info.h`), the part that is used.
#[repr(C)]
pub(super) struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    modules_at: u64,
    command_line: u64,
    acpi: u64,
    memory_at: u64,
    memory: u32,
    reserved: u32,
}

/// `struct hvm_modlist_entry`.
#[repr(C)]
struct Module {
    address: u64,
    size: u64,
    command_line: u64,
    reserved: u64,
}

/// `struct hvm_memmap_table_entry`.
#[repr(C)]
struct Range {
    address: u64,
    size: u64,
    kind: u32,
    reserved: u32,
}

const MAGIC: u32 = 0x336E_C578;
/// The kind of usable memory.
const RAM: u32 = 1;
/// The end of the memory that is mapped.
const MAPPED: u64 = 4 << 30;

/// The memory that the loader has filled and left free.
pub(super) struct Loaded {
    /// A file that the loader passed along with the image.
    pub(super) module: Option<&'static [u8]>,
    /// Size of the heap in bytes.
    pub(super) heap: usize,
}

/// Reads the loader's tables and takes the largest range of memory for the heap.
///
/// # Safety
/// `info` is the loader's pointer at the entry, and this is called once, before any allocation.
pub(super) unsafe fn take(info: *const StartInfo) -> Result<Loaded, &'static str> {
    // SAFETY: by the caller's contract; the structure is in mapped memory.
    let info = unsafe { info.as_ref() }.ok_or("the loader gave no start information")?;
    if info.magic != MAGIC {
        return Err("the loader's start information does not have PVH's format");
    }
    if info.version < 1 || info.memory == 0 {
        return Err("the loader's start information has no table of memory (PVH version 0)");
    }
    // SAFETY: by PVH the tables have these numbers of entries at these addresses, all below 4 GiB,
    // and no code writes them.
    let (modules, ranges) = unsafe {
        (
            slice::<Module>(info.modules_at, info.modules),
            slice::<Range>(info.memory_at, info.memory),
        )
    };
    let module = modules.first();
    // After the image, and after the module if that is at a higher address: loaders put it at the
    // end of memory or directly after the image.
    let own_end = &raw const image_end as u64;
    let reserved = |start: u64| match module {
        Some(m) if m.address >= start => (start, m.address),
        Some(m) => (start.max(m.address + m.size), u64::MAX),
        None => (start, u64::MAX),
    };
    let pieces = ranges.iter().filter(|r| r.kind == RAM).map(|range| {
        let (first, last) = reserved(range.address.max(own_end));
        let end = (range.address + range.size).min(MAPPED).min(last);
        let first = first.next_multiple_of(4096);
        (first, end.saturating_sub(first))
    });
    let (first, size) = pieces
        .max_by_key(|piece| piece.1)
        .filter(|piece| piece.1 > 0)
        .ok_or("there is no memory behind the image")?;
    // SAFETY: memory that is free according to the table, mapped, after the image and apart from
    // the module.
    unsafe { HEAP.0.lock().init(first as *mut u8, size as usize) };
    // SAFETY: the loader put the module there, and the heap does not include it.
    let module = module.map(|m| unsafe { slice::<u8>(m.address, m.size as u32) });
    Ok(Loaded {
        module,
        heap: size as usize,
    })
}

/// # Safety
/// There are `count` values at this address, which no code changes.
unsafe fn slice<T>(address: u64, count: u32) -> &'static [T] {
    if count == 0 || address == 0 {
        return &[];
    }
    // SAFETY: by the caller's contract.
    unsafe { core::slice::from_raw_parts(address as *const T, count as usize) }
}

/// Returns the number of bytes of the heap that are in use.
pub(super) fn used() -> usize {
    without_interrupts(|| HEAP.0.lock().used())
}
