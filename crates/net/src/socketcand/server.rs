//! The daemon's side: this side serves buses.

use super::element::{ElementRead, carries, is_bus_name, read, sent_frame, write_received};
use crate::{StreamEnd, StreamSession, StreamStep};
use frame::{FrameRef, Nanos};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ServerState {
    /// No bus is open.
    #[default]
    New,
    /// The bus is open; the client gets no frames yet, but may send some.
    Open,
    /// The client gets frames.
    Raw,
}

/// A conversation with a client of socketcand.
///
/// An element that is not a valid `send` is left out without an answer: clients such as python-can
/// end at a text that they do not expect.
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketcandServer {
    state: ServerState,
}

impl StreamSession for SocketcandServer {
    fn begin(&mut self, answer: &mut Vec<u8>) {
        answer.extend_from_slice(b"< hi >");
    }

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
            (_, [b"echo"]) => answer.extend_from_slice(b"< echo >"),
            (ServerState::New, [b"list"]) => return StreamStep::List(used),
            (ServerState::New, [b"open", name]) => {
                return match str::from_utf8(name) {
                    Ok(name) if is_bus_name(name) => StreamStep::Open(used, name.to_owned()),
                    _ => StreamStep::Open(used, String::new()),
                };
            }
            (ServerState::Open | ServerState::Raw, [b"rawmode"]) => {
                self.state = ServerState::Raw;
                answer.extend_from_slice(b"< ok >");
            }
            (ServerState::Open | ServerState::Raw, [b"send", frame @ ..]) => {
                return match sent_frame(frame) {
                    Some(frame) => StreamStep::Frame(used, frame),
                    None => StreamStep::Malformed(used),
                };
            }
            _ => {
                answer.extend_from_slice(b"< error unknown command >");
                return StreamStep::Malformed(used);
            }
        }
        StreamStep::Used(used)
    }

    fn answer_open(&mut self, known: bool, answer: &mut Vec<u8>) {
        if known {
            self.state = ServerState::Open;
            answer.extend_from_slice(b"< ok >");
        } else {
            answer.extend_from_slice(b"< error could not open bus >");
        }
    }

    fn answer_list(&mut self, names: &[String], answer: &mut Vec<u8>) {
        answer.extend_from_slice(b"< interfaces");
        for name in names {
            answer.push(b' ');
            answer.extend_from_slice(name.as_bytes());
        }
        answer.extend_from_slice(b" >");
    }

    fn is_open(&self) -> bool {
        self.state == ServerState::Raw
    }

    fn put(&mut self, frame: &FrameRef<'_>, unix: Nanos, out: &mut Vec<u8>) {
        if carries(frame) {
            write_received(frame, unix, out);
        }
    }
}
