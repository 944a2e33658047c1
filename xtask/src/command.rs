//! Execution of other programs: their output is shown, kept and read at the same time.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write, pipe};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
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

/// The longest time without a line of output, after which [`read_lines`] ends a command. libtest
/// names each test that takes more than a minute, so the last lines name those that did not end.
/// All tests of the step `long` together take half of this on an idle machine.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(1800);

/// The longest time for the last lines of a command that has ended.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a command; both outputs, in the order in which they were written, go line by line to `see`
/// and into the file `log`. Returns true if it succeeded.
///
/// A command that writes nothing for half an hour hangs: it is ended, and the result is false. A
/// process that it leaves running, with its output, is ended when the command has ended. A line
/// reports each.
pub(crate) fn read_lines(command: &mut Command, log: &Path, see: impl FnMut(&str)) -> Result<bool> {
    read_lines_within(SILENCE_TIMEOUT, command, log, see)
}

/// As [`read_lines`], with this time without output as the limit.
fn read_lines_within(
    silence: Duration,
    command: &mut Command,
    log: &Path,
    mut see: impl FnMut(&str),
) -> Result<bool> {
    println!("$ {}", line(command));
    let (reader, writer) = pipe().context("no pipe")?;
    let pipe = std::fs::read_link(format!("/proc/self/fd/{}", reader.as_raw_fd()));
    let mut log = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut child = command
        .stdout(writer.try_clone().context("no second end of a pipe")?)
        .stderr(writer)
        .spawn()
        .with_context(|| format!("cannot run {}", line(command)))?;
    // This process's write ends of the pipe must be dropped, or the pipe never closes.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (sender, lines) = channel();
    // The thread ends when no process has the pipe any more.
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n') {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut see = |line: &[u8]| {
        log.write_all(line)?;
        log.write_all(b"\n")?;
        see(String::from_utf8_lossy(line).trim_end_matches('\r'));
        anyhow::Ok(())
    };
    let mut last_line = Instant::now();
    let mut end = None;
    loop {
        match lines.recv_timeout(Duration::from_millis(500)) {
            Ok(line) => {
                see(&line?)?;
                last_line = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(child.wait()?.success()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if end.is_none() && child.try_wait()?.is_some() {
            end = Some(Instant::now());
        }
        // A process that was left may write for ever.
        let (since, limit, why) = match end {
            None => (last_line, silence, "wrote nothing"),
            Some(end) => (end, LAST_LINES_TIMEOUT, "was left"),
        };
        if since.elapsed() < limit {
            continue;
        }
        for (process, name) in pipe.iter().flat_map(|pipe| processes_with(pipe)) {
            see(format!("ended {name} ({process}), which {why}").as_bytes())?;
            // It may have ended by itself.
            output(Command::new("kill").args(["-KILL", &process.to_string()]))?;
        }
        if end.is_none() {
            child.kill()?;
        }
        return Ok(child.wait()?.success());
    }
}

/// Returns the processes that have this pipe open, but for this one: their numbers and command
/// lines.
fn processes_with(pipe: &Path) -> Vec<(u32, String)> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = |folder: std::fs::DirEntry| {
        // Other names are not of processes.
        let number: u32 = folder.file_name().to_str()?.parse().ok()?;
        if number == std::process::id() {
            return None;
        }
        let files = std::fs::read_dir(folder.path().join("fd")).ok()?;
        let mut links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        links.find(|link| link == pipe)?;
        let words = std::fs::read(folder.path().join("cmdline")).ok()?;
        let name = String::from_utf8_lossy(&words).replace('\0', " ");
        Some((number, name.trim().to_owned()))
    };
    folders.filter_map(process).collect()
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
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "one\ntwo\nthree\n");
        std::fs::remove_file(log).unwrap();
    }

    /// Runs a line of the shell; returns whether it succeeded, and its lines.
    fn lines_of(silence: Duration, script: &str, name: &str) -> (bool, Vec<String>) {
        let log = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        let mut lines = Vec::new();
        let mut shell = command("sh", Path::new("/"));
        let good = read_lines_within(silence, shell.args(["-c", script]), &log, |line| {
            lines.push(line.to_owned());
        });
        std::fs::remove_file(log).unwrap();
        (good.unwrap(), lines)
    }

    #[test]
    fn a_silent_command_is_ended_with_its_processes() {
        let silence = Duration::from_secs(2);
        let (good, mut lines) = lines_of(silence, "sleep 601 & echo one; wait", "silent");
        assert!(!good);
        lines.sort_unstable();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("ended sh -c") && lines[1].starts_with("ended sleep 601 "));
        assert!(lines[0].ends_with(", which wrote nothing"), "{lines:?}");
    }

    #[test]
    fn a_process_that_is_left_is_ended_and_reported() {
        let (good, lines) = lines_of(SILENCE_TIMEOUT, "sleep 602 & echo one", "left");
        assert!(good);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].starts_with("ended sleep 602 ("), "{lines:?}");
        assert!(lines[1].ends_with("), which was left"), "{lines:?}");
    }

    #[test]
    fn a_process_that_is_left_and_writes_is_ended() {
        let script = "while :; do echo again; sleep 0.1; done & echo one";
        let (good, lines) = lines_of(SILENCE_TIMEOUT, script, "writes");
        assert!(good);
        assert!(lines.contains(&"again".to_owned()), "{lines:?}");
        assert!(
            lines.iter().any(|line| line.ends_with("), which was left")),
            "{lines:?}"
        );
    }

    #[test]
    fn what_hangs_is_ended() {
        let mut sleeper = command("sleep", Path::new("/"));
        sleeper.arg("600");
        assert!(!within(Duration::from_millis(10), &mut sleeper).unwrap());
    }
}
