//! The options of `cangate decode`.

use clap::{Args, ValueEnum};
use port::log::{FileFormat, InterfaceName};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Decode {
    /// The log to read; `-` is standard input.
    ///
    /// The formats are those of `cangate convert`.
    #[arg(value_name = "LOG")]
    pub(crate) input: PathBuf,
    /// The database of the messages, a DBC or SYM file; `IFACE=FILE` is for one interface.
    ///
    /// Builds with the features `kcd` and `arxml` read these formats, too.
    #[arg(short, long = "database", value_name = "[IFACE=]FILE", required = true)]
    pub(crate) databases: Vec<DatabaseChoice>,
    /// The format of the output.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = SignalFormat::Text)]
    pub(crate) format: SignalFormat,
    #[arg(long, value_name = "FORMAT", value_parser = super::convert::format, help = super::convert::from_help("LOG"))]
    pub(crate) from: Option<FileFormat>,
}

/// The format of decoded signals.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SignalFormat {
    /// A line for each frame: its message, and the signals with names of values and units.
    Text,
    /// A line for each signal: time,port,message,signal,raw,value,unit.
    Csv,
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
  Live
      candump -L can0 | cangate decode - --database body.dbc

The value of a signal is exactly raw * factor + offset, as the database writes these numbers. Of a
multiplexed signal, there is a value only in frames whose switch selects it. A signal that a frame is
too short for has none; a warning counts them, and frames whose ID is not in the database.

Exit status: 0: the whole log was read; 2: the options, LOG or a database are wrong; 3: bad lines were left out,
and the rest was decoded; 4: standard output was closed.";
