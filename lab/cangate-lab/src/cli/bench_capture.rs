//! The options of `cangate lab bench-capture`.

use clap::Args;
use std::path::PathBuf;

/// Creates virtual interfaces, sends into them, and lets one recorder after the other record.
#[derive(Args, Debug)]
pub(crate) struct BenchCapture {
    /// Number of virtual interfaces; they are created, and removed at the end.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) interfaces: u32,
    /// Frames per second over all interfaces; can be given several times.
    #[arg(long, value_name = "RATE", default_values_t = [10_000], value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) rate: Vec<u32>,
    /// Frames of each trial.
    #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) frames: u32,
    /// Only these recorders: none, cangate-log, cangate-pcapng, cangate-parquet, candump, tcpdump.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) recorder: Vec<String>,
    /// The folder for the recorders' files; preferably not on a disk.
    #[arg(long, value_name = "DIR", default_value = "/tmp")]
    pub(crate) dir: PathBuf,
    /// Print JSON, one object for each trial.
    #[arg(long)]
    pub(crate) json: bool,
}
