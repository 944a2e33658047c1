//! The options of `cangate convert`.

use super::capture::Format as To;
use clap::Args;
use port::log::FileFormat as From;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Convert {
    /// The log to read; `-` is standard input.
    ///
    /// candump -L or -t (a, d, z, A; with -x or without), Vector ASC, Vector BLF, PEAK TRC, ASAM
    /// MF4, pcapng or pcap, also compressed by gzip or zstd. The format is recognized by the
    /// contents, not by the name.
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The file to write; its extension selects the format: .log (candump), .asc, .pcapng,
    /// .parquet.
    ///
    /// With .gz or .zst appended, as in .log.gz, it is compressed, except Parquet, which is
    /// compressed already. `-` is standard output.
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The format of IN: log, candump, candump-zero, candump-delta, asc, trc, pcapng, pcap, blf or
    /// mf4.
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) from: Option<From>,
    /// The format of OUT, if its name does not select it.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) to: Option<To>,
    /// Write nine digits of a second into a candump log; six are usual, and further digits are cut
    /// off.
    #[arg(long)]
    pub(crate) nanoseconds: bool,
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

What OUT's format cannot say is never left out in silence: a warning counts the frames and names the first.

Exit status: 0: every frame of IN is in OUT; 1: it could not be written; 2: the options or IN are wrong; 3: bad
lines or frames that OUT's format does not have were left out, and the rest was written; 4: standard output was
closed.";

fn format(name: &str) -> Result<From, String> {
    let found = From::NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names = From::NAMES.map(|(name, _)| name);
        let hint = config::did_you_mean(name, names);
        format!("no format that is read; {hint}")
    })
}
