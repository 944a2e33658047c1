//! What a job hands out, through the port to the host.

use super::error::AgentError;
use crate::wire::{LONGEST, Piece};
use std::fs::File;
use std::io;

/// What a job hands out.
#[derive(Debug)]
pub struct Outputs {
    port: File,
}

impl Outputs {
    /// Through this port.
    pub(super) fn new(port: File) -> Self {
        Self { port }
    }

    /// Hands out a file under a name; the host has it in [`crate::Outcome::outputs`].
    ///
    /// # Errors
    ///
    /// The port to the host does not take it.
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.send(&Piece::File(name.to_owned()))?;
        for part in bytes.chunks(LONGEST) {
            self.send(&Piece::Part(part.to_vec()))?;
        }
        Ok(())
    }

    /// Says something to the one who watches, by the host's standard error.
    pub fn log(&mut self, words: &str) {
        // This is the way in which errors are told: its own error has none.
        let _ = self.send(&Piece::Stderr(format!("{words}\n").into_bytes()));
    }

    fn send(&mut self, piece: &Piece) -> io::Result<()> {
        piece.write(&mut self.port)
    }

    /// Hands out a piece of the agent's own.
    pub(super) fn hand_out(&mut self, piece: &Piece) -> Result<(), AgentError> {
        self.send(piece).map_err(AgentError::Host)
    }
}
