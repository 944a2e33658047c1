//! A serial port according to its data sheet (PC16550D): registers, loopback, bytes in order.

use std::collections::VecDeque;

/// The most bytes that wait to be read.
const FIFO: usize = 64;
const DIVISOR: u8 = 0x80;
const LOOPBACK: u8 = 0x10;

/// The expected state of a port.
#[derive(Default)]
pub(super) struct Serial {
    interrupts: u8,
    line: u8,
    modem: u8,
    scratch: u8,
    divisor: [u8; 2],
    waiting: VecDeque<u8>,
    /// The bytes that were sent through it.
    pub(super) output: Vec<u8>,
}

impl Serial {
    pub(super) fn write(&mut self, at: u16, byte: u8) {
        match at {
            0 | 1 if self.line & DIVISOR != 0 => self.divisor[usize::from(at)] = byte,
            0 if self.modem & LOOPBACK == 0 => self.output.push(byte),
            0 if self.waiting.len() < FIFO => self.waiting.push_back(byte),
            1 => self.interrupts = byte & 0xF,
            3 => self.line = byte,
            4 => self.modem = byte,
            7 => self.scratch = byte,
            _ => {}
        }
    }

    /// Returns the value that a read must give, if it is known.
    pub(super) fn read(&mut self, at: u16) -> Option<u8> {
        match at {
            0 | 1 if self.line & DIVISOR != 0 => Some(self.divisor[usize::from(at)]),
            0 => Some(self.waiting.pop_front().unwrap_or(0)),
            1 => Some(self.interrupts),
            3 => Some(self.line),
            4 => Some(self.modem),
            // A byte is available; bytes to send are sent at once.
            5 => Some(0x60 | u8::from(!self.waiting.is_empty())),
            7 => Some(self.scratch),
            _ => None,
        }
    }

    /// Receives bytes from the other end; returns the number of bytes that are taken.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> usize {
        let room = if self.modem & LOOPBACK == 0 {
            FIFO - self.waiting.len()
        } else {
            0
        };
        let taken = &bytes[..room.min(bytes.len())];
        self.waiting.extend(taken);
        taken.len()
    }
}
