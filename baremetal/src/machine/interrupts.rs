//! Interrupts: the two 8259, the local APIC's timer and its message to itself, and the state that
//! they set.

use super::{bench, clock, serial};
use core::arch::global_asm;
use core::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};
use spin::Once;
use x86_64::VirtAddr;
use x86_64::instructions::port::Port;
use x86_64::structures::idt::InterruptDescriptorTable;

/// The first vector of the 8259s.
const LINES: u8 = 0x20;
/// Local APIC: its timer, its message to itself, its spurious interrupt.
pub(super) const TIMER: u8 = 0x40;
pub(super) const MESSAGE: u8 = 0x41;
pub(super) const SPURIOUS: u8 = 0xFF;

/// Ports whose controller has interrupted and was not checked yet, one bit each.
static PENDING: AtomicU32 = AtomicU32::new(0);
/// Ports on each line.
static PORTS: [AtomicU32; 16] = [const { AtomicU32::new(0) }; 16];
/// Lines that are masked.
static MASK: AtomicU16 = AtomicU16::new(0xFFFF);

static TABLE: Once<InterruptDescriptorTable> = Once::new();

// All registers that a call may change (x86-64 psABI, 3.2.1), then the handler with the vector in
// edi. The processor aligned the stack to 16 bytes before it pushed five words; nine more and the
// vector make fifteen, so one word is left out.
global_asm!(
    ".macro save",
    "push rax",
    "push rcx",
    "push rdx",
    "push rsi",
    "push rdi",
    "push r8",
    "push r9",
    "push r10",
    "push r11",
    ".endm",
    ".macro restore",
    "pop r11",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rdi",
    "pop rsi",
    "pop rdx",
    "pop rcx",
    "pop rax",
    "iretq",
    ".endm",
    ".macro enter vector, name",
    ".globl \\name",
    "\\name:",
    "save",
    "mov edi, \\vector",
    "cld",
    "call {line}",
    "restore",
    ".endm",
    ".macro enter_own name, handler",
    ".globl \\name",
    "\\name:",
    "save",
    "cld",
    "call \\handler",
    "restore",
    ".endm",
    "enter 0, line_0",
    "enter 1, line_1",
    "enter 2, line_2",
    "enter 3, line_3",
    "enter 4, line_4",
    "enter 5, line_5",
    "enter 6, line_6",
    "enter 7, line_7",
    "enter 8, line_8",
    "enter 9, line_9",
    "enter 10, line_10",
    "enter 11, line_11",
    "enter 12, line_12",
    "enter 13, line_13",
    "enter 14, line_14",
    "enter 15, line_15",
    "enter_own apic_timer, {timer}",
    "enter_own apic_message, {message}",
    ".globl apic_spurious",
    "apic_spurious:",
    "iretq",
    line = sym line,
    timer = sym timer,
    message = sym message,
);

unsafe extern "C" {
    fn line_0();
    fn line_1();
    fn line_2();
    fn line_3();
    fn line_4();
    fn line_5();
    fn line_6();
    fn line_7();
    fn line_8();
    fn line_9();
    fn line_10();
    fn line_11();
    fn line_12();
    fn line_13();
    fn line_14();
    fn line_15();
    fn apic_timer();
    fn apic_message();
    fn apic_spurious();
}

extern "C" fn line(number: u32) {
    let bit = 1u16 << (number & 15);
    // 7 and 15 can be spurious; then no interrupt is in service.
    if number == 7 && !in_service(bit) {
        return;
    }
    if number == 15 && !in_service(bit) {
        write(0x20, 0x20);
        return;
    }
    if number == u32::from(serial::IRQ) {
        serial::interrupt();
    } else {
        // Masked until all ports on the line have been checked.
        mask(MASK.load(Relaxed) | bit);
        if let Some(ports) = PORTS.get(number as usize) {
            PENDING.fetch_or(ports.load(Relaxed), Relaxed);
        }
    }
    if number >= 8 {
        write(0xA0, 0x20);
    }
    write(0x20, 0x20);
}

extern "C" fn timer() {
    bench::interrupt();
    clock::end_of_interrupt();
}

extern "C" fn message() {
    clock::end_of_interrupt();
}

fn in_service(bit: u16) -> bool {
    let (port, bit) = if bit > 0xFF {
        (0xA0, (bit >> 8) as u8)
    } else {
        (0x20, bit as u8)
    };
    write(port, 0x0B);
    // SAFETY: a register of the 8259.
    let serviced: u8 = unsafe { Port::new(port).read() };
    serviced & bit != 0
}

fn write(port: u16, value: u8) {
    // SAFETY: a register of an 8259, which reaches no memory.
    unsafe { Port::new(port).write(value) }
}

fn mask(lines: u16) {
    MASK.store(lines, Relaxed);
    write(0x21, lines as u8);
    write(0xA1, (lines >> 8) as u8);
}

/// Sets up interrupts, which reach the processor from here on unless they are masked.
pub(super) fn begin() {
    let table = TABLE.call_once(|| {
        let mut table = InterruptDescriptorTable::new();
        let lines: [unsafe extern "C" fn(); 16] = [
            line_0, line_1, line_2, line_3, line_4, line_5, line_6, line_7, line_8, line_9,
            line_10, line_11, line_12, line_13, line_14, line_15,
        ];
        let own: [(u8, unsafe extern "C" fn()); 3] = [
            (TIMER, apic_timer),
            (MESSAGE, apic_message),
            (SPURIOUS, apic_spurious),
        ];
        let lines = (LINES..).zip(lines);
        for (vector, handler) in lines.chain(own) {
            // SAFETY: each saves what it changes and ends with iretq.
            unsafe { table[vector].set_handler_addr(VirtAddr::new(handler as usize as u64)) };
        }
        super::faults::into(&mut table);
        table
    });
    table.load();
    // The 8259s are initialized: cascaded on line 2, vectors from LINES on.
    for (port, value) in [
        (0x20, 0x11),
        (0xA0, 0x11),
        (0x21, LINES),
        (0xA1, LINES + 8),
        (0x21, 4),
        (0xA1, 2),
        (0x21, 1),
        (0xA1, 1),
    ] {
        write(port, value);
    }
    // The cascade and the serial line.
    mask(!(1 << 2 | 1 << serial::IRQ));
    x86_64::instructions::interrupts::enable();
}

/// Assigns this port's controller to a line.
pub(super) fn attach(port: u8, line: u8) {
    if let Some(ports) = PORTS.get(usize::from(line)) {
        ports.fetch_or(1 << (port & 31), Relaxed);
    }
}

/// Returns whether the port's controller has interrupted since the last call.
pub(super) fn take(port: u8) -> bool {
    let bit = 1 << (port & 31);
    PENDING.fetch_and(!bit, Relaxed) & bit != 0
}

/// Unmasks a port's line, if all ports on it have been checked.
pub(super) fn arm(line: u8) {
    x86_64::instructions::interrupts::without_interrupts(|| {
        let ports = PORTS.get(usize::from(line)).map_or(0, |p| p.load(Relaxed));
        if PENDING.load(Relaxed) & ports == 0 {
            mask(MASK.load(Relaxed) & !(1 << (line & 15)));
        }
    });
}

/// Returns whether any port waits to be checked.
pub(super) fn any() -> bool {
    PENDING.load(Relaxed) != 0
}
