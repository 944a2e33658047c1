//! Frames that a client of the control socket sends.

use crate::control::{MAX_SENT, SendRequest, SentAnswer, SentAnswers};
use engine::{Accepted, TransmitRefusal};
use frame::FrameBuf;
use frame::text::{ParseError, parse_frame};
use worker::{ClientFrames, PortAnswer};

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

/// Parses the frames of a request.
///
/// # Errors
/// [`FramesError`]
pub(crate) fn read(request: SendRequest) -> Result<ClientFrames, FramesError> {
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
    Ok(ClientFrames::new(request.port, frames))
}

/// Returns the answers of a port as the protocol has them.
pub(crate) fn sent_answers(frames: ClientFrames) -> SentAnswers {
    SentAnswers {
        answers: frames.into_answers().into_iter().map(sent_answer).collect(),
    }
}

fn sent_answer(answer: PortAnswer) -> SentAnswer {
    match answer {
        Ok(Accepted) => SentAnswer::Taken,
        Err(TransmitRefusal::Full) => SentAnswer::Full,
        Err(TransmitRefusal::Down) => SentAnswer::Down,
        Err(TransmitRefusal::Unsupported) => SentAnswer::Unsupported,
    }
}
