//! A shell whose input comes from the host, with a terminal of its own or with a pipe.

use super::error::AgentError;
use super::exec::{ExecEvent, collect, pump};
use super::outputs::JobOutputs;
use super::system::input_port;
use crate::keyboard::KeyInput;
use crate::machine::TerminalSize;
use crate::wire::{PieceReader, WirePiece};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The folder of the terminal's description, which is in a subfolder named by its first letter
/// (terminfo(5)).
const TERMINFO: &str = "/run/terminfo";

/// Runs the shell to its end.
pub(super) fn run(
    terminal: Option<TerminalSize>,
    outputs: &mut JobOutputs,
) -> Result<i32, AgentError> {
    let port = input_port()?;
    outputs.hand_out(&WirePiece::Listening)?;
    match terminal {
        Some(terminal) => with_terminal(&terminal, port, outputs),
        None => piped(port, outputs),
    }
}

/// Runs bash, which reads commands from a pipe.
fn piped(port: File, outputs: &mut JobOutputs) -> Result<i32, AgentError> {
    let mut child = Command::new("bash")
        .current_dir("/root")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(AgentError::Shell)?;
    let (to, from) = channel();
    if let Some(pipe) = child.stdout.take() {
        pump(pipe, to.clone(), WirePiece::Stdout);
    }
    if let Some(pipe) = child.stderr.take() {
        pump(pipe, to.clone(), WirePiece::Stderr);
    }
    let mut stdin: Option<ChildStdin> = child.stdin.take();
    feed(port, move |input| match input {
        KeyInput::Bytes(bytes) => match &mut stdin {
            // A shell that has closed its input reads no more.
            Some(pipe) => pipe.write_all(&bytes).is_ok(),
            None => false,
        },
        KeyInput::Size(..) => true,
        KeyInput::End => {
            stdin = None;
            false
        }
    });
    std::thread::spawn(move || {
        let _ = to.send(ExecEvent::Exit(child.wait()));
    });
    collect(&from, 2, outputs)
}

/// Runs bash with a terminal, whose other side is connected to the host.
fn with_terminal(
    terminal: &TerminalSize,
    port: File,
    outputs: &mut JobOutputs,
) -> Result<i32, AgentError> {
    let failed = |error: rustix::io::Errno| AgentError::Shell(error.into());
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).map_err(failed)?;
    grantpt(&master).map_err(failed)?;
    unlockpt(&master).map_err(failed)?;
    let name = ptsname(&master, Vec::new()).map_err(failed)?;
    let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let slave = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(AgentError::file("open", path))?;
    let master = File::from(master);
    resize(&master, terminal.rows, terminal.columns);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let copy = || {
        slave
            .try_clone()
            .map(Stdio::from)
            .map_err(AgentError::Shell)
    };
    // busybox makes the terminal the controlling terminal of the shell, which must lead a session
    // for that.
    let mut child = Command::new("busybox")
        .args(["setsid", "-c", "bash", "-i"])
        .current_dir("/root")
        .env("TERM", describe(terminal))
        .env("TERMINFO", TERMINFO)
        .env("PS1", format!("{}:\\w\\$ ", release.trim()))
        .stdin(copy()?)
        .stdout(copy()?)
        .stderr(copy()?)
        .spawn()
        .map_err(AgentError::Shell)?;
    drop(slave);
    let (to, from) = channel();
    let screen = master.try_clone().map_err(AgentError::Shell)?;
    pump(screen, to.clone(), WirePiece::Stdout);
    let mut keys = master;
    feed(port, move |input| match input {
        KeyInput::Bytes(bytes) => keys.write_all(&bytes).is_ok(),
        KeyInput::Size(rows, columns) => {
            resize(&keys, rows, columns);
            true
        }
        // Ctrl-D, as when a terminal hangs up.
        KeyInput::End => keys.write_all(&[4]).is_ok(),
    });
    std::thread::spawn(move || {
        let _ = to.send(ExecEvent::Exit(child.wait()));
    });
    collect(&from, 1, outputs)
}

/// Puts the terminal's description where programs find it; returns the name of its kind.
fn describe(terminal: &TerminalSize) -> &str {
    let put = || -> io::Result<()> {
        let first = terminal.name.get(..1).unwrap_or("x");
        let folder = Path::new(TERMINFO).join(first);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(&terminal.name), &terminal.terminfo)
    };
    if terminal.terminfo.is_empty() || terminal.name.contains('/') || put().is_err() {
        // A kind of terminal that needs no description.
        return "dumb";
    }
    &terminal.name
}

fn resize(terminal: &File, rows: u16, columns: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // If the kernel rejects the size, the previous one stays.
    let _ = tcsetwinsize(terminal, size);
}

/// Passes each piece of input to `take`, in a thread of its own, until `take` returns false.
fn feed(mut port: File, mut take: impl FnMut(KeyInput) -> bool + Send + 'static) {
    std::thread::spawn(move || {
        let mut reader = PieceReader::default();
        let mut buffer = [0; 1 << 12];
        loop {
            match port.read(&mut buffer) {
                // The host has not opened its side yet.
                Ok(0) => std::thread::sleep(Duration::from_millis(10)),
                Ok(count) => reader.push(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
            while let Ok(Some((kind, bytes))) = reader.next_of_any_kind() {
                if let Some(input) = KeyInput::from_parts(kind, &bytes)
                    && !take(input)
                {
                    return;
                }
            }
        }
    });
}
