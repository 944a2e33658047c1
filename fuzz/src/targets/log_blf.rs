//! Vector BLF: read at once and in pieces.

use crate::{Target, reading};
use logs::FileFormat;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_blf",
    run,
    words: &[
        "LOGG",
        "LOBJ",
        "\u{10}\0\u{1}\0",
        "\u{20}\0\u{1}\0",
        "\u{a}\0\0\0",
        "\u{64}\0\0\0",
        "\u{65}\0\0\0",
        "\u{7e}\0\0\0",
        "\u{2}\0",
    ],
};

fn run(input: &[u8]) {
    reading::both_ways(input, Some(FileFormat::Blf));
}
