//! `cangate decode`: the signals in the frames of a log.

mod counts;
mod database;
mod write;

use crate::cli::decode::Decode;
use console::Failure;
use counts::DecodeCounts;
use database::Databases;
use frame::FrameBuf;
use port::log::{LogError, LogReader};
use signals::MessageIndex;
use std::io::{self, Read, Write as _};
use std::path::Path;
use write::SignalWriter;

/// The exit status if bad lines were left out and the rest was decoded.
const LEFT_OUT: u8 = 3;

pub(crate) fn run(args: &Decode) -> Result<(), Failure> {
    let is_stdin = |path: &Path| path == Path::new("-");
    let inputs = args.databases.iter().map(|choice| &*choice.file);
    if inputs
        .chain([&*args.input])
        .filter(|path| is_stdin(path))
        .count()
        > 1
    {
        return Err(Failure::input(
            "standard input (`-`) can be only one of LOG and the databases",
        ));
    }
    let databases = Databases::read(&args.databases)?;
    match args.input == Path::new("-") {
        true => decode(
            args,
            &databases,
            LogReader::new(io::stdin(), "standard input"),
        ),
        false => {
            let reader = LogReader::open(&args.input).map_err(Failure::input)?;
            decode(args, &databases, reader)
        }
    }
}

fn decode<R: Read>(
    args: &Decode,
    databases: &Databases,
    reader: LogReader<R>,
) -> Result<(), Failure> {
    let mut reader = reader.with_format(args.from);
    reader.recognise().map_err(Failure::input)?;
    let mut counts = DecodeCounts::default();
    let indices: Vec<MessageIndex<'_>> = databases.indices();
    let mut writer = SignalWriter::new(args.format, args.input == Path::new("-"));
    let mut frame = FrameBuf::new();
    loop {
        match reader.read(&mut frame) {
            Ok(Some(logged)) => {
                let view = frame.view();
                let index = databases.position(logged.interface);
                let message = index.and_then(|index| indices[index].find(view.id()));
                if let Some(message) = counts.add(view, message) {
                    counts.too_short += writer.write(&logged, message, view.data())?;
                }
            }
            Ok(None) => break,
            Err(LogError::Bad { .. } | LogError::Lost { .. }) => {}
            Err(error) => return Err(Failure::input(error)),
        }
    }
    writer.finish()?;
    let name = args.input.display().to_string();
    let mut lines = reader.bad().remarks(&name);
    let passed = reader.passed_over().iter();
    lines.extend(passed.map(|records| records.remark(&name)));
    lines.extend(counts.remarks(reader.all_missing()));
    let text: String = lines
        .iter()
        .map(|line| format!("warning: {line}\n"))
        .collect();
    let text = text + &counts.summary(&name);
    // The reader may be gone; the exit status reports the rest.
    let _ = io::stderr().write_all(text.as_bytes());
    match reader.bad().count() {
        0 => Ok(()),
        bad => Err(Failure::Ended {
            status: LEFT_OUT,
            text: format!("{name}: {bad} bad lines were left out; the rest was decoded"),
        }),
    }
}
