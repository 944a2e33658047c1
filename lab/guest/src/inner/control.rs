//! Control of an inner machine through QEMU's socket, while the machine runs (the QEMU Machine
//! Protocol: a line of JSON each way).

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Time in which QEMU must answer, in the guest's time: other machines can keep it from the
/// processor.
const QEMU_TIMEOUT: Duration = Duration::from_secs(60);

fn socket(name: &str) -> String {
    format!("/run/{name}.qmp")
}

/// Returns the words of QEMU's command line for the control socket.
pub(super) fn words(name: &str) -> [String; 2] {
    let way = format!("unix:{},server=on,wait=off", socket(name));
    ["-qmp".to_owned(), way]
}

/// Resets the machine. Its devices are reset when this returns.
pub(super) fn reset(name: &str) -> io::Result<()> {
    let stream = UnixStream::connect(socket(name))?;
    stream.set_read_timeout(Some(QEMU_TIMEOUT))?;
    let mut lines = BufReader::new(&stream);
    wait(&mut lines, "QMP")?;
    for command in ["qmp_capabilities", "system_reset"] {
        (&stream).write_all(format!("{{\"execute\": \"{command}\"}}\n").as_bytes())?;
    }
    // The event comes when all devices are reset; QEMU answers the command earlier.
    wait(&mut lines, "event RESET")
}

/// Reads until QEMU sends `what`: `event NAME`, or an object with this key.
fn wait(lines: &mut impl BufRead, what: &str) -> io::Result<()> {
    let event = what.strip_prefix("event ");
    let mut line = String::new();
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let output: Value = serde_json::from_str(&line)?;
        if let Some(error) = output.get("error") {
            return Err(io::Error::other(error.to_string()));
        }
        let found = match event {
            Some(name) => output.get("event").and_then(Value::as_str) == Some(name),
            None => output.get(what).is_some(),
        };
        if found {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_is_waited_for() {
        let output = "{\"QMP\": {}}\n{\"return\": {}}\n{\"event\": \"STOP\"}\n{\"event\": \"RESET\"}\n{\"return\": 1}\n";
        let mut lines = output.as_bytes();
        wait(&mut lines, "QMP").unwrap();
        wait(&mut lines, "event RESET").unwrap();
        assert_eq!(lines, b"{\"return\": 1}\n");
        assert_eq!(
            wait(&mut lines, "event RESET").unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        let mut refused = "{\"error\": {\"desc\": \"no\"}}\n".as_bytes();
        assert!(wait(&mut refused, "return").is_err());
    }
}
