//! Exceptions of the processor: they are printed on the serial line, and end the machine.

use super::serial::say;
use core::arch::global_asm;
use x86_64::VirtAddr;
use x86_64::registers::control::Cr2;
use x86_64::structures::idt::InterruptDescriptorTable;

// By vector: some come with an error code on the stack, for the others a zero is pushed.
global_asm!(
    ".macro fault vector",
    "fault_\\vector: push 0",
    "push \\vector",
    "jmp fault_any",
    ".endm",
    ".macro fault_with_code vector",
    "fault_\\vector: push \\vector",
    "jmp fault_any",
    ".endm",
    "fault 0",
    "fault 6",
    "fault_with_code 8",
    "fault_with_code 13",
    "fault_with_code 14",
    "fault_any:",
    "pop rdi",
    "pop rsi",
    "mov rdx, [rsp]",
    "and rsp, -16",
    "cld",
    "call {fault}",
    "ud2",
    ".globl fault_0",
    ".globl fault_6",
    ".globl fault_8",
    ".globl fault_13",
    ".globl fault_14",
    fault = sym fault,
);

unsafe extern "C" {
    fn fault_0();
    fn fault_6();
    fn fault_8();
    fn fault_13();
    fn fault_14();
}

extern "C" fn fault(vector: u64, code: u64, at: u64) -> ! {
    let what = match vector {
        0 => "division by zero",
        6 => "invalid instruction",
        8 => "double fault",
        13 => "general protection",
        _ => "page fault",
    };
    say!(
        "cangate: fault: {what} at {at:#x}, error code {code:#x}, address {:#x}",
        Cr2::read_raw()
    );
    super::end()
}

/// Enters the handlers into the table.
pub(super) fn into(table: &mut InterruptDescriptorTable) {
    let address = |handler: unsafe extern "C" fn()| VirtAddr::new(handler as usize as u64);
    // SAFETY: none of them returns.
    unsafe {
        table.divide_error.set_handler_addr(address(fault_0));
        table.invalid_opcode.set_handler_addr(address(fault_6));
        table.double_fault.set_handler_addr(address(fault_8));
        table
            .general_protection_fault
            .set_handler_addr(address(fault_13));
        table.page_fault.set_handler_addr(address(fault_14));
    }
}
