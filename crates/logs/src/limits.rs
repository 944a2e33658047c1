//! The shortfalls of a file, in the order of its frames.

use crate::format::FileFormat;
use crate::shortfall::{FileContext, Shortfall};
use crate::write::{FrameEntry, WriteOptions};
use frame::Nanos;

/// The shortfalls of a format, frame by frame in the order of the file.
#[derive(Clone, Debug)]
pub struct FormatLimits {
    format: FileFormat,
    options: WriteOptions,
    first: Option<Nanos>,
}

impl FormatLimits {
    /// Returns the limits of a file that is written with these options.
    #[must_use]
    pub const fn new(format: FileFormat, options: WriteOptions) -> Self {
        Self {
            format,
            options,
            first: None,
        }
    }

    /// Returns the shortfalls of the next frame. If the frame is left out, there is only that one.
    pub fn shortfalls(&mut self, entry: &FrameEntry<'_>) -> Vec<Shortfall> {
        let Some(writing) = self.format.spec().writing else {
            return Vec::new();
        };
        let context = FileContext {
            first: self.first.unwrap_or(entry.stamp),
            nanos: self.options.nanos,
        };
        let found = (writing.shortfalls)(entry, &context);
        // A frame that is left out begins no file.
        if !found.iter().any(|shortfall| shortfall.is_left_out()) {
            self.first = Some(context.first);
        }
        found
    }
}
