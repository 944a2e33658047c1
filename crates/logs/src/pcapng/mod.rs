//! pcapng (draft-ietf-opsawg-pcapng).

mod read;
mod write;

use crate::format::FormatSpec;
use crate::read::{FormatReader, FormatReading, FormatRecognition, HeadVerdict};
use crate::write::FormatWriting;

/// pcapng. It stores the kernel's own structure, and nanoseconds: everything can be written.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "pcapng",
    title: "pcapng",
    reading: Some(FormatReading {
        contents: "link types CAN_SOCKETCAN (227), LINUX_SLL (113), LINUX_SLL2 (276) and \
                   WIRESHARK_UPPER_PDU (252), in both byte orders",
        recognition: FormatRecognition::Bytes(|head| match head.starts_with(&read::SECTION) {
            true => HeadVerdict::Yes,
            false => HeadVerdict::Other,
        }),
        open: |_| FormatReader::Blocks(Box::new(read::PcapngReader::new())),
    }),
    writing: Some(FormatWriting {
        endings: &[".pcapng"],
        help: "pcapng with link type 227 (CAN_SOCKETCAN)",
        omissions: "user comments on frames of pcapng",
        create: |_| Ok(Box::<write::PcapngWriter>::default()),
        ..FormatWriting::APPENDED
    }),
};
