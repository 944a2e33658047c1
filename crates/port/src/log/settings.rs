//! `kind = "log"`: a log as source, sink or both.

use super::due::ReplaySpeed;
use super::origin::{OriginClose, OriginSet, TimeOrigin};
use super::rotation::RotationRule;
use super::sink::{LogSink, SinkConfig};
use super::source::LogSource;
use super::source_config::{OnFull, SourceConfig};
use super::target::{self, BegunFiles, FileBegin, OpenMode};
use super::write;
use crate::kind::{FileOrStream, PortKind, PortSettings};
use crate::{
    Halves, NullReceiver, NullTransmitter, PollReceive, PollTransmit, PortError, PortOpener,
    SourcePace,
};
use config::{Diagnostic, Diagnostics, KeyMisnomer, KeySpec, TomlTable, ValueShape};
use frame::{FrameBuf, Nanos};
use logs::{FileFormat, InterfaceName, LogError, LogReader};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The kind of ports that read or write logs.
#[derive(Clone, Copy, Debug)]
pub struct LogPorts;

impl PortKind for LogPorts {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn keys(&self) -> Option<Vec<KeySpec>> {
        let file = "A file, or \"-\" for standard input or output.";
        Some(vec![
            KeySpec::new("read", ValueShape::Text, file),
            KeySpec::new("write", ValueShape::Text, file),
            KeySpec::new(
                "interface",
                ValueShape::Text,
                "Only its lines are read, and written lines have this name.",
            ),
            KeySpec::new(
                "pace",
                ValueShape::Any(vec![
                    ValueShape::words(&PACES),
                    ValueShape::Number(SourcePace::SPEEDS),
                ]),
                "How fast the log is read: \"original\", \"fast\", or a factor.",
            ),
            KeySpec::new(
                "format",
                ValueShape::words(&FileFormat::NAMES),
                "The format of what is read, where its beginning does not say it.",
            ),
            KeySpec::new(
                "on_full",
                ValueShape::words(&ON_FULL),
                "What happens to frames that are read while a destination's queue is full.",
            ),
            KeySpec::new(
                "origin",
                ValueShape::words(&ORIGINS),
                "Where its time begins: with that of other logs of the same time, or its own.",
            ),
            KeySpec::new(
                "append",
                ValueShape::Flag,
                "The file that is written is continued where an earlier run ended.",
            ),
            write::key(),
        ])
    }

    fn parse(
        &self,
        _: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        Arc::new(LogSettings::parse(table, found))
    }
}

const KEYWORD: &str = "log";

/// The settings of a log as source, sink or both.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogSettings {
    /// Stream that frames are read from; at least one of `read` and `write` is present.
    pub read: Option<FileOrStream>,
    /// Format of the stream that is read; `None`: it is recognised from its beginning.
    pub format: Option<FileFormat>,
    /// Stream that frames are written to.
    pub write: Option<FileOrStream>,
    /// Interface whose lines are read; it is also the interface in lines that are written. By
    /// default all lines are read, and the port's name is written.
    pub interface: Option<String>,
    /// Speed at which frames are read.
    pub pace: ReplaySpeed,
    /// Treatment of frames that are read while a destination has no room.
    pub on_full: OnFull,
    /// Whether time begins with the port's own first frame, even if other logs are of the same
    /// time.
    pub own_origin: bool,
    /// Whether the content of the file that is written stays, and the log is appended to it.
    pub append: bool,
    /// Rules for when the log continues in another file; never where absent.
    pub rotate: Option<RotationRule>,
}

const ON_FULL: [(&str, OnFull); 2] = [("wait", OnFull::Wait), ("refuse", OnFull::Refuse)];

const ORIGINS: [(&str, bool); 2] = [("shared", false), ("own", true)];

/// Maximum number of lines or blocks that are read to find the first frame of a log.
const MOST_BEFORE: usize = 10_000;

const PACES: [(&str, ReplaySpeed); 2] = [
    ("original", ReplaySpeed::Original),
    ("fast", ReplaySpeed::Fast),
];

/// Names of these settings in other tools.
const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of(
        "read",
        &[
            "file", "path", "input", "in", "source", "replay", "filename",
        ],
    )
    .hint("To write a log: `write = \"FILE\"`"),
    KeyMisnomer::of("write", &["output", "out", "destination", "record"]),
    KeyMisnomer::of("interface", &["channel", "device", "dev", "iface"]),
    KeyMisnomer::of("pace", &["speed", "timing", "realtime", "real_time"])
        .hint("It is \"original\" or \"fast\""),
];

impl LogSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        table.misnomers(MISNOMERS);
        let read = stream(table, "read", found);
        let write = stream(table, "write", found);
        let (has_read, has_write) = (table.get("read"), table.get("write"));
        let misnamed = table.is_misnamed("read") || table.is_misnamed("write");
        if has_read.is_none() && has_write.is_none() && !misnamed {
            let hint =
                "add `read = \"FILE\"`, `write = \"FILE\"` or both; \"-\" is stdin or stdout";
            table.missing("read` or `write", hint, found);
        }
        if let (Some(FileOrStream::File(a)), Some(FileOrStream::File(b)), Some(value)) =
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
        if let Some(value) = table.get("format")
            && has_read.is_none()
        {
            let message = "`format` is about a log that is read, and nothing is read here";
            let hint = "leave it out: what is written is as candump -L writes it";
            found.push(Diagnostic::warning(value.span(), message).hint(hint));
        }
        let format = table.one_of("format", &FileFormat::NAMES, found);
        if let Some(value) = table.get("on_full")
            && has_read.is_none()
        {
            let message = "`on_full` is about frames that are read, and nothing is read here";
            found.push(Diagnostic::warning(value.span(), message).hint("leave it out"));
        }
        let on_full = table.one_of("on_full", &ON_FULL, found);
        if let Some(value) = table.get("origin")
            && has_read.is_none()
        {
            let message = "`origin` is about a log that is read, and nothing is read here";
            found.push(Diagnostic::warning(value.span(), message).hint("leave it out"));
        }
        let own_origin = table.one_of("origin", &ORIGINS, found);
        // An error in `write` has been reported already.
        let written =
            has_write.map(|_| write.clone().unwrap_or(FileOrStream::File(PathBuf::new())));
        Self {
            read,
            interface: interface.map(|i| i.value.to_owned()),
            pace,
            format: format.map(|format| format.value),
            on_full: on_full.map(|on_full| on_full.value).unwrap_or_default(),
            own_origin: own_origin.is_some_and(|own| own.value),
            append: write::append(table, written.as_ref(), found),
            rotate: write::rotate(table, written.as_ref(), found),
            write,
        }
    }

    /// Returns the interface's name for the lines of a log.
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

    fn source(
        &self,
        port: &str,
        stream: &FileOrStream,
        opener: &mut PortOpener,
    ) -> Result<LogSource, PortError> {
        let only = self.interface.as_deref();
        let config = SourceConfig {
            format: self.format,
            interface: only
                .map(|name| Self::interface_name(port, name))
                .transpose()?,
            replay: self.pace,
            strict: opener.is_strict(),
            on_full: self.on_full,
        };
        let source = LogSource::open(port, path(stream), config)?;
        let (origin, first) = self.origin(stream, opener).unzip();
        Ok(source.with_origin(origin, first.unwrap_or(0)))
    }

    /// Returns the origin of a file's time, and the stamp of its first frame.
    fn origin(
        &self,
        stream: &FileOrStream,
        opener: &mut PortOpener,
    ) -> Option<(Arc<TimeOrigin>, Nanos)> {
        let FileOrStream::File(path) = stream else {
            return None;
        };
        if self.own_origin || self.pace == ReplaySpeed::Fast {
            return None;
        }
        // Only a regular file, which opens without waiting: a named pipe has no first frame yet.
        let meta = std::fs::metadata(path)
            .ok()
            .filter(std::fs::Metadata::is_file)?;
        let file = File::open(path).ok()?;
        let first = first_stamp(LogReader::new(file, "").of(self.format))?;
        let origins = opener.shared(OriginSet::default).clone();
        opener.at_start(OriginClose(origins.clone()));
        Some((origins.join(&meta, first), first))
    }

    fn sink(
        &self,
        port: &str,
        stream: &FileOrStream,
        opener: &mut PortOpener,
    ) -> Result<LogSink, PortError> {
        let config = SinkConfig {
            interface: Self::interface_name(port, self.interface.as_deref().unwrap_or(port))?,
            epoch: opener.epoch(),
        };
        let path = path(stream);
        let begun = opener.shared(BegunFiles::default).clone();
        let how = OpenMode {
            append: self.append,
            continued: begun.contains(path),
            rotate: self.rotate,
        };
        let (output, fresh) = target::open(path, how)
            .map_err(|source| target::failed(port, "write to", path, source))?;
        opener.at_start(FileBegin {
            port: port.to_owned(),
            path: path.to_owned(),
            fresh,
            begun,
        });
        Ok(LogSink::new(port, target::name(path), output, config))
    }
}

impl PortSettings for LogSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let mut parts = Vec::new();
        if let Some(stream) = &self.read {
            let pace = match self.pace {
                ReplaySpeed::Original => "with its own timing".to_owned(),
                ReplaySpeed::Fast => "as fast as it is taken".to_owned(),
                ReplaySpeed::Scaled(factor) => format!("{factor} times as fast as it was"),
            };
            let full = match self.on_full {
                OnFull::Wait => "",
                OnFull::Refuse => ", without waiting for destinations",
            };
            let format = self.format.map(|format| format!(" as {format}"));
            parts.push(format!(
                "reads {}{} {pace}{full}",
                words(stream, "standard input"),
                format.unwrap_or_default()
            ));
        }
        if let Some(stream) = &self.write {
            let how = write::describe(self.append, self.rotate);
            parts.push(format!("writes {}{how}", words(stream, "standard output")));
        }
        if let Some(name) = &self.interface {
            parts.push(format!("interface {name}"));
        }
        format!("log, {}", parts.join(", "))
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let rx: Box<dyn PollReceive> = match &self.read {
            None => Box::new(NullReceiver),
            Some(stream) => Box::new(self.source(port, stream, opener)?),
        };
        let tx: Box<dyn PollTransmit> = match &self.write {
            None => Box::new(NullTransmitter),
            Some(stream) => Box::new(self.sink(port, stream, opener)?),
        };
        Ok((rx, tx))
    }

    fn reads(&self) -> Option<&FileOrStream> {
        self.read.as_ref()
    }

    fn writes(&self) -> Option<&FileOrStream> {
        self.write.as_ref()
    }

    fn input_ends(&self) -> bool {
        self.read.is_some()
    }
}

/// Returns the stamp of the first frame, of any interface.
fn first_stamp(mut reader: LogReader<File>) -> Option<Nanos> {
    let mut frame = FrameBuf::new();
    for _ in 0..MOST_BEFORE {
        match reader.read(&mut frame) {
            Ok(logged) => return logged.map(|logged| logged.ns),
            Err(LogError::Bad { .. }) => {}
            Err(_) => return None,
        }
    }
    None
}

fn path(stream: &FileOrStream) -> &Path {
    match stream {
        FileOrStream::Standard => Path::new("-"),
        FileOrStream::File(path) => path,
    }
}

fn words(stream: &FileOrStream, standard: &str) -> String {
    match stream {
        FileOrStream::Standard => standard.to_owned(),
        FileOrStream::File(path) => path.display().to_string(),
    }
}

fn stream(
    table: &mut TomlTable<'_>,
    key: &'static str,
    found: &mut Diagnostics,
) -> Option<FileOrStream> {
    let text = table.string(key, found)?;
    if text.value.is_empty() || text.value.contains('\0') {
        let hint = "name a file, or \"-\" for stdin or stdout";
        found.push(Diagnostic::error(text.span, format!("`{key}` names no file")).hint(hint));
        return None;
    }
    Some(match text.value {
        "-" => FileOrStream::Standard,
        path => FileOrStream::File(PathBuf::from(path)),
    })
}

fn pace(table: &mut TomlTable<'_>, reads: bool, found: &mut Diagnostics) -> ReplaySpeed {
    let Some(value) = table.get("pace") else {
        return ReplaySpeed::default();
    };
    if !reads {
        let message = "`pace` says how fast a log is read, and nothing is read here";
        found.push(Diagnostic::warning(value.span(), message).hint("leave it out"));
    }
    if value.as_str().is_some() {
        return value
            .one_of(&PACES, found)
            .map_or(ReplaySpeed::Original, |p| p.value);
    }
    match value.number(found) {
        Some(n) if SourcePace::SPEEDS.contains(&n.value) => ReplaySpeed::Scaled(n.value),
        Some(_) => {
            let hint = "2.0 is twice as fast, 0.5 half as fast, \"fast\" does not wait at all";
            value.wrong("a pace is from 0.000001 to 1000000", hint, found);
            ReplaySpeed::Original
        }
        None => ReplaySpeed::Original,
    }
}
