//! The program's side: the other side is an adapter.

use super::line::{read, write};
use super::{BELL, BIT_RATES, END, carries, find_end};
use crate::{StreamSession, StreamStep};
use frame::{FrameRef, Nanos};

/// A conversation with an adapter. This side closes the adapter's channel, sets the bit rate if
/// there is one, and opens the channel; it does not wait for answers, because many adapters give
/// none.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlcanClient {
    bit_rate: Option<u32>,
}

impl SlcanClient {
    /// Returns a session that sets this bit rate, one of [`BIT_RATES`]; `None`: the adapter's own.
    #[must_use]
    pub const fn new(bit_rate: Option<u32>) -> Self {
        Self { bit_rate }
    }
}

impl StreamSession for SlcanClient {
    fn begin(&mut self, answer: &mut Vec<u8>) {
        answer.extend_from_slice(b"C\r");
        let known = BIT_RATES
            .iter()
            .position(|rate| Some(*rate) == self.bit_rate);
        if let Some(code) = known {
            answer.extend([b'S', b'0' + code as u8, END]);
        }
        answer.extend_from_slice(b"O\r");
    }

    fn take(&mut self, input: &[u8], _answer: &mut Vec<u8>) -> StreamStep {
        let end = match find_end(input, |byte| matches!(byte, b'\r' | b'\n' | BELL)) {
            Ok(end) => end,
            Err(step) => return step,
        };
        let (line, used) = (&input[..end], end + 1);
        match line {
            [] if input[end] == BELL => StreamStep::Rejected(used),
            // Answers: taken, and those to commands.
            [] | b"z" | b"Z" => StreamStep::Used(used),
            [b'V' | b'v' | b'N' | b'F', ..] => StreamStep::Used(used),
            _ => match read(line, true) {
                Some(frame) => StreamStep::Frame(used, frame),
                None => StreamStep::Malformed(used),
            },
        }
    }

    fn is_open(&self) -> bool {
        true
    }

    fn put(&mut self, frame: &FrameRef<'_>, _unix: Nanos, out: &mut Vec<u8>) {
        if carries(frame) {
            write(frame, out);
            out.push(END);
        }
    }
}
