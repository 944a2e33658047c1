//! `cangate demo`.

mod profile;
mod table;

use crate::cli::Demo;
use crate::input::load_config;
use ::demo::{DemoOptions, DemoProgress, Error, TesterInput};
use console::input::read_source;
use console::output;
use console::{Failure, ProgressLine};
use frame::Nanos;
use offload::with_causes;
use report::file_name;
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &Demo, color: bool) -> Result<(), Failure> {
    let input = match &args.log {
        Some(path) => TesterInput::Log {
            path,
            strict: args.strict,
        },
        None => TesterInput::Sae {
            end: (args.seconds * 1e9) as Nanos,
        },
    };
    let source = match &args.config {
        Some(path) => read_source(path)?,
        None => input.gateway_file(),
    };
    // The built-in file names no other files.
    let file = args.config.as_deref().unwrap_or(Path::new("-"));
    let (config, _) = load_config(&source, file, color)?;
    let command = command_line(args);
    let options = DemoOptions {
        input,
        source: &source,
        config: &config,
        seed: args.seed,
        out: args.out.as_deref(),
        command: &command,
    };
    if let Some(out) = &args.out {
        output::folder(out)?;
    }
    let line = ProgressLine::new(if args.log.is_some() {
        "replaying"
    } else {
        "routing"
    });
    let ran = ::demo::run(&options, &|DemoProgress { done, of }| line.set(done, of));
    drop(line);
    let summary = ran.map_err(failure)?;
    let stdout = std::io::stdout();
    let mut stdout = stdout.lock();
    if args.json {
        serde_json::to_writer_pretty(&mut stdout, &summary).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        write!(stdout, "{}", table::render(&summary))?;
        if let Some(out) = &args.out {
            writeln!(stdout, "\nWritten: {}", out.join("report.html").display())?;
        } else {
            writeln!(stdout, "\nWith --out DIR it also draws a report.")?;
        }
    }
    summary.verdict().map_err(failure)
}

fn failure(error: Error) -> Failure {
    match error {
        Error::ReadLog { path, source } => Failure::file("read", &path, &source),
        Error::Write { path, source } => Failure::file("write", &path, &source),
        error if error.is_input() => Failure::Input(with_causes(&error)),
        error => Failure::run(error),
    }
}

/// Returns the command that repeats this run. File names are without their folders: a report is
/// shown to others.
fn command_line(args: &Demo) -> String {
    let mut text = String::from("cangate demo");
    if let Some(path) = &args.log {
        text.push_str(&format!(" --log {}", file_name(path)));
    } else {
        text.push_str(&format!(" --seconds {}", args.seconds));
    }
    if let Some(path) = &args.config {
        text.push_str(&format!(" --config {}", file_name(path)));
    }
    text.push_str(&format!(" --seed {}", args.seed));
    if args.strict {
        text.push_str(" --strict");
    }
    text.push_str(" --out DIR");
    text
}
