//! Splitting a stream into lines, in bounded memory.

use super::protocol::{MAX_REQUEST, RequestError};

/// Collects bytes until a line is complete; holds at most [`MAX_REQUEST`] bytes.
#[derive(Default)]
pub struct LineInbox {
    bytes: Vec<u8>,
    /// The index up to which the bytes hold no newline.
    searched: usize,
}

impl LineInbox {
    /// Returns how many more bytes it can take.
    #[must_use]
    pub fn room(&self) -> usize {
        MAX_REQUEST.saturating_sub(self.bytes.len())
    }

    /// Adds received bytes up to [`LineInbox::room`] and returns how many were taken.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room());
        self.bytes.extend(bytes.iter().take(taken));
        taken
    }

    /// Returns the next line without its newline, if it is complete.
    ///
    /// # Errors
    /// [`RequestError::TooLong`] if the inbox is full without a newline: nothing sensible can
    /// follow, so the client should be disconnected.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, RequestError> {
        let unsearched = self.bytes.iter().skip(self.searched);
        match unsearched.enumerate().find(|&(_, &byte)| byte == b'\n') {
            Some((at, _)) => {
                let rest = self.bytes.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.bytes, rest);
                line.pop();
                self.searched = 0;
                Ok(Some(line))
            }
            None if self.room() == 0 => Err(RequestError::TooLong),
            None => {
                self.searched = self.bytes.len();
                Ok(None)
            }
        }
    }

    /// Returns whether there is no incomplete line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_without_end_is_refused_at_the_limit() {
        let mut inbox = LineInbox::default();
        assert_eq!(inbox.push(&vec![b'x'; MAX_REQUEST + 10]), MAX_REQUEST);
        assert_eq!(inbox.line(), Err(RequestError::TooLong));
    }

    proptest! {
        /// However a stream is cut into pieces, the same lines come out.
        #[test]
        fn pieces_do_not_matter(
            lines in proptest::collection::vec("[a-z]{0,20}", 0..20),
            sizes in proptest::collection::vec(1usize..30, 1..20),
        ) {
            let stream: Vec<u8> = lines.iter().flat_map(|l| format!("{l}\n").into_bytes()).collect();
            let mut inbox = LineInbox::default();
            let mut found = Vec::new();
            let mut rest = stream.as_slice();
            for &size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, later) = rest.split_at(size.min(rest.len()));
                prop_assert_eq!(inbox.push(piece), piece.len());
                rest = later;
                while let Some(line) = inbox.line().unwrap() {
                    found.push(String::from_utf8(line).unwrap());
                }
            }
            prop_assert_eq!(found, lines);
            prop_assert!(inbox.is_empty());
        }
    }
}
