//! The environment of a program without an operating system's library: an entry point, memory,
//! output, an exit. Linux for x86-64 runs it here; only this file depends on that.
#![allow(
    unsafe_code,
    reason = "entry point, system calls and the allocator of a program without a library"
)]

use core::alloc::{GlobalAlloc, Layout};
use core::arch::{asm, global_asm};
use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicUsize, Ordering};

// At the entry the stack pointer is aligned to 16 bytes (x86-64 psABI, 3.4.1); a call then leaves
// it as a function expects it.
global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {main}",
    "ud2",
    main = sym main,
);

extern "C" fn main() -> ! {
    let scenarios = super::run(|name| print(format_args!("{name}\n")));
    print(format_args!(
        "{scenarios} scenarios passed without an operating system\n"
    ));
    exit(0)
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    print(format_args!("{info}\n"));
    exit(101)
}

/// Standard output.
struct Out;

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: write(2) reads `len` bytes at the pointer, which are those of `text`, and
        // changes no memory. A short write loses part of the text, nothing else.
        unsafe { system_call(1, 1, text.as_ptr() as usize, text.len()) };
        Ok(())
    }
}

fn print(what: fmt::Arguments<'_>) {
    // `Out` never fails.
    let _ = Out.write_fmt(what);
}

fn exit(status: usize) -> ! {
    // SAFETY: exit_group(2) ends the process and touches no memory.
    unsafe { system_call(231, status, 0, 0) };
    loop {
        core::hint::spin_loop();
    }
}

/// Makes a system call of Linux for x86-64, by its number.
///
/// # Safety
/// The call's effect on memory must be sound.
unsafe fn system_call(number: usize, a: usize, b: usize, c: usize) -> usize {
    let result;
    // SAFETY: `syscall` takes its number in rax and arguments in rdi, rsi, rdx, answers in rax and
    // destroys rcx and r11 (x86-64 psABI, A.2.1); the caller is responsible for the rest.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Size of the memory for all allocations, bytes. The scenarios need less than half of it; only the
/// most recently allocated block is reclaimed when it is freed, other blocks are not.
const BYTES: usize = 64 << 20;

#[repr(C, align(4096))]
struct Arena(UnsafeCell<[u8; BYTES]>);

// SAFETY: the bytes are reached only through pointers that `Bump` gave out, each for other bytes.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);

struct Bump;

#[global_allocator]
static ALLOCATOR: Bump = Bump;

// SAFETY: a block from `alloc` is within `ARENA`, is aligned as requested (the arena itself is
// aligned to 4096, and more is refused), and overlaps no other allocated block: `USED` grows past
// each block, and goes back only over the block that was allocated last. The program has one
// thread.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.load(Ordering::Relaxed);
        let start = used.next_multiple_of(layout.align());
        let Some(end) = start.checked_add(layout.size()) else {
            return core::ptr::null_mut();
        };
        if end > BYTES || layout.align() > 4096 {
            return core::ptr::null_mut();
        }
        USED.store(end, Ordering::Relaxed);
        ARENA.0.get().cast::<u8>().wrapping_add(start)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let start = block as usize - ARENA.0.get() as usize;
        if start + layout.size() == USED.load(Ordering::Relaxed) {
            USED.store(start, Ordering::Relaxed);
        }
    }
}
