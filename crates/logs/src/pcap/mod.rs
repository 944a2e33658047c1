//! pcap, and what it shares with pcapng: link types that carry CAN frames, indices of interfaces.

pub(crate) mod indices;
pub(crate) mod link;
mod read;

use crate::format::FormatSpec;
use crate::read::{FormatReader, FormatReading, FormatRecognition};

/// pcap, of libpcap and tcpdump.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "pcap",
    title: "pcap",
    reading: Some(FormatReading {
        contents: "the same",
        recognition: FormatRecognition::Bytes(read::verdict),
        open: |_| FormatReader::Blocks(Box::<read::PcapReader>::default()),
    }),
    writing: None,
};
