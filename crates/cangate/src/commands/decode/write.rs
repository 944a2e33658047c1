//! Writing of signals as text or CSV.

use crate::cli::decode::SignalFormat;
use port::log::LoggedFrame;
use signals::{MessageDefinition, RawValue, SignalState};
use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

/// The columns of CSV.
const COLUMNS: &str = "time,port,message,signal,raw,value,unit";

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// A writer to standard output.
pub(super) struct SignalWriter {
    out: BufWriter<StdoutLock<'static>>,
    format: SignalFormat,
    /// The lines of one frame.
    text: String,
    /// The columns of CSV that all signals of a frame share.
    start: String,
    /// Whether each frame is shown at once, because a user or a program may be waiting for it.
    is_live: bool,
    has_begun: bool,
}

impl SignalWriter {
    /// Returns a writer. `is_live` is for input that is still being produced.
    pub(super) fn new(format: SignalFormat, is_live: bool) -> Self {
        let out = io::stdout().lock();
        Self {
            is_live: is_live || out.is_terminal(),
            out: BufWriter::with_capacity(1 << 16, out),
            format,
            text: String::new(),
            start: String::new(),
            has_begun: false,
        }
    }

    /// Writes the signals of a frame; returns the number of signals that it is too short for.
    pub(super) fn write(
        &mut self,
        logged: &LoggedFrame,
        message: &MessageDefinition,
        payload: &[u8],
    ) -> io::Result<u64> {
        self.begin()?;
        // Writing to a string cannot fail.
        let too_short = match self.format {
            SignalFormat::Text => self.add_line(logged, message, payload),
            SignalFormat::Csv => self.add_rows(logged, message, payload),
        };
        let too_short = too_short.map_err(io::Error::other)?;
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        if self.is_live {
            self.out.flush()?;
        }
        Ok(too_short)
    }

    /// Writes the rest.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.begin()?;
        self.out.flush()
    }

    fn begin(&mut self) -> io::Result<()> {
        if !self.has_begun && self.format == SignalFormat::Csv {
            writeln!(self.out, "{COLUMNS}")?;
        }
        self.has_begun = true;
        Ok(())
    }

    /// Adds a line such as `(1.500000) can0 EngineData: Speed=12.5 km/h, Gear=Drive (3)`.
    fn add_line(
        &mut self,
        logged: &LoggedFrame,
        message: &MessageDefinition,
        payload: &[u8],
    ) -> Result<u64, fmt::Error> {
        let text = &mut self.text;
        let (seconds, micros) = (logged.ns / SECOND, logged.ns % SECOND / 1000);
        write!(
            text,
            "({seconds}.{micros:06}) {} {}",
            logged.interface, message.name
        )?;
        let (mut too_short, mut separator) = (0, ": ");
        for (index, signal) in message.signals.iter().enumerate() {
            let Some(raw) = value(message, index, payload, &mut too_short) else {
                continue;
            };
            text.push_str(separator);
            separator = ", ";
            text.push_str(&signal.name);
            text.push('=');
            match signal.name_of(raw) {
                Some(name) => {
                    add_plain(text, name);
                    write!(text, " ({raw})")?;
                }
                None => {
                    write!(text, "{}", signal.physical(raw))?;
                    if !signal.unit.is_empty() {
                        text.push(' ');
                        add_plain(text, &signal.unit);
                    }
                }
            }
        }
        text.push('\n');
        Ok(too_short)
    }

    /// Adds a row of CSV for each signal.
    fn add_rows(
        &mut self,
        logged: &LoggedFrame,
        message: &MessageDefinition,
        payload: &[u8],
    ) -> Result<u64, fmt::Error> {
        let (text, start) = (&mut self.text, &mut self.start);
        let (seconds, nanos) = (logged.ns / SECOND, logged.ns % SECOND);
        start.clear();
        write!(
            start,
            "{seconds}.{nanos:09},{},{},",
            logged.interface, message.name
        )?;
        let mut too_short = 0;
        for (index, signal) in message.signals.iter().enumerate() {
            let Some(raw) = value(message, index, payload, &mut too_short) else {
                continue;
            };
            text.push_str(start);
            text.push_str(&signal.name);
            write!(text, ",{raw},{},", signal.physical(raw))?;
            add_field(text, &signal.unit);
            text.push('\n');
        }
        Ok(too_short)
    }
}

/// Returns the raw value of a signal, if the frame contains it.
fn value(
    message: &MessageDefinition,
    index: usize,
    payload: &[u8],
    too_short: &mut u64,
) -> Option<RawValue> {
    match message.read(index, payload) {
        SignalState::Value(raw) => Some(raw),
        SignalState::Switched => None,
        SignalState::TooShort => {
            *too_short += 1;
            None
        }
    }
}

/// Adds text from a database without control characters, which would break the lines.
fn add_plain(text: &mut String, added: &str) {
    match added.chars().any(char::is_control) {
        true => text.push_str(&added.replace(char::is_control, " ")),
        false => text.push_str(added),
    }
}

/// Adds a field of CSV (RFC 4180).
fn add_field(text: &mut String, field: &str) {
    if field.contains([',', '"', '\n', '\r']) {
        text.push('"');
        text.push_str(&field.replace('"', "\"\""));
        text.push('"');
    } else {
        text.push_str(field);
    }
}
