//! Programs of a guest, run from inside: to their end, or in the background.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// A program that could not be run, or failed.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No program was named.
    #[error("there is no program to run")]
    Nothing,
    /// The program could not be started.
    #[error("cannot run `{line}`")]
    Start {
        /// The program and its arguments.
        line: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The program ended with an error.
    #[error("`{line}` failed ({status}): {message}")]
    Failed {
        /// The program and its arguments.
        line: String,
        /// The program's exit status.
        status: ExitStatus,
        /// The program's standard error.
        message: String,
    },
    /// The file for the program's standard error cannot be created.
    #[error("cannot create {}", path.display())]
    Log {
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// Returns the command line of a program that runs in a network namespace; `None` is the namespace
/// of the caller.
fn words<'w>(namespace: Option<&'w str>, line: &[&'w str]) -> Vec<&'w str> {
    let mut all = Vec::new();
    if let Some(name) = namespace {
        all.extend(["ip", "netns", "exec", name]);
    }
    all.extend(line);
    all
}

fn command(words: &[&str]) -> Result<Command, ProgramError> {
    let (program, arguments) = words.split_first().ok_or(ProgramError::Nothing)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}

fn finish(words: &[&str]) -> Result<Output, ProgramError> {
    let output = command(words)?.output();
    output.map_err(|source| ProgramError::Start {
        line: words.join(" "),
        source,
    })
}

/// Runs a program to its end and returns its output.
///
/// # Errors
/// The program cannot be started, or its exit status is not 0.
pub fn output(namespace: Option<&str>, line: &[&str]) -> Result<String, ProgramError> {
    let words = words(namespace, line);
    let output = finish(&words)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(ProgramError::Failed {
        line: words.join(" "),
        status: output.status,
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// Runs a program whose exit status has no meaning, and returns its output.
///
/// # Errors
/// The program cannot be started.
pub fn printed(namespace: Option<&str>, line: &[&str]) -> Result<String, ProgramError> {
    let output = finish(&words(namespace, line))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program in the background, with all processes that it starts. They are killed when this is
/// dropped.
#[derive(Debug)]
pub struct BackgroundProgram {
    child: Child,
    line: String,
    log: PathBuf,
}

/// A program in the background that ended on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedProgram {
    /// The program and its arguments.
    pub line: String,
    /// The program's exit status.
    pub status: ExitStatus,
    /// The program's standard error.
    pub message: String,
}

impl fmt::Display for EndedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` ended ({}): {}",
            self.line, self.status, self.message
        )
    }
}

impl BackgroundProgram {
    /// Starts a program; its standard error goes to `log`.
    ///
    /// # Errors
    /// The program cannot be started, or the file cannot be made.
    pub fn start(namespace: Option<&str>, line: &[&str], log: &str) -> Result<Self, ProgramError> {
        let words = words(namespace, line);
        let line = words.join(" ");
        let log = PathBuf::from(log);
        let file = File::create(&log).map_err(|source| ProgramError::Log {
            path: log.clone(),
            source,
        })?;
        let spawned = command(&words)?
            .stdout(Stdio::null())
            .stderr(file)
            .process_group(0)
            .spawn();
        match spawned {
            Ok(child) => Ok(Self { child, line, log }),
            Err(source) => Err(ProgramError::Start { line, source }),
        }
    }

    /// Returns the number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Stops the program, with all that it has started, until [`BackgroundProgram::go_on`]
    /// (SIGSTOP).
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues the program after [`BackgroundProgram::pause`] (SIGCONT).
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks the program to end (SIGTERM), and kills it after `patience`. The program is gone when
    /// this returns.
    pub fn end(&mut self, patience: Duration) {
        const CHECK_INTERVAL: Duration = Duration::from_millis(10);
        self.signal(Signal::TERM);
        let until = Instant::now() + patience;
        while self.ended().is_none() && Instant::now() < until {
            std::thread::sleep(CHECK_INTERVAL);
        }
        self.kill();
    }

    /// Ends the program with all that it has started, whatever it does (SIGKILL). The program is
    /// gone when this returns.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }

    /// Sends a signal to the whole process group, unless it has ended.
    fn signal(&self, signal: Signal) {
        if let Ok(raw) = i32::try_from(self.child.id())
            && let Some(group) = Pid::from_raw(raw)
        {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Returns how the program ended, if it has ended.
    pub fn ended(&mut self) -> Option<EndedProgram> {
        let status = self.child.try_wait().ok().flatten()?;
        let message = std::fs::read_to_string(&self.log).unwrap_or_default();
        Some(EndedProgram {
            line: self.line.clone(),
            status,
            message: message.trim().to_owned(),
        })
    }
}

impl Drop for BackgroundProgram {
    fn drop(&mut self) {
        // The program may have ended on its own.
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_run_in_its_namespace() {
        assert_eq!(words(None, &["ip", "link"]), ["ip", "link"]);
        assert_eq!(
            words(Some("gw"), &["cangw", "-L"]),
            ["ip", "netns", "exec", "gw", "cangw", "-L"]
        );
    }

    #[test]
    fn a_program_that_fails_is_reported_with_what_it_reported() {
        let error = output(None, &["sh", "-c", "echo why >&2; exit 3"]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("exit 3") && text.ends_with(": why"), "{text}");
        assert_eq!(
            printed(None, &["sh", "-c", "echo x; exit 1"]).unwrap(),
            "x\n"
        );
        let error = output(None, &["/no/such/program"]).unwrap_err();
        assert!(matches!(error, ProgramError::Start { .. }), "{error}");
    }

    #[test]
    fn the_background_stands_still_and_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut running =
            BackgroundProgram::start(None, &["sleep", "1000"], log.to_str().unwrap()).unwrap();
        let stat = format!("/proc/{}/stat", running.id());
        let state = |wanted: char| {
            let there = |text: String| text.contains(&format!(") {wanted} "));
            while !std::fs::read_to_string(&stat).is_ok_and(there) {
                std::thread::yield_now();
            }
        };
        state('S');
        running.pause();
        state('T');
        running.go_on();
        state('S');
        running.kill();
        assert!(running.ended().is_some());
    }

    #[test]
    fn the_background_ends_with_its_handle() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let log = log.to_str().unwrap();
        let mut running = BackgroundProgram::start(None, &["sleep", "1000"], log).unwrap();
        assert_eq!(running.ended(), None);
        let id = running.child.id();
        drop(running);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }
}
