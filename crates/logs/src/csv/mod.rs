//! CSV in the layouts of python-can and of SavvyCAN (GVRET). The first line names the columns, and
//! shows which one it is.

mod base64;
mod read;
mod write;

use crate::format::FormatSpec;
use crate::read::{FormatReader, FormatReading, FormatRecognition};
use crate::write::FormatWriting;

/// The columns of python-can's `CSVWriter`.
const PYTHON_CAN: &str = "timestamp,arbitration_id,extended,remote,error,dlc,data";

/// CSV; both layouts are read, and python-can's is written.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "csv",
    title: "CSV of python-can or SavvyCAN",
    reading: Some(FormatReading {
        contents: "classic frames; FD frames of more than 8 bytes, without BRS and ESI; error \
                   frames of python-can; interface and direction only of SavvyCAN (GVRET)",
        recognition: FormatRecognition::Line(read::is_header),
        open: |_| FormatReader::Lines(Box::<read::CsvReader>::default()),
    }),
    writing: Some(FormatWriting {
        endings: &[".csv"],
        help: "CSV as python-can writes it: no XL frames, no interface and no direction",
        omissions: "XL frames; which interface and direction a frame has; BRS and ESI, and that a \
                    frame of up to 8 bytes is an FD frame; lost frames",
        has_losses: false,
        create: |_| Ok(Box::new(write::CsvWriter)),
        shortfalls: write::shortfalls,
        ..FormatWriting::APPENDED
    }),
};
