//! slcan adapters at a serial device: a pseudo-terminal, whose other end is the adapter.

use crate::common::{MS, TestPort, frame, parse, until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};

/// The adapter's end.
struct SerialAdapter(File);

impl SerialAdapter {
    /// Makes a device; returns its path.
    fn new() -> (Self, String) {
        let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::io::ioctl_fionbio(&end, true).unwrap();
        grantpt(&end).unwrap();
        unlockpt(&end).unwrap();
        let path = ptsname(&end, Vec::new()).unwrap();
        (Self(File::from(end)), path.into_string().unwrap())
    }

    /// Lets the port work until the adapter has got these bytes and nothing else.
    fn expect(&mut self, port: &mut TestPort, now: u64, bytes: &str) {
        let mut text = Vec::new();
        until(|| {
            port.step(now);
            let mut buffer = [0; 256];
            match self.0.read(&mut buffer) {
                Ok(read) => text.extend_from_slice(&buffer[..read]),
                // Nothing has come yet, or no program has the device open.
                Err(error) => assert!(
                    error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(5),
                    "{error}"
                ),
            }
            text.len() >= bytes.len()
        });
        assert_eq!(String::from_utf8_lossy(&text), bytes);
    }
}

fn table(path: &str, keys: &str) -> String {
    format!("[ports.usb]\nkind = 'slcan'\ndevice = '{path}'\n{keys}")
}

#[test]
fn an_adapter_is_set_up_and_carries_frames() {
    let (mut adapter, path) = SerialAdapter::new();
    let mut port = TestPort::open(&table(&path, "bitrate = '500k'"));
    adapter.expect(&mut port, 0, "C\rS6\rO\r");
    until(|| {
        port.step(0);
        port.is_up()
    });
    // The line passes bytes as they are: no echo, no lines.
    let modes = tcgetattr(&adapter.0).unwrap();
    assert!(
        !modes
            .local_modes
            .intersects(LocalModes::ECHO | LocalModes::ICANON)
    );
    // As adapters answer: each command is acknowledged, and a frame may come in between.
    adapter
        .0
        .write_all(b"\r\r\rt1232BEEF\rT18DAF1101AA\r")
        .unwrap();
    port.until(0, |port| port.received.len() == 2);
    assert_eq!(port.received, [frame("123#BEEF"), frame("18DAF110#AA")]);
    assert!(port.send(&frame("7DF#0201"), 0));
    adapter.expect(&mut port, 0, "t7DF20201\r");
    adapter.0.write_all(b"z\r\x07").unwrap();
    until(|| {
        port.step(0);
        port.remarks().contains("1 refused frames or commands")
    });
    assert_eq!((port.tx().sent, port.rx().malformed), (1, 0));
}

#[test]
fn an_adapter_that_is_unplugged_is_opened_again() {
    let (mut adapter, path) = SerialAdapter::new();
    let folder = tempfile::tempdir().unwrap();
    // As /dev/serial/by-id: a link that leads to the present device.
    let link = folder.path().join("adapter");
    std::os::unix::fs::symlink(path, &link).unwrap();
    let mut port = TestPort::open(&table(link.to_str().unwrap(), ""));
    adapter.expect(&mut port, 0, "C\rO\r");
    port.until(0, TestPort::is_up);
    drop(adapter);
    port.until(0, |port| !port.is_up());
    assert!(!port.send(&frame("123#"), 0), "there is no adapter");
    std::fs::remove_file(&link).unwrap();
    port.step(200 * MS);
    assert!(!port.is_up());
    let (mut adapter, path) = SerialAdapter::new();
    std::os::unix::fs::symlink(path, &link).unwrap();
    adapter.expect(&mut port, 60_000 * MS, "C\rO\r");
    port.until(60_000 * MS, TestPort::is_up);
    assert_eq!(port.rx().reopened, 1);
    assert!(
        port.remarks().contains("No such file or directory"),
        "{}",
        port.remarks()
    );
}

#[test]
fn a_device_is_named_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-tty");
    std::fs::write(&file, "").unwrap();
    let mut port = TestPort::open(&table(file.to_str().unwrap(), ""));
    port.step(0);
    let remarks = port.remarks();
    assert!(
        remarks.contains("no-tty") && remarks.contains("it is not a serial device"),
        "{remarks}"
    );
    for (keys, message) in [
        (
            "device = 'ttyACM0'",
            "`device` is the path of a serial device",
        ),
        (
            "device = '/dev/x'\nlisten = 1",
            "`listen` is for a port without `device`",
        ),
        (
            "device = '/dev/x'\nbitrate = 333",
            "slcan has no such bit rate",
        ),
        (
            "listen = 1\nserial_speed = 9600",
            "`serial_speed` is for a port with `device`",
        ),
    ] {
        let (_, messages) = parse(&format!("[ports.p]\nkind = 'slcan'\n{keys}"));
        assert_eq!(messages, [message], "{keys}");
    }
}
