//! ASAM MF4: read at once and in pieces.

use crate::{Target, reading};
use logs::FileFormat;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_mf4",
    run,
    words: &[
        "MDF ",
        "UnFinMF ",
        "4.10",
        "##DG",
        "##CG",
        "##CN",
        "##DT",
        "##DZ",
        "##DL",
        "##HL",
        "##LD",
        "##SD",
        "CAN_DataFrame",
        "DataBytes",
    ],
};

fn run(input: &[u8]) {
    reading::both_ways(input, Some(FileFormat::Mf4));
}
