//! The agent of an inner machine: it loads the modules of its image, reports that it is ready, and
//! serves the requests of the outer guest, one after the other.

use super::error::AgentError;
use super::system::{port_both_ways, serial_line};
use crate::inner::parts::ORDER;
use crate::inner::request::InnerRequest;
use crate::program;
use crate::wire::{LONGEST, PieceReader, WirePiece};
use crate::with_causes;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns whether this is an inner machine.
pub(super) fn is_here() -> Result<bool, AgentError> {
    Ok(kernel_line()?
        .split_whitespace()
        .any(|word| word == "cangate.inner=1"))
}

fn kernel_line() -> Result<String, AgentError> {
    let path = Path::new("/proc/cmdline");
    fs::read_to_string(path).map_err(AgentError::file("read", path))
}

/// Opens the port to the outer guest: a virtio port, or a serial line if the kernel's command line
/// names one.
fn port() -> Result<File, AgentError> {
    let line = kernel_line()?;
    let mut words = line.split_whitespace();
    match words.find_map(|word| word.strip_prefix("cangate.port=")) {
        Some(path) => serial_line(Path::new(path)),
        None => port_both_ways(),
    }
}

/// Serves until the machine is ended from outside.
pub(super) fn serve() -> Result<(), AgentError> {
    let path = Path::new("/").join(ORDER);
    let order = fs::read_to_string(&path).map_err(AgentError::file("read", &path))?;
    for module in order.lines() {
        program::output(None, &["insmod", &format!("/lab/modules/{module}")])?;
    }
    program::output(None, &["ip", "link", "set", "lo", "up"])?;
    let mut port = port()?;
    let mut reader = PieceReader::default();
    send(&mut port, &WirePiece::Ready(String::new()))?;
    let mut buffer = [0; 1 << 12];
    loop {
        while let Some((kind, bytes)) = reader.next_of_any_kind().map_err(garbled)? {
            let Some(request) = InnerRequest::from_parts(kind, &bytes) else {
                send(
                    &mut port,
                    &WirePiece::Failed("it received an unknown request".to_owned()),
                )?;
                continue;
            };
            let last = match answer(&request, &mut port) {
                Ok(status) => WirePiece::Status(status),
                Err(error) => WirePiece::Failed(with_causes(&error)),
            };
            send(&mut port, &last)?;
        }
        match port.read(&mut buffer) {
            // No process has opened the other side yet.
            Ok(0) => std::thread::sleep(std::time::Duration::from_millis(10)),
            Ok(count) => reader.push(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(AgentError::Host(error)),
        }
    }
}

fn garbled(error: crate::wire::WireError) -> AgentError {
    AgentError::Host(io::Error::other(error))
}

fn send(port: &mut File, piece: &WirePiece) -> Result<(), AgentError> {
    piece.write(port).map_err(AgentError::Host)
}

/// Carries out the request, and returns its exit status.
fn answer(request: &InnerRequest, port: &mut File) -> Result<i32, AgentError> {
    match request {
        InnerRequest::Run(words) => {
            let (program, arguments) = words.split_first().ok_or(AgentError::NoCommand)?;
            let output = Command::new(program)
                .args(arguments)
                .current_dir("/root")
                .stdin(Stdio::null())
                .output()
                .map_err(AgentError::file("run", Path::new(program)))?;
            for part in output.stdout.chunks(LONGEST) {
                send(port, &WirePiece::Stdout(part.to_vec()))?;
            }
            for part in output.stderr.chunks(LONGEST) {
                send(port, &WirePiece::Stderr(part.to_vec()))?;
            }
            let signal = || output.status.signal().map(|signal| 128 + signal);
            Ok(output.status.code().or_else(signal).unwrap_or(255))
        }
        InnerRequest::Read(path) => {
            let path = Path::new(path);
            let bytes = fs::read(path).map_err(AgentError::file("read", path))?;
            for part in bytes.chunks(LONGEST) {
                send(port, &WirePiece::Part(part.to_vec()))?;
            }
            Ok(0)
        }
    }
}
