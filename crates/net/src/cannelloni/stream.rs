//! The byte stream over TCP.

use super::carries;
use super::entry::{EntryRead, LONGEST, read, write};
use crate::{StreamEnd, StreamSession, StreamStep};
use frame::{Frame, FrameRef, Nanos};

/// Greeting that each side sends first.
pub const GREETING: &[u8; 12] = b"CANNELLONIv1";

/// A conversation with cannelloni over TCP; both sides have the same role.
#[derive(Clone, Copy, Debug, Default)]
pub struct CannelloniSession {
    greeted: bool,
}

impl StreamSession for CannelloniSession {
    fn begin(&mut self, answer: &mut Vec<u8>) {
        answer.extend_from_slice(GREETING);
    }

    fn take(&mut self, input: &[u8], _answer: &mut Vec<u8>) -> StreamStep {
        let end = |what| StreamStep::End(StreamEnd::Foreign(what));
        if !self.greeted {
            let begun = input.len().min(GREETING.len());
            if input[..begun] != GREETING[..begun] {
                return end("it does not begin with CANNELLONIv1");
            }
            if begun < GREETING.len() {
                return StreamStep::More;
            }
            self.greeted = true;
            return StreamStep::Used(GREETING.len());
        }
        match read(input) {
            EntryRead::Frame(frame, used) => match Frame::from_view(frame) {
                Some(frame) => StreamStep::Frame(used, frame),
                None => end("a frame that is too long"),
            },
            EntryRead::Short if input.len() < LONGEST => StreamStep::More,
            EntryRead::Short => end("a frame that is too long"),
            // The next frame's place is unknown.
            EntryRead::Wrong(what) => end(what),
        }
    }

    fn is_open(&self) -> bool {
        self.greeted
    }

    fn put(&mut self, frame: &FrameRef<'_>, _unix: Nanos, out: &mut Vec<u8>) {
        if carries(frame) {
            write(frame, out);
        }
    }
}
