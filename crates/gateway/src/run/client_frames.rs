//! Frames that a client of the control socket sends.

use crate::control::{MAX_SENT, SendRequest, SentAnswer, SentAnswers};
use engine::{Accepted, TransmitRefusal};
use frame::FrameBuf;
use frame::text::{ParseError, parse_frame};

/// The reason why a request has no frames to send. The text is the reply.
#[derive(thiserror::Error, Debug)]
pub(crate) enum FramesError {
    /// A text is not a frame.
    #[error("frame {number}, `{text}`: {error}")]
    NoFrame {
        number: usize,
        text: String,
        error: ParseError,
    },
    /// There are too many frames.
    #[error("a request can have {MAX_SENT} frames, and this one has {0}")]
    TooManyFrames(usize),
}

/// Frames that a client sends, and the answers of their port.
pub(crate) struct ClientFrames {
    port: String,
    frames: Vec<FrameBuf>,
    answers: Vec<SentAnswer>,
}

impl ClientFrames {
    /// Parses the frames of a request; the answers have room, so that the worker does not allocate.
    pub(crate) fn read(request: SendRequest) -> Result<Self, FramesError> {
        let number = request.frames.len();
        if number > MAX_SENT {
            return Err(FramesError::TooManyFrames(number));
        }
        let mut frames = vec![FrameBuf::new(); number];
        for ((frame, text), number) in frames.iter_mut().zip(request.frames).zip(1..) {
            if let Err(error) = parse_frame(text.as_bytes(), frame) {
                let text = text.chars().take(40).collect();
                return Err(FramesError::NoFrame {
                    number,
                    text,
                    error,
                });
            }
        }
        Ok(Self {
            port: request.port,
            frames,
            answers: Vec::with_capacity(number),
        })
    }

    /// Returns the answers.
    pub(crate) fn into_answers(self) -> SentAnswers {
        SentAnswers {
            answers: self.answers,
        }
    }

    /// Returns the name of the port, the frames, and the place for the answers.
    pub(crate) fn parts(&mut self) -> (&str, &[FrameBuf], &mut Vec<SentAnswer>) {
        (&self.port, &self.frames, &mut self.answers)
    }
}

/// Returns the answer of a port as the protocol has it.
pub(crate) fn sent_answer(answer: Result<Accepted, TransmitRefusal>) -> SentAnswer {
    match answer {
        Ok(Accepted) => SentAnswer::Taken,
        Err(TransmitRefusal::Full) => SentAnswer::Full,
        Err(TransmitRefusal::Down) => SentAnswer::Down,
        Err(TransmitRefusal::Unsupported) => SentAnswer::Unsupported,
    }
}
