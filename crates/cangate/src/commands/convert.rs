//! `cangate convert`.

#[cfg(feature = "decode")]
use super::messages;
use crate::cli::convert::Convert;
use capture::{CaptureOutput, Conversion, ConversionResult, ConvertError, convert};
use console::Failure;
use console::output;
use port::log::{LogError, LogReader, loss_words};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The exit status if frames or bad lines were left out and the rest was written.
const LEFT_OUT: u8 = 3;

pub(crate) fn run(args: &Convert) -> Result<(), Failure> {
    let mut output = CaptureOutput::from_path(&args.output, args.to).map_err(Failure::input)?;
    output.options.nanos = args.nanoseconds;
    #[cfg(feature = "decode")]
    {
        messages::one_stdin(&args.input, &args.databases)?;
        output = messages::with_messages(output, &args.databases)?;
    }
    let name = if args.input == Path::new("-") {
        "standard input".to_owned()
    } else {
        args.input.display().to_string()
    };
    let done = if args.input == Path::new("-") {
        converted(args, &output, LogReader::new(io::stdin(), &*name))?
    } else {
        let reader = LogReader::open(&args.input).map_err(Failure::input)?;
        converted(args, &output, reader)?
    };
    report(&name, &output, &done);
    let (frames, bad) = (done.left_out(), done.bad.count());
    if frames + bad == 0 {
        return Ok(());
    }
    let parts = [(frames, "frame"), (bad, "bad line")].map(|(n, what)| match n {
        0 => None,
        1 => Some(format!("1 {what}")),
        n => Some(format!("{n} {what}s")),
    });
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Err(Failure::Ended {
        status: LEFT_OUT,
        text: format!(
            "{name}: left out: {}; the rest was written",
            parts.join(", ")
        ),
    })
}

fn converted<R: Read>(
    args: &Convert,
    output: &CaptureOutput,
    reader: LogReader<R>,
) -> Result<ConversionResult, Failure> {
    let mut reader = reader.with_format(args.from);
    // A file that is not a log is refused before any file is changed.
    reader.recognise().map_err(Failure::input)?;
    if !output.is_stream() {
        room(args)?;
    }
    let conversion = Conversion {
        output,
        strict: args.strict,
    };
    convert(reader, &conversion).map_err(|error| match error {
        ConvertError::Write {
            kind: Some(io::ErrorKind::BrokenPipe),
            ..
        } => Failure::Silent,
        ConvertError::Log(LogError::Read { .. }) | ConvertError::Write { .. } => {
            Failure::run(error)
        }
        ConvertError::File(_) => Failure::run(error),
        ConvertError::Shortfall { .. } => {
            Failure::input(format!("{}: {error}", args.input.display()))
        }
        ConvertError::Log(_) | ConvertError::Interfaces => Failure::input(error),
    })
}

/// Checks the path of the output, and removes an existing file if it may be replaced; otherwise the
/// file is kept, and the command is refused.
fn room(args: &Convert) -> Result<(), Failure> {
    let path = &args.output;
    output::file(path)?;
    let Ok(there) = std::fs::metadata(path) else {
        return Ok(());
    };
    if !there.is_file() {
        return Ok(());
    }
    let same = std::fs::metadata(&args.input)
        .is_ok_and(|input| (input.dev(), input.ino()) == (there.dev(), there.ino()));
    if same {
        return Err(Failure::Input(format!(
            "{} is the log that is read: give another name for what is written",
            path.display()
        )));
    }
    if !args.force {
        return Err(Failure::Input(format!(
            "{} exists and is kept: give another name, or --force to replace it",
            path.display()
        )));
    }
    std::fs::remove_file(path).map_err(|error| Failure::file("replace", path, &error))
}

fn report(name: &str, output: &CaptureOutput, done: &ConversionResult) {
    let mut lines = done.bad.remarks(name);
    lines.extend(done.passed.iter().map(|records| records.remark(name)));
    if let Some(losses) = loss_words(done.missing) {
        let stated = match output.format.has_losses() {
            true => "the output states it, too",
            false => "the format of the output cannot state it",
        };
        lines.push(format!("{name}: {losses}; {stated}"));
    }
    for (shortfall, found) in &done.shortfalls {
        let frames = if found.frames == 1 { "frame" } else { "frames" };
        lines.push(format!(
            "{} {frames} {shortfall}; the first: {}",
            found.frames, found.first
        ));
    }
    let mut text: String = lines
        .iter()
        .map(|line| format!("warning: {line}\n"))
        .collect();
    let to = if output.is_stream() {
        "standard output".to_owned()
    } else {
        output.path.display().to_string()
    };
    let named = match output.options.messages {
        true => format!(", {} of them with their message", done.written.named),
        false => String::new(),
    };
    text.push_str(&format!(
        "{name} ({}) to {to}: {} frames{named}, {} bytes\n",
        done.from, done.written.frames, done.written.bytes
    ));
    // The reader may be gone; the exit status reports the rest.
    let _ = io::stderr().write_all(text.as_bytes());
}
