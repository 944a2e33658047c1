//! Notifications of the gateway's state to the service manager that started this process:
//! sd_notify(3).
//!
//! The protocol is a datagram of lines `NAME=VALUE` to the socket that `NOTIFY_SOCKET` names. No
//! crate is used for it: `sd-notify` (0.5) does not support abstract sockets, and waits without
//! limit if the manager does not read.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The number of times within the watchdog's time that the worker is asked whether it is alive.
/// sd_watchdog_enabled(3) recommends half of the time; a third leaves time for its answer.
const BEATS: u32 = 3;

/// The longest time that the control thread waits for a manager whose queue is full.
const LONGEST: Duration = Duration::from_millis(100);

/// The service manager's settings for this process, from its environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceContext {
    /// `NOTIFY_SOCKET`: a path, or with `@` in front the name of an abstract socket.
    pub socket: OsString,
    /// The time without a sign of life after which the manager ends the process. `None`: it does
    /// not watch the process.
    pub watchdog: Option<Duration>,
}

impl ServiceContext {
    /// Reads the settings from the environment; returns `None` if no service manager expects
    /// notifications from this process.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        Self::from(|name| std::env::var_os(name), std::process::id())
    }

    fn from(variable: impl Fn(&str) -> Option<OsString>, pid: u32) -> Option<Self> {
        let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
        let socket = variable("NOTIFY_SOCKET").filter(|socket| !socket.is_empty())?;
        // A watchdog for our parent process does not apply to this one.
        let for_us =
            variable("WATCHDOG_PID").is_none() || number("WATCHDOG_PID") == Some(pid.into());
        let watchdog = number("WATCHDOG_USEC").filter(|&time| for_us && time > 0);
        Some(Self {
            socket,
            watchdog: watchdog.map(Duration::from_micros),
        })
    }

    /// Connects a socket to the manager.
    fn connect(&self) -> io::Result<UnixDatagram> {
        let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
        let address = match self.socket.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(Path::new(&self.socket))?,
            _ => return Err(invalid("neither a path nor an abstract socket's name")),
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(LONGEST))?;
        socket.connect_addr(&address)?;
        Ok(socket)
    }
}

/// The reason why the service manager could not be notified.
#[derive(thiserror::Error, Debug)]
#[error(
    "NOTIFY_SOCKET is {:?}, and notifying the service manager there failed ({source})", .socket.display()
)]
pub(crate) struct NotNotified {
    socket: OsString,
    source: io::Error,
}

/// The connection to the service manager. Without a manager, the notifications are dropped.
#[derive(Default)]
pub(crate) struct ServiceManager {
    states: Option<SentStates>,
    /// A remark that is added to each status until it is replaced: that the last reload was
    /// refused.
    pub(crate) remark: &'static str,
}

struct SentStates {
    service: ServiceContext,
    socket: UnixDatagram,
    /// The time at which the worker must be asked next; `None` if the manager does not watch.
    next: Option<Instant>,
}

impl ServiceManager {
    pub(crate) fn new(service: Option<&ServiceContext>) -> Result<Self, NotNotified> {
        let Some(service) = service else {
            return Ok(Self::default());
        };
        let socket = service.connect().map_err(|source| NotNotified {
            socket: service.socket.clone(),
            source,
        })?;
        Ok(Self {
            states: Some(SentStates {
                service: service.clone(),
                socket,
                next: None,
            }),
            ..Self::default()
        })
    }

    /// Returns whether there is a service manager.
    pub(crate) const fn listens(&self) -> bool {
        self.states.is_some()
    }

    /// Reports that all is in place, at the start or after a reload. From now on the worker is
    /// watched.
    pub(crate) fn ready(&mut self, status: &str) -> Result<(), NotNotified> {
        self.beat_later();
        self.notify(&["READY=1", &status_line(status)])
    }

    /// Reports a status that has changed between other reports.
    pub(crate) fn changed(&self, status: &str) -> Result<(), NotNotified> {
        self.notify(&[&status_line(status)])
    }

    /// Reports that a reload starts.
    pub(crate) fn reloading(&self) -> Result<(), NotNotified> {
        // The manager compares this time with the moment at which it requested the reload
        // (CLOCK_MONOTONIC).
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        let time = format!("MONOTONIC_USEC={microseconds}");
        self.notify(&["RELOADING=1", &time, &status_line("reading the file again")])
    }

    /// Reports that the gateway starts to shut down.
    pub(crate) fn stopping(&self) -> Result<(), NotNotified> {
        self.notify(&["STOPPING=1", &status_line("sending what is held")])
    }

    /// Reports that the worker is alive: it has just answered.
    pub(crate) fn alive(&mut self, status: &str) -> Result<(), NotNotified> {
        self.beat_later();
        self.notify(&["WATCHDOG=1", &status_line(status)])
    }

    /// Reports that the worker has not answered. Without a sign of life the manager ends the
    /// process when its time is up.
    pub(crate) fn silent(&mut self) -> Result<(), NotNotified> {
        self.beat_later();
        self.notify(&[&status_line("the worker does not answer")])
    }

    /// Returns the time at which the worker must be asked whether it is alive.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.states.as_ref()?.next
    }

    /// Returns the time that the worker may take to answer.
    pub(crate) fn patience(&self) -> Duration {
        self.interval().unwrap_or_default() / 2
    }

    /// Returns a sender for another thread, which gives signs of life while this thread is at work;
    /// `None` if the manager does not watch.
    pub(crate) fn pulse(&self) -> Option<WatchdogPulse> {
        let states = self
            .states
            .as_ref()
            .filter(|states| states.next.is_some())?;
        Some(WatchdogPulse {
            socket: states.socket.try_clone().ok()?,
            interval: self.interval()?,
            patience: self.patience(),
        })
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.states.as_ref()?.service.watchdog? / BEATS)
    }

    fn beat_later(&mut self) {
        let next = self.interval().map(|time| Instant::now() + time);
        if let Some(states) = &mut self.states {
            states.next = next;
        }
    }

    fn notify(&self, lines: &[&str]) -> Result<(), NotNotified> {
        let Some(states) = &self.states else {
            return Ok(());
        };
        let sent = states.socket.send(lines.join("\n").as_bytes());
        sent.map(drop).map_err(|source| NotNotified {
            socket: states.service.socket.clone(),
            source,
        })
    }
}

/// A sender of signs of life while the control thread is at work.
pub(crate) struct WatchdogPulse {
    socket: UnixDatagram,
    interval: Duration,
    patience: Duration,
}

impl WatchdogPulse {
    /// Gives signs until the other end of the channel is dropped. `lives` asks the worker and waits
    /// up to the given time for its answer.
    pub(crate) fn until(self, is_done: &Receiver<()>, lives: impl Fn(Duration) -> bool) {
        while is_done.recv_timeout(self.interval) == Err(RecvTimeoutError::Timeout) {
            let line: &[u8] = if lives(self.patience) {
                b"WATCHDOG=1"
            } else {
                b"STATUS=the worker does not answer"
            };
            // If the manager does not receive it, the manager acts; the control thread reports that
            // the manager cannot be notified.
            let _ = self.socket.send(line);
        }
    }
}

/// Formats a status; a line end in it must not start a new line of the message.
fn status_line(status: &str) -> String {
    format!("STATUS={}", status.replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn environment<'e>(pairs: &'e [(&'e str, &'e str)]) -> impl Fn(&str) -> Option<OsString> + 'e {
        move |name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        }
    }

    #[test]
    fn the_environment_states_who_waits_and_for_how_long() {
        assert_eq!(ServiceContext::from(environment(&[]), 7), None);
        assert_eq!(
            ServiceContext::from(environment(&[("NOTIFY_SOCKET", "")]), 7),
            None
        );
        let watchdog = |more: &[(&str, &str)]| {
            let all = [&[("NOTIFY_SOCKET", "@a")], more].concat();
            ServiceContext::from(environment(&all), 7).unwrap().watchdog
        };
        let second = Some(Duration::from_secs(1));
        assert_eq!(watchdog(&[]), None);
        assert_eq!(watchdog(&[("WATCHDOG_USEC", "1000000")]), second);
        assert_eq!(
            watchdog(&[("WATCHDOG_USEC", "1000000"), ("WATCHDOG_PID", "7")]),
            second
        );
        for other in ["8", "", "seven"] {
            let parent = [("WATCHDOG_USEC", "1000000"), ("WATCHDOG_PID", other)];
            assert_eq!(watchdog(&parent), None, "{other:?}");
        }
        for nonsense in ["", "0", "-1", "99999999999999999999"] {
            assert_eq!(watchdog(&[("WATCHDOG_USEC", nonsense)]), None);
        }
    }

    fn received(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 4096];
        let n = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..n].to_vec()).unwrap()
    }

    /// Checks the notifications that the manager receives, through a socket of either kind.
    fn conversation(address: &OsStr, socket: &UnixDatagram) {
        let service = ServiceContext {
            socket: address.to_owned(),
            watchdog: Some(Duration::from_secs(30)),
        };
        let mut manager = ServiceManager::new(Some(&service)).unwrap();
        assert_eq!(manager.deadline(), None, "no heartbeat before ready");
        let before = Instant::now();
        manager.ready("2 ports\nREADY=0").unwrap();
        assert_eq!(received(socket), "READY=1\nSTATUS=2 ports READY=0");
        let next = manager.deadline().unwrap().duration_since(before);
        assert!(next >= Duration::from_secs(10) && manager.patience() == Duration::from_secs(5));
        manager.reloading().unwrap();
        let text = received(socket);
        let time = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
        let (time, _) = time.split_once('\n').unwrap();
        assert!(time.parse::<u64>().unwrap() > 0);
        manager.alive("x").unwrap();
        assert_eq!(received(socket), "WATCHDOG=1\nSTATUS=x");
        manager.silent().unwrap();
        assert_eq!(received(socket), "STATUS=the worker does not answer");
        manager.stopping().unwrap();
        assert!(received(socket).starts_with("STOPPING=1\n"));
    }

    #[test]
    fn a_socket_has_a_path_or_is_abstract() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        conversation(path.as_os_str(), &UnixDatagram::bind(&path).unwrap());
        let name = format!("cangate-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let socket = UnixDatagram::bind_addr(&address).unwrap();
        conversation(OsStr::new(&format!("@{name}")), &socket);
    }

    #[test]
    fn a_socket_without_a_listener_is_reported() {
        for socket in ["relative/path", "/no/such/socket", "vsock:2:1"] {
            let service = ServiceContext {
                socket: socket.into(),
                watchdog: None,
            };
            let why = ServiceManager::new(Some(&service))
                .err()
                .unwrap()
                .to_string();
            assert!(why.contains(socket), "{why}");
        }
        let mut unmanaged = ServiceManager::new(None).unwrap();
        unmanaged.ready("x").unwrap();
        assert_eq!(unmanaged.deadline(), None);
    }

    #[test]
    fn a_manager_that_does_not_read_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let _socket = UnixDatagram::bind(&path).unwrap();
        let service = ServiceContext {
            socket: path.into(),
            watchdog: None,
        };
        let manager = ServiceManager::new(Some(&service)).unwrap();
        let full = (0..10_000).any(|_| manager.stopping().is_err());
        assert!(full, "its queue has no end");
    }
}
