//! Input of a guest while it runs: keys for its shell, and the size of the terminal. It consists of
//! pieces as in `wire`, through a FIFO that QEMU reads for a virtio serial port.

use crate::error::Error;
use crate::wire::write_piece;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// The most bytes in one piece. A FIFO takes up to 4096 bytes (`PIPE_BUF`) at once or not at all,
/// so that pieces of two threads do not mix.
const MOST: usize = 4000;

/// One piece of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyInput {
    /// Bytes for the shell.
    Bytes(Vec<u8>),
    /// The new size of the terminal: rows and columns.
    Size(u16, u16),
    /// The end of the input.
    End,
}

impl KeyInput {
    /// Parses a piece of the wire.
    pub(crate) fn from_parts(kind: u8, bytes: &[u8]) -> Option<Self> {
        Some(match (kind, bytes) {
            (1, bytes) => Self::Bytes(bytes.to_vec()),
            (2, &[a, b, c, d]) => {
                Self::Size(u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
            }
            (3, []) => Self::End,
            _ => return None,
        })
    }
}

/// The input of a guest's shell. Several threads can use copies of it.
#[derive(Debug)]
pub struct GuestKeyboard {
    fifo: File,
}

impl GuestKeyboard {
    /// Makes the FIFO.
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
            .map_err(|error| Error::file("make", path)(error.into()))?;
        // Opened for reading as well, so that opening does not wait for QEMU, and QEMU never sees
        // an end.
        let fifo = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(Error::file("open", path))?;
        Ok(Self { fifo })
    }

    /// Returns another keyboard for the same shell.
    ///
    /// # Errors
    /// The process has too many files open.
    pub fn try_clone(&self) -> io::Result<Self> {
        let fifo = self.fifo.try_clone()?;
        Ok(Self { fifo })
    }

    /// Sends bytes to the shell. Waits while the guest does not take them.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes
            .chunks(MOST)
            .try_for_each(|part| write_piece(1, part, &mut self.fifo))
    }

    /// Sends a new size of the terminal.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn size(&mut self, rows: u16, columns: u16) -> io::Result<()> {
        let bytes = [rows.to_le_bytes(), columns.to_le_bytes()].concat();
        write_piece(2, &bytes, &mut self.fifo)
    }

    /// Sends the end of standard input.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn end(&mut self) -> io::Result<()> {
        write_piece(3, &[], &mut self.fifo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::PieceReader;
    use std::io::Read;

    #[test]
    fn what_is_typed_comes_out_as_it_was_typed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let mut keyboard = GuestKeyboard::new(&path).unwrap();
        let long: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
        keyboard.bytes(&long).unwrap();
        keyboard.try_clone().unwrap().size(24, 80).unwrap();
        keyboard.end().unwrap();
        let (mut reader, mut bytes, mut rest) = (PieceReader::default(), Vec::new(), Vec::new());
        let mut fifo = File::open(&path).unwrap();
        while rest.len() < 2 {
            let mut buffer = [0; 777];
            let count = fifo.read(&mut buffer).unwrap();
            reader.push(&buffer[..count]);
            while let Some((kind, piece)) = reader.next_of_any_kind().unwrap() {
                match KeyInput::from_parts(kind, &piece).unwrap() {
                    KeyInput::Bytes(more) => bytes.extend(more),
                    other => rest.push(other),
                }
            }
        }
        assert_eq!(bytes, long);
        assert_eq!(rest, [KeyInput::Size(24, 80), KeyInput::End]);
        assert_eq!(KeyInput::from_parts(2, &[1]), None);
        assert_eq!(KeyInput::from_parts(9, &[]), None);
    }
}
