//! The options of `cangate capture`.

use capture::CaptureTrigger;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use port::log::FileFormat;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Capture {
    /// The interfaces and character devices, each followed by filters in candump's syntax:
    /// can0,123:7FF,400~700.
    ///
    /// A character device is a path such as /dev/can0. `any` is every CAN interface, also those
    /// that appear later, and no character device.
    #[arg(value_name = "IFACE|DEVICE[,FILTER]…", required = true)]
    pub(crate) interfaces: Vec<String>,
    #[arg(
        short, long, value_name = "FILE", help = OUTPUT_HELP,
        long_help = output_help("An existing file of this name is kept: it gets a number (drive.000001.log).")
    )]
    pub(crate) out: PathBuf,
    /// The format, if the file's name does not select it.
    #[arg(long, value_name = "FORMAT", value_parser = written_format())]
    pub(crate) format: Option<FileFormat>,
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
    #[command(flatten, next_help_heading = "Which frames")]
    pub(crate) which: FrameChoice,
    #[command(flatten, next_help_heading = "Files and end")]
    pub(crate) files: FileOptions,
    #[command(flatten, next_help_heading = "Only around triggers")]
    pub(crate) keep: KeepOptions,
    #[command(flatten, next_help_heading = "Memory and output")]
    pub(crate) memory: MemoryOptions,
}

const EXAMPLES: &str = "\
Examples:
  Two buses, as candump writes them
      cangate capture can0 can1 --out drive.log
  All buses, for Wireshark, in compressed files of an hour, at most a day's
      cangate capture any --out drive.pcapng.zst --rotate 1h --files 24
  The minute before and ten seconds after each fault
      cangate capture can0 can1 --out fault.pcapng --keep 60s --after 10s \\
          --trigger error,7E8#037F,signal
  An interface and a character device, in the order in which the frames came
      cangate capture can0 /dev/can0 --out both.log
  Into Wireshark at once
      cangate capture can0 --out - --format pcapng | wireshark -k -i -

Text and pcapng are written at least once a second, Parquet every 10 seconds; what was written can be
read after a crash. Before that, frames wait in memory for at most 250 ms,
with interfaces and character devices together 400 ms. On standard output (`--out -`, not compressed),
a frame is written within 10 ms, with character devices 70 ms.

Exit status: 0: nothing was lost; 1: it could not be recorded; 2: the options are wrong; 3: frames
were lost, the summary states how many and where; 4: standard output was closed.";

pub(crate) const OUTPUT_HELP: &str = "The file to write; its extension selects the format";

/// Returns the help of a file that is written, with the extension of each format.
pub(crate) fn output_help(more: &str) -> String {
    let formats = FileFormat::written()
        .map(|format| format!("  {}: {}\n", format.endings().join(", "), format.help()));
    format!(
        "{OUTPUT_HELP}:\n\n{}\nWith .gz or .zst appended, as in .log.gz, it is compressed, except Parquet, \
         which is compressed already. `-` is standard output. {more}",
        formats.collect::<String>()
    )
}

/// Returns the parser of the name of a format that is written.
pub(crate) fn written_format() -> impl TypedValueParser<Value = FileFormat> {
    let names =
        FileFormat::written().map(|format| PossibleValue::new(format.name()).help(format.help()));
    // The list contains only names of formats.
    PossibleValuesParser::new(names).map(|name| FileFormat::named(&name).unwrap_or(FileFormat::Log))
}

#[derive(Args, Debug)]
pub(crate) struct FrameChoice {
    /// Record only frames with these IDs: 123, 200-2FF, 100:700, !123; can be given several times.
    ///
    /// A frame is recorded if it passes any of the filters. The kernel does the filtering.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(crate) filter: Vec<String>,
    /// Do not record the controllers' error frames.
    #[arg(long)]
    pub(crate) no_error_frames: bool,
    /// Distinguish received frames from those that this machine sent.
    ///
    /// Text lines end in R or T as candump -x writes them; in pcapng and Parquet the direction is
    /// stored with the frame. For interfaces it needs CAP_BPF, and memory of about the size of
    /// --ring; for character devices the driver reports it.
    #[arg(short = 'x', long)]
    pub(crate) direction: bool,
    /// Source of the time stamps.
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t = StampChoice::Kernel)]
    pub(crate) stamps: StampChoice,
}

/// Source of the time stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StampChoice {
    /// The kernel, when the driver hands over the frame; Unix time. Character devices have only
    /// this.
    Kernel,
    /// The controller if the driver supports it, with the controller's epoch; otherwise the kernel.
    Hardware,
}

#[derive(Args, Debug)]
pub(crate) struct FileOptions {
    /// Continue in a new file after this size or time, or both: 100M, 1h, 100M,1h.
    ///
    /// A complete file gets a number: drive.000001.log is the oldest.
    #[arg(long, value_name = "SIZE|TIME", value_parser = rotate)]
    pub(crate) rotate: Option<RotateOptions>,
    /// Keep at most this many complete files; older ones are removed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) files: Option<u32>,
    /// Stop after this many frames.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Stop after this time: 10s, 5min.
    #[arg(long, value_name = "TIME", value_parser = super::time::above_zero)]
    pub(crate) duration: Option<Duration>,
}

#[derive(Args, Debug)]
pub(crate) struct KeepOptions {
    /// Keep the frames of this time span in memory, and write them when a trigger comes.
    ///
    /// Each trigger begins a file with a number: fault.000001.log. A trigger that comes while a
    /// file is written extends that file.
    #[arg(long, value_name = "TIME", value_parser = super::time::above_zero, requires = "trigger", conflicts_with = "rotate")]
    pub(crate) keep: Option<Duration>,
    /// The triggers, separated by commas: IDs (123, 200-2FF), IDs with the start of the payload
    /// (7E8#037FX1, X is any digit), `error` (any error frame), `signal` (SIGUSR1).
    #[arg(long, value_name = "LIST", value_parser = TriggerOptions::read, requires = "keep")]
    pub(crate) trigger: Vec<TriggerOptions>,
    /// Also write the frames of this time span after a trigger.
    #[arg(long, value_name = "TIME", value_parser = super::time::above_zero, default_value = "1s", requires = "keep")]
    pub(crate) after: Duration,
    /// Bytes of memory for the frames before a trigger; the oldest frames are dropped first.
    #[arg(long, value_name = "SIZE", value_parser = super::time::size, default_value = "256MiB", requires = "keep")]
    pub(crate) memory: u64,
}

#[derive(Args, Debug)]
pub(crate) struct MemoryOptions {
    /// Bytes of the kernel's ring, from which frames are taken.
    #[arg(long, value_name = "SIZE", value_parser = super::time::size, default_value = "16MiB")]
    pub(crate) ring: u64,
    /// Bytes of memory for frames that wait for the file.
    #[arg(long, value_name = "SIZE", value_parser = super::time::size, default_value = "32MiB")]
    pub(crate) buffer: u64,
    /// Print the summary as JSON on standard output; on standard error if frames go to standard
    /// output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only errors and remarks: no rates and no summary.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The conditions for a new file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RotateOptions {
    pub(crate) size: Option<u64>,
    pub(crate) every: Option<Duration>,
}

/// Triggers that were given together.
#[derive(Clone, Debug)]
pub(crate) struct TriggerOptions(pub(crate) Vec<CaptureTrigger>);

impl TriggerOptions {
    fn read(text: &str) -> Result<Self, String> {
        CaptureTrigger::list(text)
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

fn rotate(text: &str) -> Result<RotateOptions, String> {
    let mut rotate = RotateOptions::default();
    for part in text.split(',').map(str::trim) {
        if let Ok(every) = super::time::above_zero(part) {
            rotate.every = Some(every);
        } else if let Ok(size) = super::time::size(part) {
            if size < 4096 {
                return Err(format!("`{part}`: give at least 4096 bytes"));
            }
            rotate.size = Some(size);
        } else {
            return Err(format!(
                "`{part}` is not a size or a time: write 100M, 1h, or 100M,1h"
            ));
        }
    }
    Ok(rotate)
}
