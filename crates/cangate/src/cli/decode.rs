//! The options of `cangate decode`.

use clap::{Args, ValueEnum};
use port::log::{FileFormat, InterfaceName};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Decode {
    /// The logs to read, one after the other; `-` is standard input.
    ///
    /// The formats are those of `cangate convert`.
    #[arg(value_name = "LOG", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The database of the messages, a DBC or SYM file; `IFACE=FILE` is for one interface of the
    /// log.
    ///
    /// Builds with the features `kcd` and `arxml` read these formats, too.
    #[arg(short, long = "database", value_name = "[IFACE=]FILE", required = true)]
    pub(crate) databases: Vec<DatabaseChoice>,
    #[arg(long, value_name = "FORMAT", value_parser = super::convert::format, help = super::convert::from_help("LOG"))]
    pub(crate) from: Option<FileFormat>,
    /// Stop at the first bad line, at the first frame whose ID is not in the database, and at the
    /// first frame that is too short for a signal.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten, next_help_heading = "Which signals")]
    pub(crate) which: SignalChoice,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) output: OutputChoice,
}

/// The messages and signals that are written: those that all given options name.
#[derive(Args, Debug)]
pub(crate) struct SignalChoice {
    /// Only these messages; can be given several times.
    #[arg(long, value_name = "MESSAGE,…", value_delimiter = ',')]
    pub(crate) messages: Vec<String>,
    /// Only these signals, of one message or of all that have one of this name; can be given
    /// several times.
    #[arg(long, value_name = "[MESSAGE.]SIGNAL,…", value_delimiter = ',')]
    pub(crate) signals: Vec<String>,
}

/// The output of decoded signals.
#[derive(Args, Debug)]
pub(crate) struct OutputChoice {
    /// The format of the output.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = SignalFormat::Text)]
    pub(crate) format: SignalFormat,
    /// The folder of the dataset that `--format parquet` writes; it is created if it is missing.
    #[arg(short, long, value_name = "DIR", required_if_eq("format", "parquet"))]
    pub(crate) out: Option<PathBuf>,
    /// Add files to a dataset that exists.
    #[arg(long, requires = "out")]
    pub(crate) append: bool,
}

/// The format of decoded signals.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SignalFormat {
    /// A line for each frame: its message, and the signals with names of values and units.
    Text,
    /// A line for each signal: time,port,message,signal,raw,value,unit.
    Csv,
    /// A dataset for DuckDB, pandas and Spark: files in DIR/day=…/message=…, a row for each signal.
    Parquet,
}

/// A database, and the interface whose frames it describes; all interfaces without one.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseChoice {
    pub(crate) interface: Option<InterfaceName>,
    pub(crate) file: PathBuf,
}

impl std::str::FromStr for DatabaseChoice {
    type Err = String;

    /// Parses `FILE` or `IFACE=FILE`. A path with `=` in it needs a `/` before that.
    fn from_str(text: &str) -> Result<Self, String> {
        let split = text.split_once('=').filter(|(name, _)| !name.contains('/'));
        let (interface, file) = match split {
            Some((name, file)) => {
                let interface = InterfaceName::new(name);
                let interface =
                    interface.ok_or_else(|| format!("`{name}` is not the name of an interface"))?;
                (Some(interface), file)
            }
            None => (None, text),
        };
        Ok(Self {
            interface,
            file: file.into(),
        })
    }
}

const EXAMPLES: &str = "\
Examples:
  The signals of a drive
      cangate decode drive.asc --database body.dbc
  Two buses, as a table
      cangate decode drive.pcapng --database can0=body.dbc --database can1=engine.dbc --format csv > drive.csv
  Two signals, live
      candump -L can0 | cangate decode - --database body.dbc --signals Speed,Gear
  The drives of a week, as a dataset for DuckDB, pandas or Spark
      cangate decode week/*.blf --database body.dbc --format parquet --out archive
      duckdb -c \"SELECT day, max(value) FROM 'archive/*/*/*.parquet' WHERE signal = 'Speed' GROUP BY day\"

The value of a signal is exactly raw * factor + offset, as the database writes these numbers. Of a
multiplexed signal, there is a value only in frames whose switch selects it. A signal that a frame is
too short for has none; a warning counts them, and frames whose ID is not in the database.

A dataset gets its files when all logs are read: a run that fails, or is interrupted while it reads
files, adds nothing. Of standard input, it adds what was read.

Exit status: 0: all of the log was read; 1: the dataset could not be written; 2: the options, LOG or a database are
wrong, or --strict stopped; 3: bad lines were left out, and the rest was decoded; 4: standard output was closed.";
