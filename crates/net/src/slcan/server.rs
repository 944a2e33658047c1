//! The adapter's side: this side serves a bus.

use super::line::{read, write};
use super::{BELL, END, carries, find_end};
use crate::{StreamSession, StreamStep, digits};
use frame::{FrameRef, Nanos};

/// Time stamps of lines begin anew after this time, ms (Lawicel's manual, command `Z`).
const STAMP_PERIOD: u64 = 60_000;

/// A conversation with a program that uses this side as a serial adapter.
///
/// `O` opens the bus, `L` opens it for listening only, `C` closes it. Bit rates (`S`, `s`, `Y`) are
/// accepted and have no effect: the bus behind the port has its own. `Z1` asks for stamps in
/// milliseconds. A command without a meaning here (acceptance filters, polling) is refused by a
/// bell.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlcanServer {
    open: bool,
    listens_only: bool,
    stamps: bool,
}

impl SlcanServer {
    fn command(&mut self, line: &[u8], answer: &mut Vec<u8>) -> bool {
        let digits_only = |rest: &[u8]| !rest.is_empty() && digits::number(rest).is_some();
        match line {
            [] => {}
            b"O" => (self.open, self.listens_only) = (true, false),
            b"L" => (self.open, self.listens_only) = (true, true),
            b"C" => self.open = false,
            b"Z0" => self.stamps = false,
            b"Z1" => self.stamps = true,
            [b'S' | b's' | b'Y', rest @ ..] if digits_only(rest) => {}
            b"V" => answer.extend_from_slice(b"V1013"),
            b"v" => answer.extend_from_slice(b"v0100"),
            b"N" => answer.extend_from_slice(b"N0001"),
            b"F" => answer.extend_from_slice(b"F00"),
            _ => return false,
        }
        answer.push(END);
        true
    }
}

impl StreamSession for SlcanServer {
    fn begin(&mut self, _answer: &mut Vec<u8>) {}

    fn take(&mut self, input: &[u8], answer: &mut Vec<u8>) -> StreamStep {
        let end = match find_end(input, |byte| matches!(byte, b'\r' | b'\n')) {
            Ok(end) => end,
            Err(step) => return step,
        };
        let (line, used) = (&input[..end], end + 1);
        if input[end] == b'\n' && line.is_empty() {
            return StreamStep::Used(used);
        }
        let is_frame = matches!(
            line.first(),
            Some(b't' | b'T' | b'r' | b'R' | b'd' | b'D' | b'b' | b'B')
        );
        if !is_frame {
            if self.command(line, answer) {
                return StreamStep::Used(used);
            }
            answer.push(BELL);
            return StreamStep::Malformed(used);
        }
        match read(line, false) {
            Some(frame) if self.open && !self.listens_only => {
                // The answer of an adapter that has put the frame into its transmit queue.
                let taken = if line[0].is_ascii_uppercase() {
                    b'Z'
                } else {
                    b'z'
                };
                answer.extend([taken, END]);
                StreamStep::Frame(used, frame)
            }
            _ => {
                answer.push(BELL);
                StreamStep::Malformed(used)
            }
        }
    }

    fn is_open(&self) -> bool {
        self.open
    }

    fn put(&mut self, frame: &FrameRef<'_>, unix: Nanos, out: &mut Vec<u8>) {
        if !carries(frame) {
            return;
        }
        write(frame, out);
        if self.stamps {
            let ms = unix / 1_000_000 % STAMP_PERIOD;
            digits::put(out, ms as u32, 4);
        }
        out.push(END);
    }
}
