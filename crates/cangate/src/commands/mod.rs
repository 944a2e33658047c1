//! One file a command.

mod generate;
mod offline;
mod service;
mod timing;

use crate::cli::{Cli, Color, Command};
use config::Source;
use gateway::config::Config;
use std::fmt;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was given is wrong; exit status 2.
    Input(String),
    /// It could not be done; exit status 1.
    Run(String),
    /// The one who reads our output went away; not worth a word.
    Silent,
}

impl Failure {
    /// What was given is wrong.
    pub(crate) fn input(text: impl fmt::Display) -> Self {
        Self::Input(text.to_string())
    }

    /// It could not be done; causes are added.
    pub(crate) fn run(error: impl std::error::Error) -> Self {
        Self::Run(with_causes(&error))
    }

    /// A file could not be read or written.
    pub(crate) fn file(verb: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let advice = match error.kind() {
            std::io::ErrorKind::NotFound => "; is the name right?",
            std::io::ErrorKind::PermissionDenied => "; may you do that there?",
            std::io::ErrorKind::StorageFull => "; make room and try again",
            _ => "",
        };
        Self::Run(format!("cannot {verb} {}: {error}{advice}", path.display()))
    }
}

impl From<std::io::Error> for Failure {
    /// For writing to standard output.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Silent
        } else {
            Self::Run(format!("cannot write to standard output: {error}"))
        }
    }
}

/// An error with all that caused it, as one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = inner.source();
    }
    text
}

/// Runs a command and says how it ended.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let color = match cli.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    };
    let done = match cli.command {
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::man(&args),
        Command::Timing(args) => timing::run(&args),
        Command::Check(args) => offline::check(&args, color),
        Command::Import(args) => offline::import(&args, color),
        Command::Export(args) => offline::export(&args, color),
        Command::Demo(args) => crate::demo::run(&args, color),
        Command::Run(args) => service::run(&args, color),
        Command::Stats(args) => service::stats(&args),
        Command::Routes(args) => service::routes(&args),
        Command::Reload(args) => service::reload(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Silent) => ExitCode::SUCCESS,
        Err(Failure::Input(text)) => {
            eprintln!("{}", text.trim_end());
            ExitCode::from(2)
        }
        Err(Failure::Run(text)) => {
            eprintln!("cangate: {}", text.trim_end());
            ExitCode::from(1)
        }
    }
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn read_source(path: &Path) -> Result<Source, Failure> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|e| Failure::Run(format!("cannot read standard input: {e}")))?;
        return source("standard input", bytes);
    }
    let read = std::fs::File::open(path).and_then(|file| {
        file.take(gateway::config::LARGEST_FILE as u64 + 1)
            .read_to_end(&mut bytes)
    });
    read.map_err(|e| Failure::file("read", path, &e))?;
    source(&path.display().to_string(), bytes)
}

fn source(name: &str, bytes: Vec<u8>) -> Result<Source, Failure> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source::new(name, text)),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.iter().filter(|&&b| b == b'\n').count() + 1;
            Err(Failure::input(format!(
                "{name}: line {line}: not UTF-8; is this a text file?"
            )))
        }
    }
}

/// A gateway file's configuration, and its warnings as text.
pub(crate) fn load_config(source: &Source, color: bool) -> Result<(Config, String), Failure> {
    match gateway::config::load(source) {
        Ok((config, warnings)) => Ok((config, config::render(source, &warnings, color))),
        Err(found) => Err(Failure::Input(config::render(source, &found, color))),
    }
}
