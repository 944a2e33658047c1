//! The client's side: the other side is a daemon.

use super::element::{ElementRead, carries, error_frame, read, received_frame, write_sent};
use crate::{StreamEnd, StreamSession, StreamStep};
use frame::{FrameRef, Nanos};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ClientState {
    /// Waits for `< hi >`.
    New,
    /// Waits for the answer to `open`.
    Opening,
    /// Waits for the answer to `rawmode`.
    Raw,
    /// Frames pass.
    Open,
}

/// A conversation with socketcand, on one bus.
#[derive(Clone, Debug)]
pub struct SocketcandClient {
    bus: String,
    state: ClientState,
}

impl SocketcandClient {
    /// Returns a session that opens the bus of this name.
    #[must_use]
    pub fn new(bus: &str) -> Self {
        Self {
            bus: bus.to_owned(),
            state: ClientState::New,
        }
    }
}

impl StreamSession for SocketcandClient {
    fn begin(&mut self, _answer: &mut Vec<u8>) {}

    fn take(&mut self, input: &[u8], answer: &mut Vec<u8>) -> StreamStep {
        let (words, used) = match read(input) {
            ElementRead::Words(words, used) => (words, used),
            ElementRead::Wrong(used) => return StreamStep::Malformed(used),
            ElementRead::Blank(used) => return StreamStep::Used(used),
            ElementRead::Short => return StreamStep::More,
            ElementRead::TooLong => {
                return StreamStep::End(StreamEnd::Foreign("an element that is too long"));
            }
        };
        match (self.state, &*words) {
            (ClientState::New, [b"hi"]) => {
                self.state = ClientState::Opening;
                answer.extend_from_slice(format!("< open {} >", self.bus).as_bytes());
            }
            (ClientState::New, _) => {
                return StreamStep::End(StreamEnd::Foreign("it does not begin with < hi >"));
            }
            (ClientState::Opening, [b"ok"]) => {
                self.state = ClientState::Raw;
                answer.extend_from_slice(b"< rawmode >");
            }
            (ClientState::Raw, [b"ok"]) => self.state = ClientState::Open,
            (_, [b"echo"]) => {}
            (ClientState::Open, [b"frame", frame @ ..]) => {
                return match received_frame(frame) {
                    Some(frame) => StreamStep::Frame(used, frame),
                    None => StreamStep::Malformed(used),
                };
            }
            (state, [b"error", rest @ ..]) => {
                return match (error_frame(rest), state) {
                    (Some(frame), ClientState::Open) => StreamStep::Frame(used, frame),
                    (None, ClientState::Opening) => {
                        StreamStep::End(StreamEnd::Refused("it has no bus of this name"))
                    }
                    (None, ClientState::Open) => StreamStep::Rejected(used),
                    _ => StreamStep::End(StreamEnd::Refused("it has no raw mode")),
                };
            }
            _ => return StreamStep::Malformed(used),
        }
        StreamStep::Used(used)
    }

    fn is_open(&self) -> bool {
        self.state == ClientState::Open
    }

    fn put(&mut self, frame: &FrameRef<'_>, _unix: Nanos, out: &mut Vec<u8>) {
        if carries(frame) && !frame.id().is_err() {
            write_sent(frame, out);
        }
    }
}
