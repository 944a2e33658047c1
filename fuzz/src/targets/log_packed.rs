//! Data compressed by gzip and Zstandard: up to a megabyte of it is decompressed, and read as a
//! log.

use crate::{Target, reading};
use logs::UnpackedInput;
use std::io::Read;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_packed",
    run,
    words: &["\u{1f}", "(1.0) can0 123#11\n"],
};

fn run(input: &[u8]) {
    let mut unpacked = Vec::new();
    // An error in the compressed data is not a failure; the data before it counts.
    let _ = UnpackedInput::new(input)
        .take(1 << 20)
        .read_to_end(&mut unpacked);
    reading::both_ways(&unpacked, None);
}
