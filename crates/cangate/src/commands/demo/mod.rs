//! `cangate demo`.

mod profile;
mod table;

use super::simulation::failure;
use crate::cli::Demo;
use crate::cli::simulate::{ReplayRounds, simulation};
use crate::input::load_config;
use ::demo::{DemoOptions, DemoProgress, TesterInput};
use console::columns::wrapped;
use console::input::read_source;
use console::output;
use console::{Failure, ProgressLine};
use frame::Nanos;
use report::file_name;
use std::io::Write;
use std::path::Path;

pub(crate) fn run(args: &Demo, color: bool) -> Result<(), Failure> {
    if args.replay.rounds == Some(ReplayRounds::Endless) {
        return Err(Failure::Input(
            "--loop endless: a demo runs until the log ends; give a number, or use `cangate run \
             --simulate`"
                .to_owned(),
        ));
    }
    let source = match &args.config {
        Some(path) => read_source(path)?,
        None => ::demo::gateway_file(args.log.is_some()),
    };
    // The built-in file names no other files.
    let file = args.config.as_deref().unwrap_or(Path::new("-"));
    let (config, _) = load_config(&source, file, color)?;
    let options = simulation(&args.as_bus, args.out.as_ref());
    let simulated = config.simulated(&options);
    let simulated = simulated.map_err(|wrong| Failure::Input(wrong.to_string()))?;
    let config = simulated.config;
    let log = args.log.as_ref().map(|path| {
        let by_name = !simulated.differences.is_empty();
        args.replay.input(path, args.strict, by_name)
    });
    let input = match &log {
        Some(log) => TesterInput::Log(log),
        None => TesterInput::Sae {
            end: (args.seconds * 1e9) as Nanos,
        },
    };
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
        for difference in &simulated.differences {
            writeln!(stdout, "{}", wrapped(&format!("Simulated: {difference}.")))?;
        }
        if !simulated.differences.is_empty() {
            writeln!(stdout)?;
        }
        write!(stdout, "{}", table::render(&summary))?;
        if let Some(out) = &args.out {
            writeln!(stdout, "\nWritten: {}", out.join("report.html").display())?;
        } else {
            writeln!(stdout, "\nWith --out DIR it also draws a report.")?;
        }
    }
    summary.verdict().map_err(failure)
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
    for rates in &args.as_bus {
        text.push_str(&format!(" --as-bus {rates}"));
    }
    for (from, to) in &args.replay.map {
        text.push_str(&format!(" --map {from}={}", to.as_deref().unwrap_or("")));
    }
    if let Some(ReplayRounds::Number(rounds)) = args.replay.rounds {
        text.push_str(&format!(" --loop {rounds}"));
    }
    if let Some(pause) = args.replay.pause {
        text.push_str(&format!(" --pause {pause}ns"));
    }
    text.push_str(&format!(" --seed {}", args.seed));
    if args.strict {
        text.push_str(" --strict");
    }
    text.push_str(" --out DIR");
    text
}
