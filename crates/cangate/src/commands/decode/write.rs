//! Writing of signals as text or CSV.

use crate::cli::decode::SignalFormat;
use port::log::LoggedFrame;
use signals::{MessageDefinition, RawValue, SignalDefinition, SignalState};
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

/// The columns of CSV.
const COLUMNS: &str = "time,port,message,signal,raw,value,unit";

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// A writer to standard output.
pub(super) struct SignalWriter {
    out: BufWriter<StdoutLock<'static>>,
    format: SignalFormat,
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
        let time = logged.ns;
        let (seconds, nanos) = (time / SECOND, time % SECOND);
        let port = logged.interface;
        if self.format == SignalFormat::Text {
            write!(
                self.out,
                "({seconds}.{:06}) {port} {}",
                nanos / 1000,
                message.name
            )?;
        }
        let mut too_short = 0;
        for (index, signal) in message.signals.iter().enumerate() {
            let raw = match message.read(index, payload) {
                SignalState::Value(raw) => raw,
                SignalState::Switched => continue,
                SignalState::TooShort => {
                    too_short += 1;
                    continue;
                }
            };
            match self.format {
                SignalFormat::Text => self.write_words(signal, raw)?,
                SignalFormat::Csv => {
                    write!(self.out, "{seconds}.{nanos:09},{port},{},", message.name)?;
                    write!(self.out, "{},{raw},{},", signal.name, signal.physical(raw))?;
                    self.write_field(&signal.unit)?;
                    self.out.write_all(b"\n")?;
                }
            }
        }
        if self.format == SignalFormat::Text {
            self.out.write_all(b"\n")?;
        }
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

    /// Writes a signal as `Speed=12.5km/h` or `Gear=Drive(3)`.
    fn write_words(&mut self, signal: &SignalDefinition, raw: RawValue) -> io::Result<()> {
        write!(self.out, " {}=", signal.name)?;
        match signal.name_of(raw) {
            Some(name) => {
                self.write_plain(name)?;
                write!(self.out, "({raw})")
            }
            None => {
                write!(self.out, "{}", signal.physical(raw))?;
                self.write_plain(&signal.unit)
            }
        }
    }

    /// Writes text from a database without line breaks, which would break the lines.
    fn write_plain(&mut self, text: &str) -> io::Result<()> {
        if text.chars().any(char::is_control) {
            let plain = text.replace(char::is_control, " ");
            return self.out.write_all(plain.as_bytes());
        }
        self.out.write_all(text.as_bytes())
    }

    /// Writes a field of CSV (RFC 4180).
    fn write_field(&mut self, text: &str) -> io::Result<()> {
        if text.contains([',', '"', '\n', '\r']) {
            let quoted = text.replace('"', "\"\"");
            return write!(self.out, "\"{quoted}\"");
        }
        self.out.write_all(text.as_bytes())
    }
}
