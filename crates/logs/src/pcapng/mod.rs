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
        recognition: FormatRecognition::Bytes(|head| match head {
            _ if head.starts_with(&read::SECTION) => HeadVerdict::Yes,
            // A text that begins with one line end, or with two, is no part of it.
            [_, _, _, ..] if read::SECTION.starts_with(head) => HeadVerdict::More,
            _ => HeadVerdict::Other,
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
