//! The output of a guest: pieces, one after the other, through a virtio serial port into a file
//! that the host reads while it grows.
//!
//! A piece is its kind (one byte), its length (four bytes, little endian), and its bytes.

use std::io::{self, Write};

/// The greatest length of a piece's content; longer content is sent in several pieces.
pub(crate) const LONGEST: usize = 1 << 16;

/// One piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WirePiece {
    /// The agent is ready and has brought the bench up; the versions that run there, as `key=value`
    /// lines.
    Ready(String),
    /// The job's standard output.
    Stdout(Vec<u8>),
    /// The job's standard error, and the agent's messages.
    Stderr(Vec<u8>),
    /// The start of a file that is handed out.
    File(String),
    /// A part of that file.
    Part(Vec<u8>),
    /// The job is done, with this exit status.
    Status(i32),
    /// The job could not be done.
    Failed(String),
    /// A shell has opened the port from the host. Input that arrived there earlier was lost.
    Listening,
}

impl WirePiece {
    fn parts(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Ready(text) => (1, text.clone().into_bytes()),
            Self::Stdout(bytes) => (2, bytes.clone()),
            Self::Stderr(bytes) => (3, bytes.clone()),
            Self::File(name) => (4, name.clone().into_bytes()),
            Self::Part(bytes) => (5, bytes.clone()),
            Self::Status(status) => (6, status.to_le_bytes().to_vec()),
            Self::Failed(text) => (7, text.clone().into_bytes()),
            Self::Listening => (8, Vec::new()),
        }
    }

    fn from_parts(kind: u8, bytes: &[u8]) -> Option<Self> {
        let text = || String::from_utf8_lossy(bytes).into_owned();
        Some(match kind {
            1 => Self::Ready(text()),
            2 => Self::Stdout(bytes.to_vec()),
            3 => Self::Stderr(bytes.to_vec()),
            4 => Self::File(text()),
            5 => Self::Part(bytes.to_vec()),
            6 => Self::Status(i32::from_le_bytes(bytes.try_into().ok()?)),
            7 => Self::Failed(text()),
            8 => Self::Listening,
            _ => return None,
        })
    }

    /// Writes the piece in one go.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (kind, mut bytes) = self.parts();
        // Only messages can be too long here: the sender splits everything else.
        bytes.truncate(LONGEST);
        write_piece(kind, &bytes, out)
    }
}

/// Writes a piece of some kind in one go.
pub(crate) fn write_piece(kind: u8, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    let mut piece = Vec::with_capacity(bytes.len() + 5);
    piece.push(kind);
    piece.extend_from_slice(&length.to_le_bytes());
    piece.extend_from_slice(bytes);
    out.write_all(&piece)
}

/// An error in bytes from a guest that should be pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A piece that exceeds the greatest length.
    #[error("the guest's output is garbled: it has a piece of {0} bytes")]
    Length(usize),
    /// A piece of an unknown kind, or with content that its kind cannot have.
    #[error("the guest's output is garbled: it has a piece of kind {0}")]
    Kind(u8),
}

/// A reader that assembles pieces from bytes as they come.
#[derive(Debug, Default)]
pub(crate) struct PieceReader {
    pending: Vec<u8>,
    used: usize,
}

impl PieceReader {
    /// Adds bytes that were received.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.pending.drain(..self.used);
        self.used = 0;
        self.pending.extend_from_slice(bytes);
    }

    /// Returns the next complete piece.
    ///
    /// # Errors
    ///
    /// The bytes are not pieces.
    pub(crate) fn next(&mut self) -> Result<Option<WirePiece>, WireError> {
        let Some((kind, bytes)) = self.next_of_any_kind()? else {
            return Ok(None);
        };
        let piece = WirePiece::from_parts(kind, &bytes).ok_or(WireError::Kind(kind))?;
        Ok(Some(piece))
    }

    /// Returns the kind and the bytes of the next complete piece.
    ///
    /// # Errors
    ///
    /// The piece exceeds the greatest length.
    pub(crate) fn next_of_any_kind(&mut self) -> Result<Option<(u8, Vec<u8>)>, WireError> {
        let rest = self.pending.get(self.used..).unwrap_or_default();
        let Some((head, rest)) = rest.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let [kind, length @ ..] = *head;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(WireError::Length(length));
        }
        let Some(bytes) = rest.get(..length) else {
            return Ok(None);
        };
        let bytes = bytes.to_vec();
        self.used += 5 + length;
        Ok(Some((kind, bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece() -> impl Strategy<Value = WirePiece> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..40);
        prop_oneof![
            "[ -~]{0,20}".prop_map(WirePiece::Ready),
            bytes().prop_map(WirePiece::Stdout),
            bytes().prop_map(WirePiece::Stderr),
            "[ -~]{0,20}".prop_map(WirePiece::File),
            bytes().prop_map(WirePiece::Part),
            any::<i32>().prop_map(WirePiece::Status),
            "[ -~]{0,20}".prop_map(WirePiece::Failed),
            Just(WirePiece::Listening),
        ]
    }

    proptest! {
        #[test]
        fn pieces_survive_however_they_are_cut(
            pieces in proptest::collection::vec(piece(), 0..12),
            cut in 1usize..17,
        ) {
            let mut bytes = Vec::new();
            for piece in &pieces {
                piece.write(&mut bytes).unwrap();
            }
            let mut reader = PieceReader::default();
            let mut got = Vec::new();
            for chunk in bytes.chunks(cut) {
                reader.push(chunk);
                while let Some(piece) = reader.next().unwrap() {
                    got.push(piece);
                }
            }
            prop_assert_eq!(got, pieces);
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = PieceReader::default();
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next() {}
        }
    }

    #[test]
    fn garbage_is_reported() {
        let mut reader = PieceReader::default();
        reader.push(&[9, 0, 0, 0, 0]);
        assert_eq!(reader.next(), Err(WireError::Kind(9)));
        let mut reader = PieceReader::default();
        reader.push(&[1, 255, 255, 255, 255]);
        assert!(reader.next().is_err());
    }
}
