//! PEAK TRC, read at once and in pieces.

use crate::{Target, reading};
use logs::FileFormat;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_trc",
    run,
    words: &[
        ";$FILEVERSION=2.1\n",
        ";$FILEVERSION=1.1\n",
        ";$STARTTIME=43007.920986006946\n",
        ";$COLUMNS=N,O,T,B,I,d,R,L,D\n",
        " 1) 1.2 Rx 0401 2 01 02\n",
        " 1 1.000 FB 1 0300 Rx - 9 ",
        " RTR",
        "FFFFFFFF",
        "ER",
    ],
};

fn run(input: &[u8]) {
    reading::both_ways(input, Some(FileFormat::Trc));
}
