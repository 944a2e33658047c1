//! The common parts of the command lines of `cangate` and `cangate-lab`.
//!
//! * [`Failure`]: why a command failed, and the exit status that follows from it ([`exit_code`]).
//! * [`Color`]: the option `--color`.
//! * [`counters!`]: counters that are defined once.
//! * [`input`]: files that the user supplies; [`output`]: files and folders that a command writes.
//! * [`value`]: values of options. [`table`], [`columns`]: tables, and text that fits a terminal.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod color;
pub mod columns;
mod counters;
mod failure;
pub mod input;
pub mod output;
mod progress;
pub mod table;
pub mod value;

pub use color::Color;
pub use failure::{Failure, exit_code, say};
pub use progress::ProgressLine;

use clap::error::ErrorKind;
use std::ffi::OsString;

/// Returns whether parsing ended at `--version` and the command line also contains `--verbose`:
/// clap ends at `--version` and does not read the words after it. `words` is the whole command
/// line.
pub fn is_verbose_version(end: &clap::Error, words: impl Iterator<Item = OsString>) -> bool {
    end.kind() == ErrorKind::DisplayVersion
        && words
            .skip(1)
            .take_while(|word| word != "--")
            .any(|word| word == "--verbose")
}
