//! The first serial line, a 16550 at 115200 bit/s: text out, single letters in.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};
use x86_64::instructions::port::Port;

const BASE: u16 = 0x3F8;
/// Its interrupt.
pub(super) const IRQ: u8 = 4;

/// The last letter that was received; 0 if there is none since the last read.
static LETTER: AtomicU8 = AtomicU8::new(0);

fn write(register: u16, value: u8) {
    // SAFETY: a register of the 16550, which reaches no memory.
    unsafe { Port::new(BASE + register).write(value) }
}

fn read(register: u16) -> u8 {
    // SAFETY: as above.
    unsafe { Port::new(BASE + register).read() }
}

/// Sets up the port: 115200 bit/s, 8 bits, FIFOs on, an interrupt for received bytes.
pub(super) fn begin() {
    for (register, value) in [
        (1, 0),
        // The divisor's latch on, divisor 1, and off again.
        (3, 0x80),
        (0, 1),
        (1, 0),
        (3, 3),
        (2, 0x07),
        // Enables the interrupt's path to the processor.
        (4, 0x0B),
        (1, 1),
    ] {
        write(register, value);
    }
}

/// Handles the interrupt: takes the bytes that were received.
pub(super) fn interrupt() {
    while read(5) & 1 != 0 {
        LETTER.store(read(0), Relaxed);
    }
}

/// Returns the last letter that was received since the last call.
pub(super) fn letter() -> Option<u8> {
    if LETTER.load(Relaxed) == 0 {
        return None;
    }
    Some(LETTER.swap(0, Relaxed))
}

/// Returns whether a letter was received since the last call of [`letter`].
pub(super) fn has_letter() -> bool {
    LETTER.load(Relaxed) != 0
}

/// The line, as an output for text.
pub(super) struct Line;

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // Waits for space in the transmitter; a line without a 16550 reads as all ones.
            while read(5) & 0x20 == 0 {}
            write(0, byte);
        }
        Ok(())
    }
}

/// Prints a line of text.
macro_rules! say {
    ($($word:tt)*) => {{
        use core::fmt::Write;
        // The line never fails.
        let _ = writeln!($crate::machine::serial::Line, $($word)*);
    }};
}
pub(super) use say;
