//! candump's log format, and what candump shows on a terminal with time stamps.

mod read;
mod recognise;
mod write;

use crate::format::FormatSpec;
use crate::read::{FormatReader, FormatReading, FormatRecognition};
use crate::write::FormatWriting;
pub(crate) use read::without_colours;
use read::{CandumpLogReader, CandumpReader};
pub(crate) use recognise::{has_no_time, is_delta};

/// The lines of `candump -L` and `candump -l`.
pub(crate) const LOG: FormatSpec = FormatSpec {
    name: "log",
    title: "candump -L",
    reading: Some(FormatReading {
        contents: "everything, XL frames and nanoseconds too",
        recognition: FormatRecognition::Line(recognise::is_log),
        open: |_| FormatReader::Lines(Box::new(CandumpLogReader)),
    }),
    writing: Some(FormatWriting {
        endings: &[".log", ".txt"],
        help: "candump's log format",
        omissions: "fractions of a microsecond, unless `--nanoseconds` writes nine digits",
        has_messages: true,
        create: |options| Ok(Box::new(write::TextWriter::new(options.nanos))),
        shortfalls: write::shortfalls,
        ..FormatWriting::APPENDED
    }),
};

/// The output of `candump -t a` or `-t A`.
pub(crate) const ABSOLUTE: FormatSpec = FormatSpec {
    name: "candump",
    title: "candump -t a",
    reading: Some(FormatReading {
        contents: "classic and FD frames, also of `-t A`, with and without `-x`, `-i` (bits) and \
                   `-c` (colours); BRS and ESI only with `-x`",
        recognition: FormatRecognition::Line(recognise::is_absolute),
        open: |_| FormatReader::Lines(Box::new(CandumpReader::new(false))),
    }),
    writing: None,
};

/// The output of `candump -t z`: times count from the first frame.
pub(crate) const ZERO: FormatSpec = FormatSpec {
    name: "candump-zero",
    title: "candump -t z",
    reading: Some(FormatReading {
        contents: "the same; times count from the first frame",
        recognition: FormatRecognition::Line(recognise::is_relative),
        open: |_| FormatReader::Lines(Box::new(CandumpReader::new(false))),
    }),
    writing: None,
};

/// The output of `candump -t d`: times count from the previous frame.
pub(crate) const DELTA: FormatSpec = FormatSpec {
    name: "candump-delta",
    title: "candump -t d",
    reading: Some(FormatReading {
        contents: "the same; times count from the previous frame",
        recognition: FormatRecognition::Name,
        open: |_| FormatReader::Lines(Box::new(CandumpReader::new(true))),
    }),
    writing: None,
};
