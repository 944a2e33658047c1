//! The output of a job, through the port to the host.

use super::error::AgentError;
use crate::wire::{LONGEST, WirePiece};
use std::fs::File;
use std::io;

/// The output of a job.
#[derive(Debug)]
pub struct JobOutputs {
    port: File,
}

impl JobOutputs {
    /// Creates the output on this port.
    pub(super) fn new(port: File) -> Self {
        Self { port }
    }

    /// Hands out a file under a name; on the host it appears in [`crate::GuestOutcome::outputs`].
    ///
    /// # Errors
    ///
    /// The port to the host does not take it.
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.send(&WirePiece::File(name.to_owned()))?;
        for part in bytes.chunks(LONGEST) {
            self.send(&WirePiece::Part(part.to_vec()))?;
        }
        Ok(())
    }

    /// Sends a message to the user, through the host's standard error.
    pub fn log(&mut self, words: &str) {
        // Errors are reported by this very path; an error of the path itself cannot be reported.
        let _ = self.send(&WirePiece::Stderr(format!("{words}\n").into_bytes()));
    }

    fn send(&mut self, piece: &WirePiece) -> io::Result<()> {
        piece.write(&mut self.port)
    }

    /// Hands out a piece of the agent's own.
    pub(super) fn hand_out(&mut self, piece: &WirePiece) -> Result<(), AgentError> {
        self.send(piece).map_err(AgentError::Host)
    }
}
