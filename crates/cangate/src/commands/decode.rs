//! `cangate decode`: the signals in the frames of a log.

mod counts;
#[cfg(feature = "parquet")]
mod dataset;
#[cfg(not(feature = "parquet"))]
#[path = "decode/dataset_left_out.rs"]
mod dataset;
mod selection;
mod stop;

use crate::cli::decode::{Decode, SignalFormat};
use crate::commands::messages::read_chosen;
use crate::stop_signal::{SecondSignal, StopSignal};
use capture::{FoundMessage, FrameDatabases, LineForm, SignalLines, SignalSelection};
use console::Failure;
use counts::DecodeCounts;
use dataset::DatasetWriter;
use frame::{FrameBuf, FrameRef};
use port::log::{LogError, LogReader, LoggedFrame};
use selection::selection;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;
use stop::StoppableInput;

/// The exit status if bad lines were left out and the rest was decoded.
const LEFT_OUT: u8 = 3;

/// The reader of a file or of standard input.
type AnyReader = LogReader<Box<dyn Read>>;

pub(crate) fn run(args: &Decode) -> Result<(), Failure> {
    check_options(args)?;
    let databases = FrameDatabases::new(read_chosen(&args.databases)?);
    let selection = selection(&databases, &args.which)?;
    let form = match args.output.format {
        SignalFormat::Text => Some(LineForm::Text),
        SignalFormat::Csv => Some(LineForm::Csv),
        SignalFormat::Parquet => None,
    };
    let lines = form.map(|form| SignalLines::new(form, selection.messages()));
    // Lines are written until a signal ends the program.
    let stop = match lines {
        Some(_) => None,
        None => Some(StopSignal::listen(SecondSignal::Kills)?),
    };
    // Files that are not logs are refused before anything is written. A pipe can be read only once.
    let (first, others) = args.inputs.split_first().unzip();
    let mut first = first
        .map(|path| open(args, path, lines.as_ref(), stop.as_ref()))
        .transpose()?;
    for path in others
        .unwrap_or_default()
        .iter()
        .filter(|path| path.is_file())
    {
        open(args, path, None, None)?;
    }
    let mut output = match (lines, &args.output.out) {
        (Some(lines), _) => SignalOutput::Lines(lines),
        (None, Some(folder)) => SignalOutput::Dataset(Box::new(DatasetWriter::open(
            folder,
            args.output.append,
            selection.messages(),
        )?)),
        (None, None) => return Err(Failure::input("--format parquet needs --out DIR")),
    };
    let mut run = DecodeRun {
        args,
        selection: &selection,
        stop: stop.as_ref(),
        counts: DecodeCounts::default(),
        missing: 0,
        bad: 0,
        remarks: Vec::new(),
    };
    for path in &args.inputs {
        let reader = match first.take() {
            Some(reader) => reader,
            None => open(args, path, output.lines(), stop.as_ref())?,
        };
        if run.read(path, reader, &mut output)? {
            break;
        }
    }
    run.finish(output)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Checks the options together.
fn check_options(args: &Decode) -> Result<(), Failure> {
    let databases = args.databases.iter().map(|choice| &*choice.file);
    let inputs = args.inputs.iter().map(|path| &**path);
    if inputs
        .chain(databases)
        .filter(|path| is_stdin(path))
        .count()
        > 1
    {
        return Err(Failure::input(
            "standard input (`-`) can be only one of LOG and the databases",
        ));
    }
    if args.output.format != SignalFormat::Parquet && args.output.out.is_some() {
        return Err(Failure::input(
            "--out is for --format parquet; text and CSV are written to standard output: use `> FILE`",
        ));
    }
    Ok(())
}

/// Opens a log and recognises its format. `lines`: the output that is shown before standard input
/// is awaited; `stop`: the request that ends it.
fn open(
    args: &Decode,
    path: &Path,
    lines: Option<&SignalLines>,
    stop: Option<&StopSignal>,
) -> Result<AnyReader, Failure> {
    let (input, name): (Box<dyn Read>, String) = if is_stdin(path) {
        let input: Box<dyn Read> = match (lines, stop) {
            (Some(lines), _) => Box::new(lines.attend(io::stdin())),
            (None, Some(stop)) => Box::new(StoppableInput::new(stop).map_err(Failure::run)?),
            (None, None) => Box::new(io::stdin()),
        };
        (input, "standard input".to_owned())
    } else {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => (Box::new(file), name),
            Err(source) => return Err(Failure::input(LogError::Read { name, source })),
        }
    };
    let mut reader = LogReader::new(input, name).with_format(args.from);
    reader.recognise().map_err(Failure::input)?;
    Ok(reader)
}

/// The place that signals are written to.
enum SignalOutput<'a> {
    Lines(SignalLines),
    Dataset(Box<DatasetWriter<'a>>),
}

impl SignalOutput<'_> {
    fn lines(&self) -> Option<&SignalLines> {
        match self {
            Self::Lines(lines) => Some(lines),
            Self::Dataset(_) => None,
        }
    }
}

/// The logs of one command.
struct DecodeRun<'a> {
    args: &'a Decode,
    selection: &'a SignalSelection<'a>,
    stop: Option<&'a StopSignal>,
    counts: DecodeCounts,
    /// Number of frames that the logs themselves state to be lost.
    missing: u64,
    /// Number of bad lines.
    bad: u64,
    /// Sentences on the logs, for the user.
    remarks: Vec<String>,
}

impl DecodeRun<'_> {
    /// Reads a log to its end; returns whether the user has requested the end of the run.
    fn read(
        &mut self,
        path: &Path,
        mut reader: AnyReader,
        output: &mut SignalOutput<'_>,
    ) -> Result<bool, Failure> {
        let name = path.display().to_string();
        let stop = self.stop;
        let is_stopped = || stop.is_some_and(StopSignal::is_set);
        let mut frame = FrameBuf::new();
        loop {
            match reader.read(&mut frame) {
                Ok(Some(logged)) => self.add(&name, &logged, frame.view(), output)?,
                Ok(None) => break,
                Err(error @ (LogError::Bad { .. } | LogError::Lost { .. })) => {
                    if self.args.strict {
                        return Err(Failure::input(error));
                    }
                }
                Err(error) => return Err(Failure::input(error)),
            }
            // Standard input ends on its own.
            if is_stopped() && !is_stdin(path) {
                return Err(Failure::Run(format!(
                    "stopped while {name} was read: nothing was added"
                )));
            }
        }
        self.bad += reader.bad().count();
        self.missing += reader.all_missing();
        self.remarks.extend(reader.bad().remarks(&name));
        let passed = reader.passed_over().iter();
        self.remarks
            .extend(passed.map(|records| records.remark(&name)));
        Ok(is_stopped())
    }

    fn add(
        &mut self,
        name: &str,
        logged: &LoggedFrame,
        frame: FrameRef<'_>,
        output: &mut SignalOutput<'_>,
    ) -> Result<(), Failure> {
        let found = self.selection.find(logged.interface, frame.id());
        let Some(number) = self.counts.add(frame, &found) else {
            return match found {
                FoundMessage::Unknown if self.args.strict && !frame.id().is_err() => {
                    let problem = format!("{} is not in the database", frame.id());
                    Err(stop(name, logged, &problem))
                }
                _ => Ok(()),
            };
        };
        let (message, payload) = (&self.selection.messages()[number], frame.data());
        if self.args.strict
            && let Some(signal) = message.first_too_short(payload)
        {
            let message = &message.definition().name;
            let problem = format!("the frame is too short for {signal} of {message}");
            return Err(stop(name, logged, &problem));
        }
        match output {
            SignalOutput::Lines(lines) => {
                self.counts.too_short += lines.write(logged, number, message, payload)?;
                Ok(())
            }
            SignalOutput::Dataset(dataset) => dataset.add(logged, number, payload),
        }
    }

    /// Completes the output, and prints the counts.
    fn finish(mut self, output: SignalOutput<'_>) -> Result<(), Failure> {
        let mut added = String::new();
        match output {
            SignalOutput::Lines(lines) => lines.finish()?,
            SignalOutput::Dataset(dataset) => {
                (self.counts.too_short, added) = dataset.finish()?;
            }
        }
        let name = match &*self.args.inputs {
            [only] => only.display().to_string(),
            several => format!("{} logs", several.len()),
        };
        self.remarks.extend(self.counts.remarks(self.missing));
        let remarks = self.remarks.iter();
        let text: String = remarks.map(|line| format!("warning: {line}\n")).collect();
        let text = text + &self.counts.summary(&name) + &added;
        // The reader may be gone; the exit status reports the rest.
        let _ = io::stderr().write_all(text.as_bytes());
        match self.bad {
            0 => Ok(()),
            bad => Err(Failure::Ended {
                status: LEFT_OUT,
                text: format!("{name}: {bad} bad lines were left out; the rest was decoded"),
            }),
        }
    }
}

/// Returns the failure for a frame at which `--strict` stops.
fn stop(name: &str, logged: &LoggedFrame, problem: &str) -> Failure {
    Failure::input(format!(
        "{name}: {}: {problem}; without --strict, such frames are counted",
        logged.place
    ))
}
