//! A serial device as a connection.

use rustix::fs::OFlags;
use rustix::termios::{
    OptionalActions, QueueSelector, ioctl_tiocexcl, tcflush, tcgetattr, tcsetattr,
};
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;

/// A serial device, and the speed of its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SerialDevice {
    /// Its path, such as `/dev/ttyACM0`.
    pub(crate) path: String,
    /// The speed of the serial line, bit/s. An adapter that is a USB device itself ignores it.
    pub(crate) speed: u32,
}

impl SerialDevice {
    /// Opens the device for this process alone, without a controlling terminal: bytes pass as they
    /// are.
    ///
    /// # Errors
    /// The system's error, with the cure where there is one.
    pub(super) fn open(&self) -> io::Result<File> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut how = File::options();
        how.read(true).write(true);
        how.custom_flags(flags.bits().cast_signed());
        let file = how.open(&self.path).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                explained(&error, "add this user to its group (dialout)")
            }
            ErrorKind::ResourceBusy => explained(&error, "another program uses it, such as slcand"),
            _ => error,
        })?;
        let mut settings = tcgetattr(&file).map_err(|errno| {
            explained(
                &errno.into(),
                "it is not a serial device, such as /dev/ttyACM0",
            )
        })?;
        settings.make_raw();
        settings.set_speed(self.speed)?;
        tcsetattr(&file, OptionalActions::Now, &settings)?;
        ioctl_tiocexcl(&file)?;
        // The rest of an earlier conversation.
        tcflush(&file, QueueSelector::IOFlush)?;
        Ok(file)
    }
}

impl fmt::Display for SerialDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

fn explained(error: &io::Error, why: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{error}: {why}"))
}
