//! QEMU's monitor: a line of JSON each way (the QEMU Machine Protocol), by its standard input and
//! output, so that no socket needs a place in the file system.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

/// The reason why QEMU's monitor did not carry out a command.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// QEMU was started without a monitor.
    #[error("QEMU has no monitor")]
    Absent,
    /// The monitor accepts no command.
    #[error("QEMU accepts no command")]
    Write(#[source] std::io::Error),
    /// The monitor refuses a command.
    #[error("QEMU refuses {command}: {reason}")]
    Refused {
        /// The name of the command.
        command: String,
        /// QEMU's error message.
        reason: String,
    },
    /// The monitor does not answer.
    #[error("QEMU does not answer in time")]
    Timeout,
    /// QEMU has ended.
    #[error("QEMU ended")]
    Ended,
    /// QEMU could not write the machine's state.
    #[error("QEMU cannot save the machine: {reason}")]
    NotSaved {
        /// QEMU's error message.
        reason: String,
    },
}

/// The monitor of a running QEMU.
pub(super) struct QemuMonitor {
    to: ChildStdin,
    from: Receiver<Value>,
    /// Events that came before the answer to a command.
    events: VecDeque<Value>,
}

impl QemuMonitor {
    /// Takes the monitor over.
    pub(super) fn new(to: ChildStdin, from: ChildStdout) -> Self {
        let (send, receive) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                let Ok(value) = serde_json::from_str(&line) else {
                    continue;
                };
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        Self {
            to,
            from: receive,
            events: VecDeque::new(),
        }
    }

    /// Negotiates capabilities: the monitor accepts commands only afterwards.
    pub(super) fn greet(&mut self, deadline: Instant) -> Result<(), MonitorError> {
        self.command("qmp_capabilities", &json!({}), deadline)
            .map(|_| ())
    }

    /// Sends a command and waits for its answer; events before it are kept for
    /// [`QemuMonitor::event`].
    pub(super) fn command(
        &mut self,
        name: &str,
        arguments: &Value,
        deadline: Instant,
    ) -> Result<Value, MonitorError> {
        let line = json!({ "execute": name, "arguments": arguments }).to_string();
        self.to
            .write_all(format!("{line}\n").as_bytes())
            .map_err(MonitorError::Write)?;
        loop {
            let answer = self.next(deadline)?;
            if let Some(error) = answer.get("error") {
                let reason = error.get("desc").and_then(Value::as_str);
                return Err(MonitorError::Refused {
                    command: name.to_owned(),
                    reason: reason.unwrap_or("no reason").to_owned(),
                });
            }
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            }
            self.events.push_back(answer);
        }
    }

    /// Waits for an event of one of these names; others before it are discarded.
    pub(super) fn event(
        &mut self,
        names: &[&str],
        deadline: Instant,
    ) -> Result<Value, MonitorError> {
        loop {
            let value = match self.events.pop_front() {
                Some(value) => value,
                None => self.next(deadline)?,
            };
            let name = value.get("event").and_then(Value::as_str);
            if name.is_some_and(|name| names.contains(&name)) {
                return Ok(value);
            }
        }
    }

    fn next(&mut self, deadline: Instant) -> Result<Value, MonitorError> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.from.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => MonitorError::Timeout,
            RecvTimeoutError::Disconnected => MonitorError::Ended,
        })
    }
}
