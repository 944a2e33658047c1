//! Frames that a client of the control thread sends.

use engine::{Accepted, TransmitRefusal};
use frame::FrameBuf;

/// The answer of a port to a frame.
pub type PortAnswer = Result<Accepted, TransmitRefusal>;

/// Frames that a client sends, and the answers of their port.
pub struct ClientFrames {
    port: String,
    frames: Vec<FrameBuf>,
    answers: Vec<PortAnswer>,
}

impl ClientFrames {
    /// Creates frames for the port of this name. The answers have room, so that the worker does not
    /// allocate.
    pub fn new(port: String, frames: Vec<FrameBuf>) -> Self {
        let answers = Vec::with_capacity(frames.len());
        Self {
            port,
            frames,
            answers,
        }
    }

    /// Returns the answers, in the order of the frames. Behind a frame without room, or whose port
    /// is down, none is offered: they have its answer.
    pub fn into_answers(self) -> Vec<PortAnswer> {
        self.answers
    }

    /// Returns the name of the port, the frames, and the place for the answers.
    pub(crate) fn parts(&mut self) -> (&str, &[FrameBuf], &mut Vec<PortAnswer>) {
        (&self.port, &self.frames, &mut self.answers)
    }
}
