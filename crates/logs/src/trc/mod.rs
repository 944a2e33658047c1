//! PEAK TRC.

mod read;
mod write;

use crate::format::FormatSpec;
use crate::read::{FormatReader, FormatReading, FormatRecognition};
use crate::write::FormatWriting;

/// Days from TRC's epoch, 1899-12-30, to 1970-01-01.
const EPOCH: u64 = 25_569;

/// PEAK TRC; versions 1.0 to 2.1 are read, and 2.1 is written.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "trc",
    title: "PEAK TRC",
    reading: Some(FormatReading {
        contents: "versions 1.0 to 1.3, 2.0, 2.1: classic and FD frames, error frames",
        recognition: FormatRecognition::Line(read::is_line),
        open: |_| FormatReader::Lines(Box::new(read::TrcReader::new())),
    }),
    writing: Some(FormatWriting {
        endings: &[".trc"],
        help: "PEAK TRC 2.1: no XL frames, no details of error frames",
        omissions: "XL frames; the class and the data of error frames; that a direction is not \
                    known (it becomes `Rx`); fractions of a microsecond",
        create: |_| Ok(Box::<write::TrcWriter>::default()),
        shortfalls: write::shortfalls,
        ..FormatWriting::APPENDED
    }),
};
