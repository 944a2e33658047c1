//! BUSMASTER's own logs.

mod read;

use crate::format::FormatSpec;
use crate::read::{FormatReader, FormatReading, FormatRecognition};

/// The logs of BUSMASTER, which is only read.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "busmaster",
    title: "BUSMASTER log",
    reading: Some(FormatReading {
        contents: "classic and FD frames, error frames; hex and decimal; times of the system, \
                   absolute and relative ones; BRS and ESI are not in the file",
        recognition: FormatRecognition::Line(read::is_line),
        open: |_| FormatReader::Lines(Box::<read::BusmasterReader>::default()),
    }),
    writing: None,
};
