//! A command, its output as it is printed, and its exit status.

use super::error::AgentError;
use super::outputs::JobOutputs;
use crate::wire::WirePiece;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Time for which processes that the command left running may still print after its end.
const LINGER: Duration = Duration::from_millis(200);

pub(super) enum ExecEvent {
    Piece(WirePiece),
    /// One of the outputs is closed.
    Closed,
    Exit(io::Result<ExitStatus>),
}

/// Runs the command.
pub(super) fn run(command: &[String], outputs: &mut JobOutputs) -> Result<i32, AgentError> {
    let (program, arguments) = command.split_first().ok_or(AgentError::NoCommand)?;
    let spawned = Command::new(program)
        .args(arguments)
        .current_dir("/root")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            outputs.log(&format!("error: the guest cannot run {program}: {error}"));
            // As a shell does.
            return Ok(if error.kind() == io::ErrorKind::NotFound {
                127
            } else {
                126
            });
        }
    };
    let (to, from) = channel();
    if let Some(pipe) = child.stdout.take() {
        pump(pipe, to.clone(), WirePiece::Stdout);
    }
    if let Some(pipe) = child.stderr.take() {
        pump(pipe, to.clone(), WirePiece::Stderr);
    }
    std::thread::spawn(move || {
        let _ = to.send(ExecEvent::Exit(child.wait()));
    });
    collect(&from, 2, outputs)
}

/// Passes on the output, until the command has ended and its outputs, of which `open` are open, are
/// closed, or the processes that it left running have been silent for a while. Returns the exit
/// status as a shell does.
pub(super) fn collect(
    from: &Receiver<ExecEvent>,
    mut open: u32,
    outputs: &mut JobOutputs,
) -> Result<i32, AgentError> {
    let as_number = |status: &ExitStatus| {
        let signal = || status.signal().map(|signal| 128 + signal);
        status.code().or_else(signal).unwrap_or(255)
    };
    let mut status = None;
    loop {
        let event = match &status {
            Some(status) if open == 0 => return Ok(as_number(status)),
            Some(status) => match from.recv_timeout(LINGER) {
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Ok(as_number(status));
                }
                Ok(event) => event,
            },
            None => from.recv().map_err(|_| AgentError::Lost)?,
        };
        match event {
            ExecEvent::Piece(piece) => outputs.hand_out(&piece)?,
            ExecEvent::Closed => open -= 1,
            ExecEvent::Exit(done) => {
                status = Some(done.map_err(AgentError::Wait)?);
            }
        }
    }
}

/// Reads an output to its end, in a thread of its own.
pub(super) fn pump(
    mut pipe: impl Read + Send + 'static,
    to: Sender<ExecEvent>,
    make: fn(Vec<u8>) -> WirePiece,
) {
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 14];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    if to
                        .send(ExecEvent::Piece(make(buffer[..count].to_vec())))
                        .is_err()
                    {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = to.send(ExecEvent::Closed);
    });
}
