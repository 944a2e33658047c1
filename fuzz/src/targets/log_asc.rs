//! Vector ASC, read at once and in pieces.

use crate::{Target, reading};
use logs::FileFormat;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_asc",
    run,
    words: &[
        "date Wed Nov 28 02:57:33.123 pm 2012\n",
        "base dec timestamps relative\n",
        "base hex timestamps absolute\n",
        "0.250000 1  123  Rx   d 2 11 22\n",
        "18EBFF00x ",
        " Tx r 4",
        "0.1 CANFD 1 Rx 123 Name 1 0 9 12 ",
        "ErrorFrame",
        "// cangate: channel 1 is can0\n",
    ],
};

fn run(input: &[u8]) {
    reading::both_ways(input, Some(FileFormat::Asc));
}
