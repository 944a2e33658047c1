//! Execution of other programs: their output is shown, kept and read at the same time.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write, pipe};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Returns a command without standard input, in the given folder.
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Arguments of a command that are shown; the others are counted.
const SHOWN_ARGUMENTS: usize = 60;

/// Returns the command as a user would type it.
pub(crate) fn line(command: &Command) -> String {
    let mut line = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            line += &format!("{}={:?} ", name.to_string_lossy(), value.to_string_lossy());
        }
    }
    let program = Path::new(command.get_program());
    line += &program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy();
    for argument in command.get_args().take(SHOWN_ARGUMENTS) {
        line.push(' ');
        line += &argument.to_string_lossy();
    }
    let more = command.get_args().count().saturating_sub(SHOWN_ARGUMENTS);
    if more > 0 {
        line += &format!(" … ({more} more)");
    }
    line
}

/// Runs a command that shares this program's output; returns true if it succeeded.
pub(crate) fn show(command: &mut Command) -> Result<bool> {
    println!("$ {}", line(command));
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", line(command)))?;
    Ok(status.success())
}

/// Runs a command silently and returns its output.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    command
        .output()
        .with_context(|| format!("cannot run {}", line(command)))
}

/// Runs a command; both outputs, in the order in which they were written, go line by line to `see`
/// and into the file `log`. Returns true if it succeeded.
pub(crate) fn read_lines(
    command: &mut Command,
    log: &Path,
    mut see: impl FnMut(&str),
) -> Result<bool> {
    println!("$ {}", line(command));
    let (reader, writer) = pipe().context("no pipe")?;
    let mut log = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut child = command
        .stdout(writer.try_clone().context("no second end of a pipe")?)
        .stderr(writer)
        .spawn()
        .with_context(|| format!("cannot run {}", line(command)))?;
    // This process's write ends of the pipe must be dropped, or the pipe never closes.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        log.write_all(&bytes)?;
        see(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
        bytes.clear();
    }
    Ok(child.wait()?.success())
}

/// Runs a command for at most `limit`, and ends it then. Returns true if it succeeded in time.
pub(crate) fn within(limit: Duration, command: &mut Command) -> Result<bool> {
    println!("$ {}", line(command));
    let started = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot run {}", line(command)))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            println!("ended after {} s without an answer", limit.as_secs());
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns whether a program of this name is on the path.
pub(crate) fn on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_are_read_in_their_order() {
        let log = std::env::temp_dir().join(format!("xtask-lines-{}", std::process::id()));
        let mut lines = Vec::new();
        let mut shell = command("sh", Path::new("/"));
        shell.args(["-c", "echo one; echo two >&2; printf three; exit 3"]);
        let good = read_lines(&mut shell, &log, |line| lines.push(line.to_owned())).unwrap();
        assert!(!good);
        assert_eq!(lines, ["one", "two", "three"]);
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "one\ntwo\nthree");
        std::fs::remove_file(log).unwrap();
    }

    #[test]
    fn what_hangs_is_ended() {
        let mut sleeper = command("sleep", Path::new("/"));
        sleeper.arg("600");
        assert!(!within(Duration::from_millis(10), &mut sleeper).unwrap());
    }
}
