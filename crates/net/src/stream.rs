//! Types that all protocols of byte streams share.

use frame::{Frame, FrameRef, Nanos};

/// The reason why a conversation cannot go on; the connection is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamEnd {
    /// The other side does not speak the protocol, or another version of it.
    Foreign(&'static str),
    /// The other side refused this side.
    Refused(&'static str),
}

/// Unit at the beginning of the input. All but `More` and `End` have the number of
/// bytes that they used, at least 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamStep {
    /// The beginning of a unit: more bytes are needed.
    More,
    /// A unit without a frame; the session has answered it where the protocol demands it.
    Used(usize),
    /// A frame.
    Frame(usize, Frame),
    /// A unit that is not valid. It is left out, and the conversation goes on.
    Malformed(usize),
    /// A frame that this side sent earlier was refused by the other side.
    Rejected(usize),
    /// The other side wants to use the bus of this name: [`StreamSession::answer_open`] follows.
    Open(usize, String),
    /// The other side wants the names of all buses: [`StreamSession::answer_list`] follows.
    List(usize),
    /// The conversation cannot go on.
    End(StreamEnd),
}

/// One side of a conversation over a byte stream: bytes in, frames and answers out.
pub trait StreamSession: Send {
    /// Writes what this side sends first.
    fn begin(&mut self, answer: &mut Vec<u8>);

    /// Takes the first unit of the bytes that have arrived and were not used yet. An answer is
    /// appended to `answer`. Called again with the rest, until it returns [`StreamStep::More`].
    fn take(&mut self, input: &[u8], answer: &mut Vec<u8>) -> StreamStep;

    /// Answers [`StreamStep::Open`]: whether there is such a bus.
    fn answer_open(&mut self, known: bool, answer: &mut Vec<u8>) {
        let _ = (known, answer);
    }

    /// Answers [`StreamStep::List`] with the names of the buses. The other side has opened none
    /// yet.
    fn answer_list(&mut self, names: &[String], answer: &mut Vec<u8>) {
        let _ = (names, answer);
    }

    /// Returns whether the other side takes frames at present.
    fn is_open(&self) -> bool;

    /// Appends a frame for the other side, if the protocol can express it. `unix` is the frame's
    /// time as Unix time.
    fn put(&mut self, frame: &FrameRef<'_>, unix: Nanos, out: &mut Vec<u8>);
}
