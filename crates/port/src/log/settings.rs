//! `kind = "log"`: a candump log as source, sink or both.

use super::due::Replay;
use super::name::InterfaceName;
use super::sink::{LogSink, SinkConfig};
use super::source::{LogSource, SourceConfig};
use crate::kind::{PortKind, Settings, Stream};
use crate::{Halves, Nothing, Nowhere, Opener, Pace, PollReceive, PollTransmit, PortError};
use config::{Diagnostic, Diagnostics, Table};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// candump logs.
#[derive(Clone, Copy, Debug)]
pub struct Log;

impl PortKind for Log {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn parse(&self, _: &str, table: &mut Table<'_>, found: &mut Diagnostics) -> Arc<dyn Settings> {
        Arc::new(LogSettings::parse(table, found))
    }
}

const KEYWORD: &str = "log";

/// A candump log as source, sink or both.
#[derive(Clone, PartialEq, Debug)]
pub struct LogSettings {
    /// Where frames come from; at least one of `read` and `write` is there.
    pub read: Option<Stream>,
    /// Where frames go.
    pub write: Option<Stream>,
    /// Only lines of this interface are read; it is also what is written. By default all lines
    /// are read, and the port's name is written.
    pub interface: Option<String>,
    /// How fast frames are read.
    pub pace: Replay,
}

const PACES: [(&str, Replay); 2] = [("original", Replay::Original), ("fast", Replay::Fast)];

impl LogSettings {
    fn parse(table: &mut Table<'_>, found: &mut Diagnostics) -> Self {
        let read = stream(table, "read", found);
        let write = stream(table, "write", found);
        let (has_read, has_write) = (table.get("read"), table.get("write"));
        if has_read.is_none() && has_write.is_none() {
            let hint =
                "add `read = \"FILE\"`, `write = \"FILE\"` or both; \"-\" is stdin or stdout";
            table.missing("read` or `write", hint, found);
        }
        if let (Some(Stream::File(a)), Some(Stream::File(b)), Some(value)) =
            (&read, &write, &has_write)
            && a == b
        {
            let hint = "write to another file";
            value.wrong("this is the log that is read", hint, found);
        }
        let interface = table.string("interface", found);
        if let Some(name) = &interface
            && (name.value.is_empty() || name.value.contains(char::is_whitespace))
        {
            let message = "an interface in a log has a name without white space";
            found.push(Diagnostic::error(name.span.clone(), message));
        }
        let pace = pace(table, has_read.is_some(), found);
        Self {
            read,
            write,
            interface: interface.map(|i| i.value.to_owned()),
            pace,
        }
    }

    /// The interface that a log's lines name.
    fn interface_name(port: &str, name: &str) -> Result<InterfaceName, PortError> {
        InterfaceName::new(name).ok_or_else(|| PortError {
            port: port.to_owned(),
            what: format!(
                "\"{name}\" is too long for an interface in a log: at most {} bytes; give another \
                 name with `interface`",
                InterfaceName::MAX
            ),
            source: None,
        })
    }

    fn source(&self, port: &str, stream: &Stream, opener: &Opener) -> Result<LogSource, PortError> {
        let only = self.interface.as_deref();
        let config = SourceConfig {
            interface: only
                .map(|name| Self::interface_name(port, name))
                .transpose()?,
            replay: self.pace,
            strict: opener.is_strict(),
        };
        LogSource::open(port, path(stream), config)
    }

    fn sink(&self, port: &str, stream: &Stream, opener: &mut Opener) -> Result<LogSink, PortError> {
        let config = SinkConfig {
            interface: Self::interface_name(port, self.interface.as_deref().unwrap_or(port))?,
            epoch: opener.epoch(),
        };
        let path = path(stream);
        let Begun(begun) = opener.shared(Begun::default);
        let sink = if begun.contains(path) {
            LogSink::append(port, path, config)?
        } else {
            LogSink::create(port, path, config)?
        };
        begun.insert(path.to_owned());
        Ok(sink)
    }
}

/// Logs that were begun in this run: opened again after a reload, they are continued.
#[derive(Default)]
struct Begun(HashSet<PathBuf>);

impl Settings for LogSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let mut parts = Vec::new();
        if let Some(stream) = &self.read {
            let pace = match self.pace {
                Replay::Original => "with its own timing".to_owned(),
                Replay::Fast => "as fast as it is taken".to_owned(),
                Replay::Scaled(factor) => format!("{factor} times as fast as it was"),
            };
            parts.push(format!("reads {} {pace}", words(stream, "standard input")));
        }
        if let Some(stream) = &self.write {
            parts.push(format!("writes {}", words(stream, "standard output")));
        }
        if let Some(name) = &self.interface {
            parts.push(format!("interface {name}"));
        }
        format!("log, {}", parts.join(", "))
    }

    fn open(&self, port: &str, opener: &mut Opener) -> Result<Halves, PortError> {
        let rx: Box<dyn PollReceive> = match &self.read {
            None => Box::new(Nothing),
            Some(stream) => Box::new(self.source(port, stream, opener)?),
        };
        let tx: Box<dyn PollTransmit> = match &self.write {
            None => Box::new(Nowhere),
            Some(stream) => Box::new(self.sink(port, stream, opener)?),
        };
        Ok((rx, tx))
    }

    fn reads(&self) -> Option<&Stream> {
        self.read.as_ref()
    }

    fn writes(&self) -> Option<&Stream> {
        self.write.as_ref()
    }

    fn input_ends(&self) -> bool {
        self.read.is_some()
    }
}

fn path(stream: &Stream) -> &Path {
    match stream {
        Stream::Standard => Path::new("-"),
        Stream::File(path) => path,
    }
}

fn words(stream: &Stream, standard: &str) -> String {
    match stream {
        Stream::Standard => standard.to_owned(),
        Stream::File(path) => path.display().to_string(),
    }
}

fn stream(table: &mut Table<'_>, key: &'static str, found: &mut Diagnostics) -> Option<Stream> {
    let text = table.string(key, found)?;
    if text.value.is_empty() || text.value.contains('\0') {
        let hint = "name a file, or \"-\" for stdin or stdout";
        found.push(Diagnostic::error(text.span, format!("`{key}` names no file")).hint(hint));
        return None;
    }
    Some(match text.value {
        "-" => Stream::Standard,
        path => Stream::File(PathBuf::from(path)),
    })
}

fn pace(table: &mut Table<'_>, reads: bool, found: &mut Diagnostics) -> Replay {
    let Some(value) = table.get("pace") else {
        return Replay::default();
    };
    if !reads {
        let message = "`pace` says how fast a log is read, and nothing is read here";
        found.push(Diagnostic::warning(value.span(), message).hint("leave it out"));
    }
    if value.as_str().is_some() {
        return value
            .one_of(&PACES, found)
            .map_or(Replay::Original, |p| p.value);
    }
    match value.number(found) {
        Some(n) if Pace::SPEEDS.contains(&n.value) => Replay::Scaled(n.value),
        Some(_) => {
            let hint = "2.0 is twice as fast, 0.5 half as fast, \"fast\" does not wait at all";
            value.wrong("a pace is from 0.000001 to 1000000", hint, found);
            Replay::Original
        }
        None => Replay::Original,
    }
}
