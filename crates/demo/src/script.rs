//! Lines of a log at which its replay waits for an answer: `wait can0 7E8 500ms`.
//!
//! Such a line is not part of any format of logs, so it is taken out before the log is read. An
//! empty line stays in its place: the numbers of all other lines are those of the file.

use frame::{Frame, FrameBuf, Nanos};
use port::log::asks_to_wait;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest length of such a line, in bytes. A longer line is part of the log.
const LONGEST: usize = 512;

/// The first block type of a pcapng file (draft-ietf-opsawg-pcapng, section 4.1).
const PCAPNG: &[u8] = b"\n\r\r\n";

/// Size of the pieces in which the file is read, in bytes.
const PIECE: usize = 64 * 1024;

/// A line at which the replay waits for a frame.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AnswerWait {
    /// The number of the line in the file, from 1.
    pub(crate) line: u64,
    /// The interface of the log on whose bus the frame is expected.
    pub(crate) interface: String,
    /// The expected frame: its ID and format, and the first bytes of its payload.
    pub(crate) answer: Frame,
    /// Time for which the replay waits, ns.
    pub(crate) timeout: Nanos,
    /// The line as written.
    pub(crate) text: String,
}

impl AnswerWait {
    /// Reads a line; `None`: it is another line.
    pub(crate) fn parse(text: &[u8], line: u64) -> Option<Result<Self, String>> {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if !asks_to_wait(text) {
            return None;
        }
        let text = String::from_utf8_lossy(text).into_owned();
        let words: Vec<&str> = text.split_whitespace().skip(1).collect();
        let [interface, id, timeout] = words[..] else {
            return Some(Err(
                "`wait` needs an interface, an ID and a time, as in `wait can0 7E8 500ms`"
                    .to_owned(),
            ));
        };
        let read = || {
            Ok(Self {
                line,
                interface: interface.to_owned(),
                answer: answer(id)?,
                timeout: config::duration(timeout).map_err(|error| {
                    let hint = error.hint;
                    format!("`{timeout}` is not a valid time: {hint}")
                })?,
                text: text.clone(),
            })
        };
        Some(read())
    }

    /// Returns whether this frame is the answer.
    pub(crate) fn is_answer(&self, frame: &Frame) -> bool {
        self.answer.id() == frame.id() && frame.data().starts_with(self.answer.data())
    }
}

/// Reads an ID as candump prints it, which the first bytes of the payload may follow.
fn answer(word: &str) -> Result<Frame, String> {
    let whole = match word.contains('#') {
        true => word.to_owned(),
        false => format!("{word}#"),
    };
    let mut frame = FrameBuf::new();
    let read = frame::text::parse_frame(whole.as_bytes(), &mut frame).ok();
    let frame = read.and_then(|()| Frame::from_view(frame.view()));
    frame.filter(|frame| !frame.id().is_err()).ok_or_else(|| {
        format!(
            "`{word}` is not a valid answer: write an ID of 3 or 8 hex digits, and if needed the \
             first bytes of the payload, as in 7E8 or 7E8#0641"
        )
    })
}

/// A line to wait at, by its number; or the reason why it is not valid.
type WaitLine = (u64, Result<AnswerWait, String>);

/// The lines to wait at that were read and not reached yet, shared by the reader of the file and
/// the replay.
#[derive(Clone, Default)]
pub(crate) struct WaitList(Arc<Mutex<VecDeque<WaitLine>>>);

impl WaitList {
    fn lock(&self) -> MutexGuard<'_, VecDeque<WaitLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: u64, wait: Result<AnswerWait, String>) {
        self.lock().push_back((line, wait));
    }

    /// Takes the first line to wait at before this line of the log; `None` for the line: at the end
    /// of the log. Returns its number, and the reason if it is not valid.
    pub(crate) fn take_before(
        &self,
        line: Option<u64>,
    ) -> Option<(u64, Result<AnswerWait, String>)> {
        let mut all = self.lock();
        let (first, _) = all.front()?;
        let is_before = line.is_none_or(|line| *first < line);
        if is_before { all.pop_front() } else { None }
    }
}

/// A reader of a log that takes the lines to wait at out of it.
pub(crate) struct ScriptReader<R> {
    inner: R,
    waits: WaitList,
    /// Whether the input is text with lines to look for; `None`: not known yet.
    is_text: Option<bool>,
    /// The bytes to hand on, and how many of them are handed on already.
    ready: Vec<u8>,
    taken: usize,
    /// The beginning of a line whose end was not read yet.
    begun: Vec<u8>,
    /// Whether the beginning of the present line was handed on: it is no line to wait at.
    passing: bool,
    lines: u64,
    ended: bool,
}

impl<R: Read> ScriptReader<R> {
    pub(crate) fn new(inner: R, waits: WaitList) -> Self {
        Self {
            inner,
            waits,
            is_text: None,
            ready: Vec::new(),
            taken: 0,
            begun: Vec::new(),
            passing: false,
            lines: 0,
            ended: false,
        }
    }

    /// Takes the lines of a piece of the file.
    fn split(&mut self, mut piece: &[u8]) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = piece.split_at(end + 1);
            piece = rest;
            self.begun.extend_from_slice(line);
            self.end_line();
        }
        self.begun.extend_from_slice(piece);
        if self.passing || self.begun.len() > LONGEST {
            self.passing = true;
            self.ready.append(&mut self.begun);
        }
    }

    fn end_line(&mut self) {
        self.lines += 1;
        let line = self.begun.strip_suffix(b"\n").unwrap_or(&self.begun);
        let wait = match self.passing {
            true => None,
            false => AnswerWait::parse(line, self.lines),
        };
        if let Some(wait) = wait {
            self.waits.push(self.lines, wait);
            let had_end = self.begun.last() == Some(&b'\n');
            self.begun.clear();
            self.ready.extend(had_end.then_some(b'\n'));
        } else {
            self.ready.append(&mut self.begun);
        }
        self.passing = false;
    }
}

impl<R: Read> Read for ScriptReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.taken >= self.ready.len() && !self.ended {
            self.ready.clear();
            self.taken = 0;
            let mut piece = vec![0; PIECE];
            let n = self.inner.read(&mut piece)?;
            let piece = piece.get(..n).unwrap_or_default();
            // Packed and binary formats begin with other bytes, and may contain anything; a pcapng
            // file begins with line ends.
            let is_text = *self.is_text.get_or_insert_with(|| {
                let is_start = matches!(piece.first(), Some(b'(' | b'#' | b'w' | b'\n' | b'\r'));
                is_start && !piece.starts_with(PCAPNG)
            });
            if n == 0 {
                self.ended = true;
                if !self.begun.is_empty() {
                    self.end_line();
                }
            } else if is_text {
                self.split(piece);
            } else {
                self.ready.extend_from_slice(piece);
            }
        }
        let rest = self.ready.get(self.taken..).unwrap_or_default();
        let n = rest.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        self.taken += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8], waits: &WaitList) -> Vec<u8> {
        let mut out = Vec::new();
        ScriptReader::new(text, waits.clone())
            .read_to_end(&mut out)
            .unwrap();
        out
    }

    #[test]
    fn lines_to_wait_at_are_taken_out_and_leave_the_numbers() {
        let waits = WaitList::default();
        let text = b"(1.0) can0 7DF#02\nwait can0 7E8#0641 500ms\r\n(1.1) can0 123#\nwait can1 18DAF110 1s";
        let out = read(text, &waits);
        assert_eq!(out, b"(1.0) can0 7DF#02\n\n(1.1) can0 123#\n");
        assert_eq!(
            waits.take_before(Some(2)),
            None,
            "line 2 is not before itself"
        );
        let (line, first) = waits.take_before(Some(3)).unwrap();
        let first = first.unwrap();
        assert_eq!(
            (line, first.interface.as_str(), first.timeout),
            (2, "can0", 500_000_000)
        );
        let frame = |text: &str| answer(text).unwrap();
        assert!(first.is_answer(&frame("7E8#06410C")) && !first.is_answer(&frame("7E8#06")));
        assert!(
            !first.is_answer(&frame("000007E8#0641")),
            "29 bits are another ID"
        );
        assert_eq!(waits.take_before(Some(3)), None);
        let (_, last) = waits.take_before(None).unwrap();
        assert!(last.unwrap().is_answer(&frame("18DAF110#00")));
    }

    #[test]
    fn a_binary_log_that_begins_with_line_ends_passes() {
        let waits = WaitList::default();
        let bytes = b"\n\r\r\n\x1c\0\0\0\nwait can0 7E8 1s\n\xff";
        assert_eq!(read(bytes, &waits), bytes);
        assert_eq!(waits.take_before(None), None);
        assert_eq!(read(b"\nwait can0 7E8 1s\n", &waits), b"\n\n");
    }

    #[test]
    fn a_mistake_names_its_cure() {
        for (line, words) in [
            ("wait", "needs an interface, an ID and a time"),
            ("wait can0 7E8", "needs an interface"),
            ("wait can0 7E 1s", "an ID of 3 or 8 hex digits"),
            ("wait can0 7E8 soon", "`soon` is not a valid time"),
        ] {
            let wrong = AnswerWait::parse(line.as_bytes(), 1).unwrap().unwrap_err();
            assert!(wrong.contains(words), "{line}: {wrong}");
        }
        assert_eq!(AnswerWait::parse(b"waiting can0 7E8 1s", 1), None);
        assert_eq!(AnswerWait::parse(b"(1.0) can0 123#", 1), None);
    }

    proptest! {
        /// Checks that everything but lines to wait at passes unchanged, whatever it is.
        #[test]
        fn other_input_passes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let waits = WaitList::default();
            let out = read(&bytes, &waits);
            if waits.take_before(None).is_none() {
                prop_assert_eq!(out, bytes);
            }
        }

        /// Checks that the line ends stay, in any text.
        #[test]
        fn line_ends_stay(text in "(\\(|wait can0 123 1s|wait|\n|a| ){0,40}") {
            let out = read(text.as_bytes(), &WaitList::default());
            let ends = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
            prop_assert_eq!(ends(&out), ends(text.as_bytes()));
        }
    }
}
