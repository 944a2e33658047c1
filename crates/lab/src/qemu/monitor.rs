//! QEMU's monitor: a line of JSON each way (the QEMU Machine Protocol), by its standard input and
//! output, so that no socket needs a place in the file system.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

/// The monitor of a running QEMU.
pub(super) struct Monitor {
    to: ChildStdin,
    from: Receiver<Value>,
    /// Events that came while the answer to a command was waited for.
    events: VecDeque<Value>,
}

impl Monitor {
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

    /// Greets: commands are taken only then.
    pub(super) fn greet(&mut self, deadline: Instant) -> Result<(), String> {
        self.command("qmp_capabilities", &json!({}), deadline)
            .map(|_| ())
    }

    /// Gives a command and waits for its answer; events before it are kept for
    /// [`Monitor::event`].
    pub(super) fn command(
        &mut self,
        name: &str,
        arguments: &Value,
        deadline: Instant,
    ) -> Result<Value, String> {
        let line = json!({ "execute": name, "arguments": arguments }).to_string();
        self.to
            .write_all(format!("{line}\n").as_bytes())
            .map_err(|e| format!("QEMU takes no command: {e}"))?;
        loop {
            let answer = self.next(deadline)?;
            if let Some(error) = answer.get("error") {
                let words = error
                    .get("desc")
                    .and_then(Value::as_str)
                    .unwrap_or("no reason");
                return Err(format!("QEMU refuses {name}: {words}"));
            }
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            }
            self.events.push_back(answer);
        }
    }

    /// Waits for an event of one of these names; others before it are forgotten.
    pub(super) fn event(&mut self, names: &[&str], deadline: Instant) -> Result<Value, String> {
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

    fn next(&mut self, deadline: Instant) -> Result<Value, String> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.from.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => "QEMU does not answer in time".to_owned(),
            RecvTimeoutError::Disconnected => "QEMU ended".to_owned(),
        })
    }
}
