//! Writing: the interface between a recorder and the writer of a format.

use crate::shortfall::{FileContext, Shortfall};
use frame::text::Direction;
use frame::{FrameRef, Nanos};
use signals::DecodedFrame;
use std::time::Duration;

/// How a format is written.
#[derive(Clone, Copy)]
pub(crate) struct FormatWriting {
    /// The ends of file names that select it.
    pub(crate) endings: &'static [&'static str],
    /// The written format, for the help of a command.
    pub(crate) help: &'static str,
    /// The properties of frames that it cannot express, for the table in docs/files.md; empty: it
    /// expresses all.
    pub(crate) omissions: &'static str,
    /// The maximum time after which collected frames are written.
    pub(crate) flush_every: Duration,
    /// The file is compressed internally, and its end is replaced when more is written.
    pub(crate) is_packed: bool,
    /// A file can state that frames are missing.
    pub(crate) has_losses: bool,
    /// A file can have the message of each frame, with its signals.
    pub(crate) has_messages: bool,
    /// This build contains the writer.
    pub(crate) is_built: bool,
    pub(crate) create: fn(WriteOptions) -> Result<Box<dyn FrameWriter>, WriteError>,
    /// Returns what a file in this state cannot express of a frame.
    pub(crate) shortfalls: fn(&FrameEntry<'_>, &FileContext) -> Vec<Shortfall>,
}

impl FormatWriting {
    /// The properties of most formats: text or blocks that are appended to a file.
    pub(crate) const APPENDED: Self = Self {
        endings: &[],
        help: "",
        omissions: "",
        flush_every: Duration::from_secs(1),
        is_packed: false,
        has_losses: true,
        has_messages: false,
        is_built: true,
        create: |_| Err(WriteError(String::new())),
        shortfalls: |_, _| Vec::new(),
    };
}

/// The options of all writers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteOptions {
    /// candump's log has nine digits after the decimal point instead of six.
    pub nanos: bool,
    /// The file has the messages of frames ([`FrameWriter::message`]).
    pub messages: bool,
}

/// A frame that is written, and what is known about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameEntry<'a> {
    /// Unix time in ns, or that of another clock.
    pub stamp: Nanos,
    /// The number of its interface, from 0, by which a writer tells interfaces apart.
    pub interface: u16,
    /// The name of its interface.
    pub name: &'a str,
    /// Received or sent, where it is known.
    pub direction: Option<Direction>,
    /// The frame.
    pub frame: FrameRef<'a>,
}

/// Frames that are missing before the next entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossEntry<'a> {
    /// The last stamp before the loss was noticed.
    pub stamp: Nanos,
    /// Number and name of the interface; `None` if it is not known.
    pub interface: Option<(u16, &'a str)>,
    /// Number of frames.
    pub frames: u64,
    /// The reason, in words.
    pub reason: &'static str,
}

/// Error: frames cannot be written in a format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct WriteError(String);

impl WriteError {
    pub(crate) const fn new(text: String) -> Self {
        Self(text)
    }
}

/// Number of collected bytes that are written at once.
const FULL: usize = 1 << 18;

/// A writer of a format: it appends the bytes of one file after the other to a buffer of its
/// caller, who writes the buffer and empties it.
pub trait FrameWriter: Send {
    /// Begins a file, or continues one after a failure.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Adds a frame. Returns false if the format cannot express it
    /// ([`Shortfall::is_left_out`]); nothing is written then.
    fn frame(&mut self, entry: &FrameEntry<'_>, out: &mut Vec<u8>) -> bool;

    /// Adds the message of the frame that was added last, with its signals, where the format has
    /// messages and the options ask for them.
    fn message(&mut self, decoded: &DecodedFrame<'_>, out: &mut Vec<u8>) {
        let _ = (decoded, out);
    }

    /// Adds a loss.
    fn loss(&mut self, loss: &LossEntry<'_>, out: &mut Vec<u8>);

    /// Returns whether the collected frames must be written.
    fn is_full(&self, out: &[u8]) -> bool {
        out.len() >= FULL
    }

    /// Adds the collected frames; returns the bytes that end the file until the next flush, which
    /// overwrites them.
    ///
    /// # Errors
    /// [`WriteError`] where the collected frames cannot be formatted.
    fn flush(&mut self, _: &mut Vec<u8>) -> Result<Vec<u8>, WriteError> {
        Ok(Vec::new())
    }

    /// Ends the file.
    fn end(&mut self, _: &mut Vec<u8>) {}

    /// Returns whether the file can be continued after a piece of it could not be written.
    fn is_resumable(&self) -> bool {
        true
    }
}
