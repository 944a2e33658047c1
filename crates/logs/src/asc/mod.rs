//! Vector ASC.

mod flexible;
mod known;
mod read;
mod write;
mod xl;

use crate::format::FormatSpec;
use crate::read::{FormatReader, FormatReading, FormatRecognition};
use crate::write::FormatWriting;

/// Vector ASC, as CANalyzer, CANoe, BUSMASTER and other programs write it.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "asc",
    title: "Vector ASC",
    reading: Some(FormatReading {
        contents: "classic, FD and XL frames, error frames, also in `CANFD` and `CANXL` lines; hex \
                   and decimal, absolute and relative times",
        recognition: FormatRecognition::Line(read::is_line),
        open: |_| FormatReader::Lines(Box::new(read::AscReader::new())),
    }),
    writing: Some(FormatWriting {
        endings: &[".asc"],
        help: "Vector ASC: no XL frames, no details of error frames",
        omissions: "XL frames; the class and the data of error frames; that a direction is not \
                    known (it becomes `Rx`); times before the first frame's",
        create: |_| Ok(Box::<write::AscWriter>::default()),
        shortfalls: write::shortfalls,
        ..FormatWriting::APPENDED
    }),
};
