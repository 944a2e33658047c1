//! candump's output on a terminal, read at once and in pieces.

use crate::{Target, reading};
use logs::FileFormat;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_candump",
    run,
    words: &[
        " (1436509052.249713)  vcan0  123   [2]  11 22\n",
        " (000.000100)  can0  RX B E  00000123  [12]  ",
        "(2012-11-28 14:57:33.123456)",
        "  TX - -  ",
        "   {B}  ",
        "  remote request",
        "   ERRORFRAME",
        "[0008]",
        "\r\n",
    ],
};

fn run(input: &[u8]) {
    for format in [
        FileFormat::Candump,
        FileFormat::CandumpZero,
        FileFormat::CandumpDelta,
    ] {
        reading::both_ways(input, Some(format));
    }
}
