//! The options of `cangate convert`.

use super::capture::{OUTPUT_HELP, output_help, written_format};
use clap::Args;
use port::log::FileFormat;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Convert {
    /// The log to read; `-` is standard input.
    #[arg(value_name = "IN", long_help = input_help())]
    pub(crate) input: PathBuf,
    #[arg(value_name = "OUT", help = OUTPUT_HELP, long_help = output_help(""))]
    pub(crate) output: PathBuf,
    #[arg(long, value_name = "FORMAT", value_parser = format, help = from_help("IN"))]
    pub(crate) from: Option<FileFormat>,
    /// The format of OUT, if its name does not select it.
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub(crate) to: Option<FileFormat>,
    /// Write nine digits of a second into a candump log; six are usual, and further digits are cut
    /// off.
    #[arg(long)]
    pub(crate) nanoseconds: bool,
    /// Also write the message of each frame and its signals, by this DBC; `IFACE=FILE` is for one
    /// interface.
    ///
    /// In a candump log, a comment follows each frame; can-utils and cangate pass over it,
    /// python-can does not. Parquet gets the columns `message` (null if the ID is not in the
    /// database) and `signals`, a map from names to physical values. Other formats have no place
    /// for it.
    #[cfg(feature = "decode")]
    #[arg(short, long = "database", value_name = "[IFACE=]FILE")]
    pub(crate) databases: Vec<super::decode::DatabaseChoice>,
    /// Stop at the first bad line of IN, and at the first frame that OUT cannot represent
    /// unchanged.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Replace OUT if it exists.
    #[arg(short, long)]
    pub(crate) force: bool,
}

const EXAMPLES: &str = "\
Examples:
  A log of CANoe, for Wireshark
      cangate convert drive.blf drive.pcapng
  A recording for tools that read ASC, compressed
      cangate convert drive.pcapng drive.asc.gz
  What candump shows on a terminal, as a log that canplayer plays
      candump -t d can0 | cangate convert --from candump-delta - drive.log
  For pandas, DuckDB and the like
      cangate convert drive.trc drive.parquet

If OUT's format cannot express a part of some frames, a warning counts these frames and names the first.

Exit status: 0: every frame of IN is in OUT; 1: it could not be written; 2: the options or IN are wrong; 3: bad
lines or frames that OUT's format does not have were left out, and the rest was written; 4: standard output was
closed.";

fn input_help() -> String {
    format!(
        "The log to read; `-` is standard input.\n\n{}, also compressed by gzip or zstd. The format is recognized \
         by the contents, not by the name.",
        FileFormat::read_titles()
    )
}

/// Returns the help of an option that names the format of a log.
pub(super) fn from_help(log: &str) -> String {
    let names = FileFormat::NAMES.map(|(name, _)| name);
    format!("The format of {log}: {}", names.join(", "))
}

pub(super) fn format(name: &str) -> Result<FileFormat, String> {
    let found = FileFormat::NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names = FileFormat::NAMES.map(|(name, _)| name);
        let hint = config::did_you_mean(name, names);
        format!("not a format that is read; {hint}")
    })
}
