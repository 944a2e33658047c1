//! pcap and pcapng, and the detection of a log's format: read at once and in pieces.

use crate::{Target, reading};
use logs::FileFormat;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_pcap",
    run,
    words: &[
        "\n\r\r\n",
        "\u{1}\0\0\0",
        "\u{6}\0\0\0",
        "M<+\u{1a}",
        "\u{0}\u{0}\u{1}\u{23}",
        "\u{c}\0\0\0",
        "\u{20}\0\0\0",
        "MDF ",
        "PAR1",
    ],
};

fn run(input: &[u8]) {
    reading::both_ways(input, None);
    reading::both_ways(input, Some(FileFormat::Pcapng));
}
