//! The client side of the control socket: requests to a running gateway.

use super::protocol::{ControlRequest, VERSION, WatchedFrames};
use serde_json::Value;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum length of a reply in bytes: the counters of a million routes fit.
const MAX_REPLY: u64 = 1 << 30;

/// The reason why a running gateway gave no answer.
#[derive(thiserror::Error, Debug)]
pub enum CallError {
    /// No gateway listens at the socket.
    #[error(
        "no gateway listens at {path}: start one with `cangate run`, or name its socket with \
         --socket"
    )]
    NoListener {
        /// The socket.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The socket belongs to another user.
    #[error(
        "{path} cannot be used: it belongs to the user who started the gateway; ask as that user, or \
         as root (`sudo`)"
    )]
    NotAllowed {
        /// The socket.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The gateway did not answer in time.
    #[error("the gateway at {path} did not answer within {seconds} s")]
    Silent {
        /// The socket.
        path: PathBuf,
        /// The time that the client waited, in seconds.
        seconds: u64,
    },
    /// Reading or writing failed.
    #[error("the connection to the gateway at {path} broke ({source})")]
    Broken {
        /// The socket.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The answer is not in cangate's protocol.
    #[error("the program at {path} does not speak cangate's protocol, version {VERSION}")]
    Strange {
        /// The socket.
        path: PathBuf,
    },
    /// The gateway refused the request.
    #[error("{0}")]
    Refused(String),
}

/// Sends one request and returns the answer.
///
/// # Errors
/// [`CallError`]; the gateway's own error message is in [`CallError::Refused`].
pub fn request(
    path: &Path,
    request: &ControlRequest,
    patience: Duration,
) -> Result<Value, CallError> {
    ControlConnection::open(path, patience)?.ask(request)
}

/// A connection to a running gateway, for several requests, or for frames that are watched.
#[derive(Debug)]
pub struct ControlConnection {
    path: PathBuf,
    patience: Duration,
    stream: BufReader<UnixStream>,
    /// Whether frames are waited for without a limit of time.
    is_unlimited: bool,
}

impl ControlConnection {
    /// Connects. Each answer may take as long as `patience`.
    ///
    /// # Errors
    /// [`CallError`]
    pub fn open(path: &Path, patience: Duration) -> Result<Self, CallError> {
        let stream = UnixStream::connect(path).map_err(|source| match source.kind() {
            ErrorKind::PermissionDenied => CallError::NotAllowed {
                path: path.to_owned(),
                source,
            },
            _ => CallError::NoListener {
                path: path.to_owned(),
                source,
            },
        })?;
        let connection = Self {
            path: path.to_owned(),
            patience,
            stream: BufReader::new(stream),
            is_unlimited: false,
        };
        let stream = connection.stream.get_ref();
        let set = stream
            .set_read_timeout(Some(patience))
            .and_then(|()| stream.set_write_timeout(Some(patience)));
        set.map_err(|error| connection.broken(error))?;
        Ok(connection)
    }

    /// Connects once more, for a client that was silent: the gateway disconnects it after some
    /// seconds.
    ///
    /// # Errors
    /// [`CallError`]
    pub fn reopen(&mut self) -> Result<(), CallError> {
        *self = Self::open(&self.path, self.patience)?;
        Ok(())
    }

    /// Sends a request and returns the answer.
    ///
    /// # Errors
    /// [`CallError`]; the gateway's own error message is in [`CallError::Refused`].
    pub fn ask(&mut self, request: &ControlRequest) -> Result<Value, CallError> {
        let sent = self.stream.get_mut().write_all(&request.line());
        sent.map_err(|error| self.broken(error))?;
        let mut reply = Vec::new();
        let read = (&mut self.stream)
            .take(MAX_REPLY)
            .read_until(b'\n', &mut reply);
        read.map_err(|error| self.broken(error))?;
        let strange = || CallError::Strange {
            path: self.path.clone(),
        };
        let mut reply: Value = serde_json::from_slice(&reply).map_err(|_| strange())?;
        if reply.get("cangate").and_then(Value::as_u64) != Some(VERSION) {
            return Err(strange());
        }
        if let Some(why) = reply.get("error").and_then(Value::as_str) {
            return Err(CallError::Refused(why.to_owned()));
        }
        reply.get_mut("ok").map(Value::take).ok_or_else(strange)
    }

    /// Waits for the next frames after a [`ControlRequest::Watch`], without a limit of time;
    /// returns `None` when the gateway has ended.
    ///
    /// # Errors
    /// [`CallError`]
    pub fn watched(&mut self) -> Result<Option<WatchedFrames>, CallError> {
        if !self.is_unlimited {
            let unlimited = self.stream.get_ref().set_read_timeout(None);
            unlimited.map_err(|error| self.broken(error))?;
            self.is_unlimited = true;
        }
        let mut line = Vec::new();
        let read = (&mut self.stream)
            .take(MAX_REPLY)
            .read_until(b'\n', &mut line);
        match read {
            Ok(0) => return Ok(None),
            // The gateway was killed within the line.
            Ok(_) if !line.ends_with(b"\n") => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(self.broken(error)),
        }
        let frames = WatchedFrames::parse(&line);
        frames.map(Some).map_err(|_| CallError::Strange {
            path: self.path.clone(),
        })
    }

    fn broken(&self, source: std::io::Error) -> CallError {
        match source.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => CallError::Silent {
                path: self.path.clone(),
                seconds: self.patience.as_secs(),
            },
            _ => CallError::Broken {
                path: self.path.clone(),
                source,
            },
        }
    }
}
