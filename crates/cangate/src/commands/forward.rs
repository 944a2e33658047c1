//! `cangate lab`, `bench`, `report` and `image`: commands of the program `cangate-lab`.

use clap::ValueEnum;
use console::{Color, Failure};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program that runs these commands.
const PROGRAM: &str = "cangate-lab";

/// The commands that [`PROGRAM`] runs, with their names there; `lab` stands for all of its
/// commands.
const FORWARDED: [(&str, Option<&str>); 4] = [
    ("lab", None),
    ("bench", Some("bench")),
    ("report", Some("report")),
    ("image", Some("image")),
];

/// Replaces this process by `cangate-lab COMMAND ARGUMENTS`. It returns only if that is not
/// possible.
pub(crate) fn run(command: Option<&str>, color: Color, arguments: &[OsString]) -> Failure {
    let mut line = Command::new(program());
    // clap has parsed a `--color` before the first argument as this program's own option.
    if color != Color::Auto
        && let Some(value) = color.to_possible_value()
    {
        line.args(["--color", value.get_name()]);
    }
    line.args(command).args(arguments);
    replace(&mut line)
}

/// Handles `cangate help lab measure`: the other program prints the help, because clap knows only
/// the commands of this one.
pub(crate) fn help(words: impl Iterator<Item = OsString>) -> Option<Failure> {
    let words: Vec<OsString> = words.skip(1).collect();
    let (help, rest) = words.split_first()?;
    let (command, rest) = rest.split_first()?;
    let (_, name) = FORWARDED.iter().find(|(name, _)| command == *name)?;
    if help != "help" {
        return None;
    }
    let mut line = Command::new(program());
    line.arg("help").args(*name).args(rest);
    Some(replace(&mut line))
}

/// Returns the program next to this one if it exists; otherwise the name alone, which is looked up
/// in PATH.
fn program() -> PathBuf {
    let beside = std::env::current_exe().map(|own| own.with_file_name(PROGRAM));
    beside
        .ok()
        .filter(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(PROGRAM))
}

fn replace(line: &mut Command) -> Failure {
    let error = line.exec();
    let program = line.get_program().to_owned();
    if error.kind() == std::io::ErrorKind::NotFound && program == OsStr::new(PROGRAM) {
        return Failure::Run(format!(
            "this command is part of the program {PROGRAM}, which is neither beside cangate nor in PATH; to get it: the \
             Debian package {PROGRAM}, `cargo install --path lab/{PROGRAM}` in cangate's sources, or \
             `cargo build --release -p {PROGRAM}` beside a program that cargo has built"
        ));
    }
    Failure::Run(format!("cannot start {}: {error}", program.display()))
}
