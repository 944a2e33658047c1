//! `kind = "log"`: a log as source, sink or both.

use super::due::ReplaySpeed;
use super::origin::{OriginClose, OriginSet, TimeOrigin};
use super::rotation::RotationRule;
use super::rounds::{LogRounds, LogSpan, RoundPlan, rounds};
use super::sink::{LogSink, SinkConfig};
use super::source::LogSource;
use super::source_config::{OnFull, SourceConfig};
use super::target::{self, BegunFiles, FileBegin, OpenMode};
use crate::kind::{FileOrStream, PortSettings, port_kind};
use crate::{
    Halves, NullReceiver, NullTransmitter, PollReceive, PollTransmit, PortError, PortOpener,
    SimulatedPlace, SourcePace, StandIn,
};
use config::read::{self, by};
use config::{Diagnostic, Diagnostics, TomlTable, TomlValue, ValueShape};
use frame::{FrameBuf, Nanos};
use logs::{FileFormat, InterfaceName, LogError, LogReader};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

port_kind! {
    /// The kind of ports that read or write logs.
    LogPorts = "log", LogSettings::key_specs(), |_, table, found| LogSettings::parse(table, found);
}

config::settings! {
    /// The settings of a log as source, sink or both.
    #[derive(Clone, PartialEq, Debug)]
    pub struct LogSettings {
        /// Where frames come from. `-` is standard input.
        ///
        /// At least one of `read` and `write` is present.
        pub read: Option<FileOrStream> = None => stream(),
            value "file, `\"-\"`", default "none",
            not "file" "path" "input" "in" "source" "replay" "filename"
                => "To write a log: `write = \"FILE\"`";
        /// Where frames go. `-` is standard output. A successful start empties the file, and a
        /// reload continues it. A start that fails changes no file.
        pub write: Option<FileOrStream> = None => stream(),
            value "file, `\"-\"`", default "none",
            not "output" "out" "destination" "record";
        /// Frames are added to the file of an earlier run. If its last line is incomplete, the
        /// first new frame begins a new line.
        pub append: bool = false => read::boolean();
        /// The rule for starting a new file; see below.
        pub rotate: Option<RotationRule> = None
            => read::table(RotationRule::key_specs, RotationRule::parse), default "none";
        /// The format of the file in `read`, from [the list](files.md#log-files).
        pub format: Option<FileFormat> = None => read::words(&FileFormat::NAMES),
            default "by the log's beginning";
        /// Only lines of this interface are read. Written lines have this name, or the port's name
        /// by default.
        pub interface: Option<String> = None => by(|| ValueShape::Text, interface),
            value "name", default "all lines", not "channel" "device" "dev" "iface";
        /// How fast the log is read: in its own time, as fast as possible, or at a multiple
        /// (0.000001 to 1000000) of its own speed.
        pub pace: ReplaySpeed = ReplaySpeed::Original => by(paces, pace),
            value "`\"original\"`, `\"fast\"`, factor", default "`\"original\"`",
            not "speed" "timing" "realtime" "real_time" => "It is \"original\" or \"fast\"";
        /// How often the file is replayed: a number, or `"endless"`. Stamps go on from round to
        /// round.
        pub repeat: LogRounds = LogRounds::Number(1) => rounds(),
            value "from 1, `\"endless\"`", default "1", not "loop" "loops" "rounds" "times" "count";
        /// With `repeat`: the time from the last frame of a round to the first frame of the next
        /// one, in the log's time.
        pub pause: Option<Nanos> = None => read::duration(), default "none", not "gap" "delay";
        /// What happens when the queue of a destination is full. `"wait"`: the log waits, so no
        /// frame is refused; frames that are late for this reason follow as fast as possible, and
        /// the summary reports how late they were. `"refuse"`: the log keeps its own time, and
        /// frames without room are refused and counted.
        pub on_full: OnFull = OnFull::Wait => read::words(&ON_FULL), default "`\"wait\"`";
        /// When the replay begins: together with other logs of the same clock, or with this port's
        /// first frame; see below.
        pub origin: LogOrigin = LogOrigin::Shared => read::words(&ORIGINS), default "`\"shared\"`";
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        Self::defaults()
    }
}

/// The beginning of a log's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogOrigin {
    /// The earliest first frame of the logs that are of the same time.
    Shared,
    /// The port's own first frame.
    Own,
}

const ON_FULL: [(&str, OnFull); 2] = [("wait", OnFull::Wait), ("refuse", OnFull::Refuse)];

const ORIGINS: [(&str, LogOrigin); 2] = [("shared", LogOrigin::Shared), ("own", LogOrigin::Own)];

/// Maximum number of lines or blocks that are read to find the first frame of a log.
const MAX_BEFORE: usize = 10_000;

const PACES: [(&str, ReplaySpeed); 2] = [
    ("original", ReplaySpeed::Original),
    ("fast", ReplaySpeed::Fast),
];

impl LogSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let mut settings = Self::read(table, found);
        let (reads, writes) = (table.has("read"), table.has("write"));
        let misnamed = table.is_misnamed("read") || table.is_misnamed("write");
        if !reads && !writes && !misnamed {
            let hint =
                "add `read = \"FILE\"`, `write = \"FILE\"` or both; \"-\" is stdin or stdout";
            table.missing("read` or `write", hint, found);
        }
        if settings.write == settings.read && matches!(settings.read, Some(FileOrStream::File(_))) {
            let message = "this is the log that is read";
            table.wrong("write", message, "write to another file", found);
        }
        for (key, about) in [
            ("pace", "`pace` is the speed at which a log is read"),
            ("format", "`format` is for a log that is read"),
            ("on_full", "`on_full` is for a log that is read"),
            ("origin", "`origin` is for a log that is read"),
            ("repeat", "`repeat` is for a log that is read"),
        ] {
            if !reads && let Some(value) = table.get(key) {
                let message = format!("{about}, and nothing is read here");
                found.push(Diagnostic::warning(value.span(), message).hint("leave it out"));
            }
        }
        if settings.repeat.has_more(1) && settings.read == Some(FileOrStream::Standard) {
            let hint = "name a file with `read`, or leave it out";
            table.wrong("repeat", "standard input cannot be read again", hint, found);
        }
        if settings.pause.is_some() && !table.has("repeat") {
            let hint = "add `repeat = \"endless\"` or a number, or leave it out";
            table.wrong(
                "pause",
                "`pause` is the time between two rounds",
                hint,
                found,
            );
        }
        let file = match &settings.write {
            Some(FileOrStream::Standard) => {
                Some("this is for a file, and standard output is not a file")
            }
            None if !writes => Some("this is for a log that is written, and this port writes none"),
            // An error in `write` has been reported already.
            Some(FileOrStream::File(_)) | None => None,
        };
        for key in ["append", "rotate"] {
            if let Some(message) = file.filter(|_| table.has(key)) {
                let hint = "leave it out, or name a file with `write`";
                table.wrong(key, message, hint, found);
            }
        }
        settings.append &= file.is_none();
        settings
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
        let source = source.with_origin(origin, first.unwrap_or(0));
        Ok(match self.plan(port, stream)? {
            Some(plan) => source.repeating(plan),
            None => source,
        })
    }

    /// Returns the rounds of a log that is repeated.
    fn plan(&self, port: &str, stream: &FileOrStream) -> Result<Option<RoundPlan>, PortError> {
        let rounds = self.repeat;
        if !rounds.has_more(1) {
            return Ok(None);
        }
        let path = path(stream);
        let wrong = |what: String| PortError {
            port: port.to_owned(),
            what,
            source: None,
        };
        let is_file = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
        if !is_file {
            let path = path.display();
            return Err(wrong(format!(
                "{path} is not a file, so it cannot be read again: leave `repeat` out"
            )));
        }
        let span = LogSpan::read(path, self.format).map_err(|error| PortError {
            port: port.to_owned(),
            what: "the log cannot be repeated".to_owned(),
            source: Some(error.into()),
        })?;
        // A log without frames has no rounds.
        Ok(span.map(|span| RoundPlan {
            rounds,
            pause: self.pause.unwrap_or(0),
            span,
        }))
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
        if self.origin == LogOrigin::Own || self.pace == ReplaySpeed::Fast {
            return None;
        }
        // Only a regular file, which opens without waiting: a named pipe has no first frame yet.
        let meta = std::fs::metadata(path)
            .ok()
            .filter(std::fs::Metadata::is_file)?;
        let file = File::open(path).ok()?;
        let first = first_stamp(LogReader::new(file, "").with_format(self.format))?;
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
                ReplaySpeed::Fast => "as fast as possible".to_owned(),
                ReplaySpeed::Scaled(factor) => format!("at {factor} times its own speed"),
            };
            let full = match self.on_full {
                OnFull::Wait => "",
                OnFull::Refuse => ", without waiting for destinations",
            };
            let format = self.format.map(|format| format!(" as {format}"));
            let repeat = match self.repeat {
                LogRounds::Number(1) => String::new(),
                LogRounds::Number(rounds) => format!(", {rounds} times"),
                LogRounds::Endless => ", again and again".to_owned(),
            };
            parts.push(format!(
                "reads {}{} {pace}{repeat}{full}",
                words(stream, "standard input"),
                format.unwrap_or_default()
            ));
        }
        if let Some(stream) = &self.write {
            let how = self.rotate.map(RotationRule::describe).unwrap_or_default();
            let how = format!(
                "{}{how}",
                if self.append {
                    " after its present content"
                } else {
                    ""
                }
            );
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
        self.read.is_some() && self.repeat != LogRounds::Endless
    }

    /// A log that is read stays. One that is written goes to the folder of the simulation: a test
    /// does not change the files of the deployed gateway.
    fn stand_in(&self, place: SimulatedPlace<'_>) -> StandIn {
        if !matches!(self.write, Some(FileOrStream::File(_))) {
            return StandIn::Itself;
        }
        let file = match place.out {
            Some(folder) => folder.join(format!("{}.log", place.port)),
            None => PathBuf::from("/dev/null"),
        };
        StandIn::Settings(Arc::new(Self {
            write: Some(FileOrStream::File(file)),
            append: false,
            rotate: None,
            ..self.clone()
        }))
    }
}

/// Returns the stamp of the first frame, of any interface.
fn first_stamp(mut reader: LogReader<File>) -> Option<Nanos> {
    let mut frame = FrameBuf::new();
    for _ in 0..MAX_BEFORE {
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

/// A file, or `-`.
fn stream<'t>() -> impl read::ReadKey<'t, Value = FileOrStream> {
    let read = |value: &TomlValue<'t>, found: &mut Diagnostics| {
        let text = value.string(found)?.value;
        if text.is_empty() || text.contains('\0') {
            let hint = "name a file, or \"-\" for stdin or stdout";
            value.wrong(format!("`{}` names no file", value.name()), hint, found);
            return None;
        }
        Some(match text {
            "-" => FileOrStream::Standard,
            path => FileOrStream::File(PathBuf::from(path)),
        })
    };
    by(|| ValueShape::Text, read)
}

fn interface(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let name = value.string(found)?.value;
    if name.is_empty() || name.contains(char::is_whitespace) {
        value.wrong(
            "the name of an interface in a log has no white space",
            "",
            found,
        );
        return None;
    }
    Some(name.to_owned())
}

fn paces() -> ValueShape {
    ValueShape::Any(vec![
        ValueShape::words(&PACES),
        ValueShape::Number(SourcePace::SPEEDS),
    ])
}

fn pace(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<ReplaySpeed> {
    if value.as_str().is_some() {
        return value.one_of(&PACES, found).map(|pace| pace.value);
    }
    let factor = value.number(found)?.value;
    if !SourcePace::SPEEDS.contains(&factor) {
        let hint = "2.0 is twice as fast, 0.5 half as fast, \"fast\" does not wait";
        value.wrong("a pace is from 0.000001 to 1000000", hint, found);
        return None;
    }
    Some(ReplaySpeed::Scaled(factor))
}
