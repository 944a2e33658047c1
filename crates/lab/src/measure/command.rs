//! Programs of the guest, run to their end or in the background.

use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The gateway's network namespace.
pub(super) const GATEWAY: &str = "gw";

/// Words for a program that is run in a namespace of the network, `None` for our own.
fn words<'w>(namespace: Option<&'w str>, line: &[&'w str]) -> Vec<&'w str> {
    let mut all = Vec::new();
    if let Some(name) = namespace {
        all.extend(["ip", "netns", "exec", name]);
    }
    all.extend(line);
    all
}

fn command(words: &[&str]) -> Result<Command, String> {
    let (program, arguments) = words.split_first().ok_or("there is no program")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}

/// Runs a program and gives what it printed; its words if it fails.
pub(super) fn output(namespace: Option<&str>, line: &[&str]) -> Result<String, String> {
    let words = words(namespace, line);
    let output = command(&words)?
        .output()
        .map_err(|e| format!("{}: {e}", words.join(" ")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{}: {} ({})",
        words.join(" "),
        said.trim(),
        output.status
    ))
}

/// Runs a program whose exit status says nothing, and gives what it printed.
pub(super) fn printed(namespace: Option<&str>, line: &[&str]) -> Result<String, String> {
    let words = words(namespace, line);
    let output = command(&words)?
        .output()
        .map_err(|e| format!("{}: {e}", words.join(" ")))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A program in the background, with all that it starts. Killed when this is dropped.
pub(super) struct Background {
    child: Child,
    line: String,
    words: std::path::PathBuf,
}

impl Background {
    /// Starts it; what it says goes to `words`.
    pub(super) fn start(
        namespace: Option<&str>,
        line: &[&str],
        words_file: &str,
    ) -> Result<Self, String> {
        let words = words(namespace, line);
        let line = words.join(" ");
        let said = std::fs::File::create(words_file).map_err(|e| format!("{words_file}: {e}"))?;
        let child = command(&words)?
            .stdout(Stdio::null())
            .stderr(said)
            .process_group(0)
            .spawn()
            .map_err(|e| format!("{line}: {e}"))?;
        Ok(Self {
            child,
            line,
            words: words_file.into(),
        })
    }

    /// Has it ended? Then with its last words.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let said = std::fs::read_to_string(&self.words).unwrap_or_default();
        Some(format!("{} ended ({status}): {}", self.line, said.trim()))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Ok(raw) = i32::try_from(self.child.id())
            && let Some(group) = Pid::from_raw(raw)
        {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
