//! The tester on three SocketCAN interfaces or character devices.

use crate::end::{BusEnd, EndPurpose, device_rate, is_device};
use crate::wire::{ReceivedFrame, RunFault, TesterSide, TesterWire, UnsentReason};
use frame::wire::BitRate;
use frame::{Frame, Nanos};
use linux::can::{FrameOptions, OpenError};
use linux::chardev;
use linux::link::{LinkError, NetLink};
use linux::{Errno, PollSet};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::path::PathBuf;
use std::time::Duration;

/// Capacity of the sockets for frames that the tester has not taken yet, bytes as the kernel
/// counts: more than a second of the fastest bus.
const RECEIVE_BUFFER: u32 = 32 << 20;
/// The pause before another attempt where the interface's queue is full, which poll(2) does not
/// report, ns: about the time of one short frame at 1 Mbit/s.
const QUEUE_PAUSE: Nanos = 50_000;
/// Time from the first socket's request for timestamps until the kernel begins to stamp, ns.
const STAMPS_BEGIN: Nanos = 50_000_000;

/// The tester's interfaces (gateway-2011, Fig. 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TesterInterfaces {
    /// The interface that sends.
    pub send: String,
    /// The interface that stamps the frames that go into the gateway, on the same bus. Without one,
    /// the sending interface's own echo is stamped, which the driver returns when the transmission
    /// is complete.
    pub reference: Option<String>,
    /// The interface that stamps the frames that come out.
    pub receive: String,
    /// Whether the interfaces carry FD frames.
    pub fd: bool,
    /// Whether the controllers' timestamps are used instead of the kernel's.
    pub hardware_stamps: bool,
    /// The bit rates that were given: stopped character devices are started with them.
    pub rate: Option<BitRate>,
}

/// The reasons why the run cannot begin with these interfaces.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The interface cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// One interface was given for two purposes.
    #[error("{0} cannot be two of the tester's interfaces: {1}")]
    Twice(String, &'static str),
    /// The interface is switched off or bus-off.
    #[error(
        "{0} is down: switch it on (real: `ip link set {0} up type can bitrate 500000`, virtual: \
         `ip link set {0} up`), or restart it after bus-off (`ip link set {0} type can restart`)"
    )]
    Down(String),
    /// The interface does not carry FD frames.
    #[error(
        "{0} carries no FD frames: set it up for FD (real: `ip link set {0} type can bitrate \
         500000 dbitrate 2000000 fd on`, virtual: `ip link set {0} mtu 72`, both while it is \
         down), or send classic frames"
    )]
    NoFd(String),
    /// The character device cannot be opened.
    #[error(transparent)]
    Device(#[from] chardev::OpenError),
    /// The device is off the bus, and no bit rate was given with which to start it.
    #[error(
        "{0} is stopped: give --bitrate, with which it is started, or start it by a program such as \
         `cangate run`"
    )]
    Stopped(String),
    /// A character device that runs without FD.
    #[error(
        "{0} runs without FD: stop it, and let it be started with a data bit rate (--data-bitrate), or send \
         classic frames"
    )]
    NoFdDevice(String),
    /// A character device has no hardware stamps.
    #[error("{0} is a character device, whose driver stamps frames: leave out hardware stamps")]
    NoHardware(String),
    /// The timestamps are of two clocks.
    #[error(
        "{0} and {1} are not channels of one device, so their hardware stamps are of two clocks: \
         leave out hardware stamps, the kernel's are of one"
    )]
    TwoClocks(String, String),
    /// A system call failed.
    #[error("{interface}: {what}: {source}")]
    System {
        /// Which interface.
        interface: String,
        /// The operation that failed.
        what: &'static str,
        /// The kernel's error.
        source: std::io::Error,
    },
}

/// Three ends of buses.
pub struct TesterSockets {
    names: TesterInterfaces,
    send: BusEnd,
    reference: BusEnd,
    receive: BusEnd,
    /// Whether the reference is the sending interface's echo.
    echo: bool,
    poll: PollSet,
    /// Whether the last refusal was due to the interface's full queue, which poll(2) does not
    /// report.
    queue_full: bool,
    remarks: Vec<String>,
}

impl TesterSockets {
    /// Opens the interfaces, which must be up.
    ///
    /// # Errors
    /// [`SetUpError`], whose text explains what to do.
    pub fn open(names: TesterInterfaces) -> Result<Self, SetUpError> {
        different(&names)?;
        if names.hardware_stamps {
            let all = [
                Some(&names.send),
                names.reference.as_ref(),
                Some(&names.receive),
            ];
            if let Some(device) = all.into_iter().flatten().find(|name| is_device(name)) {
                return Err(SetUpError::NoHardware(device.clone()));
            }
            let reference = names.reference.as_ref().unwrap_or(&names.send);
            if device(reference) != device(&names.receive) {
                return Err(SetUpError::TwoClocks(
                    reference.clone(),
                    names.receive.clone(),
                ));
            }
        }
        let echo = names.reference.is_none();
        let listen = FrameOptions {
            fd: names.fd,
            hear: true,
            hardware_stamps: names.hardware_stamps,
            receive_buffer: Some(RECEIVE_BUFFER),
            ..FrameOptions::default()
        };
        // If the driver does not echo a frame, the kernel must, or no socket sees it (vcan).
        let open = |name: &str, options: &FrameOptions, fd| {
            BusEnd::open(
                name,
                &EndPurpose {
                    options,
                    fd,
                    rate: names.rate,
                },
            )
        };
        let driver_echoes = match open(&names.send, &FrameOptions::default(), names.fd)? {
            BusEnd::Socket(socket) => socket.query_state().is_ok_and(|state| state.echo),
            BusEnd::Device(_) => true,
        };
        let sender = FrameOptions {
            fd: names.fd,
            echo: echo || !driver_echoes,
            send_buffer: Some(1),
            ..FrameOptions::default()
        };
        let reference = names.reference.as_ref().unwrap_or(&names.send);
        let mut sockets = Self {
            send: open(&names.send, &sender, names.fd)?,
            reference: open(reference, &listen, names.fd)?,
            receive: open(&names.receive, &listen, names.fd)?,
            echo,
            poll: PollSet::with_capacity(1),
            queue_full: false,
            remarks: Vec::new(),
            names,
        };
        sockets.look_at_buffers();
        let begin = sockets.now().saturating_add(STAMPS_BEGIN);
        sockets.sleep_until(begin);
        Ok(sockets)
    }

    fn look_at_buffers(&mut self) {
        if matches!(self.receive, BusEnd::Device(_)) {
            self.remarks.push(
                "a character device keeps 64 frames for the tester: a flood on a busy machine may overrun \
                 them, which the result would report"
                    .to_owned(),
            );
        }
        let bytes = self.receive.receive_buffer().unwrap_or(RECEIVE_BUFFER);
        if bytes < RECEIVE_BUFFER {
            self.remarks.push(format!(
                "the receive buffers hold about {} frames: a flood may overrun them, which the \
                 result would report; raise net.core.rmem_max to {RECEIVE_BUFFER}, or run as root",
                bytes / 800
            ));
        }
    }

    /// Returns remarks for the user, in sentences.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns the numbers of frames that the tester's own sockets lost, reference and receiver.
    #[must_use]
    pub fn overruns(&self) -> [u64; 2] {
        [&self.reference, &self.receive].map(BusEnd::lost)
    }

    fn end(&self, side: TesterSide) -> &BusEnd {
        match side {
            TesterSide::Send => &self.send,
            TesterSide::Reference => &self.reference,
            TesterSide::Receive => &self.receive,
        }
    }

    fn fault(&self, side: TesterSide, errno: Errno) -> RunFault {
        fault(self.name(side), errno)
    }

    /// Waits until one socket is readable or writable.
    fn wait(&mut self, side: TesterSide, writable: bool, until: Nanos) -> Result<(), RunFault> {
        let left = until.saturating_sub(self.now());
        if left == 0 {
            return Ok(());
        }
        let fd = self.end(side).fd();
        self.poll.clear();
        self.poll.add_fd(fd, !writable, writable);
        let waited = self.poll.wait(Some(Duration::from_nanos(left)));
        waited.map(|_| ()).map_err(|source| RunFault::System {
            interface: self.name(side).to_owned(),
            source,
        })
    }
}

fn fault(interface: &str, errno: Errno) -> RunFault {
    let name = interface.to_owned();
    match errno {
        Errno::NETDOWN => RunFault::Down(name),
        Errno::NODEV | Errno::NXIO => RunFault::Gone(name),
        _ => RunFault::System {
            interface: name,
            source: errno.into(),
        },
    }
}

impl TesterWire for TesterSockets {
    fn now(&self) -> Nanos {
        nanos(clock_gettime(ClockId::Monotonic))
    }

    fn stamp_now(&self) -> Nanos {
        nanos(clock_gettime(ClockId::Realtime))
    }

    fn name(&self, side: TesterSide) -> &str {
        match side {
            TesterSide::Send => &self.names.send,
            TesterSide::Reference => self.names.reference.as_ref().unwrap_or(&self.names.send),
            TesterSide::Receive => &self.names.receive,
        }
    }

    fn has_reference(&self) -> bool {
        true
    }

    fn send(&mut self, frame: &Frame) -> Result<(), UnsentReason> {
        match self.send.send(frame) {
            Ok(()) => Ok(()),
            Err(e @ (Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NOMEM)) => {
                self.queue_full = matches!(e, Errno::NOBUFS | Errno::NOMEM);
                Err(UnsentReason::Full)
            }
            Err(e) => Err(UnsentReason::Fault(self.fault(TesterSide::Send, e))),
        }
    }

    fn receive(
        &mut self,
        side: TesterSide,
        take: &mut dyn FnMut(ReceivedFrame<'_>),
    ) -> Result<usize, RunFault> {
        let (hardware, echo) = (self.names.hardware_stamps, self.echo);
        let mut no_hardware = false;
        let socket = match side {
            TesterSide::Send => &mut self.send,
            TesterSide::Reference => &mut self.reference,
            TesterSide::Receive => &mut self.receive,
        };
        let received = socket.receive(&mut |arrival| {
            let error_frame = arrival.frame.id().is_err();
            if side == TesterSide::Reference && echo && !arrival.local && !error_frame {
                // From another node, not the echo of what was sent here.
                return;
            }
            let stamp = if hardware {
                no_hardware |= arrival.hardware.is_none() && !error_frame;
                arrival.hardware
            } else {
                arrival.software
            };
            take(ReceivedFrame {
                frame: arrival.frame,
                stamp,
            });
        });
        if no_hardware {
            return Err(RunFault::System {
                interface: self.name(side).to_owned(),
                source: std::io::Error::other(
                    "its driver gives no hardware stamps: leave them out to use the kernel's",
                ),
            });
        }
        received.map_err(|e| self.fault(side, e))
    }

    fn sleep_until(&mut self, at: Nanos) {
        let time = Timespec {
            tv_sec: (at / 1_000_000_000).cast_signed(),
            tv_nsec: (at % 1_000_000_000).cast_signed(),
        };
        while clock_nanosleep_absolute(ClockId::Monotonic, &time) == Err(Errno::INTR) {}
    }

    fn wait_received(&mut self, until: Nanos) -> Result<(), RunFault> {
        self.wait(TesterSide::Receive, false, until)
    }

    fn wait_room(&mut self, until: Nanos) -> Result<(), RunFault> {
        if self.queue_full {
            let again = self.now().saturating_add(QUEUE_PAUSE);
            self.sleep_until(again.min(until));
            return Ok(());
        }
        self.wait(TesterSide::Send, true, until)
    }
}

fn nanos(time: Timespec) -> Nanos {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

fn different(names: &TesterInterfaces) -> Result<(), SetUpError> {
    if names.reference.as_ref() == Some(&names.send) {
        return Err(SetUpError::Twice(
            names.send.clone(),
            "leave out the reference to use the sender's own echo",
        ));
    }
    if names.receive == names.send || names.reference.as_ref() == Some(&names.receive) {
        return Err(SetUpError::Twice(
            names.receive.clone(),
            "the one that receives is on the gateway's other bus",
        ));
    }
    Ok(())
}

/// Returns the device of which an interface is a channel, if there is one.
fn device(interface: &str) -> Option<PathBuf> {
    std::fs::canonicalize(format!("/sys/class/net/{interface}/device")).ok()
}

/// The reasons why a bit rate is not known, or does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// No such interface.
    #[error("there is no interface {0}: `ip link` lists them")]
    Missing(String),
    /// The kernel does not know the bit rate (slcan, some drivers).
    #[error(
        "the kernel does not know the bit rate of {0}: give --bitrate, or --no-bus-time where \
         its frames take no time"
    )]
    Unknown(String),
    /// A character device that is off the bus.
    #[error(
        "{0} is stopped, so that it has no bit rate: give --bitrate, with which it is started, or start it by a \
         program such as `cangate run`"
    )]
    Stopped(String),
    /// A character device that does not answer.
    #[error("{0}")]
    Device(String),
    /// FD frames are sent with a second bit rate, which is not known.
    #[error("the kernel does not know the data bit rate of {0}: give --data-bitrate, or no BRS")]
    UnknownData(String),
}

/// Returns the bit rates of an interface's bus; `None` where frames take no time, as on a virtual
/// one.
///
/// # Errors
/// [`RateError`] where the bus has a bit rate, but it is not known.
pub fn bit_rate(interface: &str, brs: bool) -> Result<Option<BitRate>, RateError> {
    if is_device(interface) {
        return match device_rate(interface) {
            Ok(Some(rate)) if brs && rate.data().is_none() => {
                Err(RateError::UnknownData(interface.to_owned()))
            }
            Ok(Some(rate)) => Ok(Some(rate)),
            Ok(None) => Err(RateError::Stopped(interface.to_owned())),
            Err(why) => Err(RateError::Device(why.to_string())),
        };
    }
    match NetLink::find(interface) {
        Ok(link) => rate_of(&link, interface, brs),
        Err(LinkError::Refused(why)) if why.errno == Errno::NODEV => {
            Err(RateError::Missing(interface.to_owned()))
        }
        Err(_) => Err(RateError::Unknown(interface.to_owned())),
    }
}

fn rate_of(link: &NetLink, interface: &str, brs: bool) -> Result<Option<BitRate>, RateError> {
    let Some(rate) = link.bit_rate else {
        return if link.is_virtual() {
            Ok(None)
        } else {
            Err(RateError::Unknown(interface.to_owned()))
        };
    };
    if brs && rate.data().is_none() {
        return Err(RateError::UnknownData(interface.to_owned()));
    }
    Ok(Some(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(send: &str, reference: Option<&str>, receive: &str) -> TesterInterfaces {
        TesterInterfaces {
            send: send.to_owned(),
            reference: reference.map(str::to_owned),
            receive: receive.to_owned(),
            fd: false,
            hardware_stamps: false,
            rate: None,
        }
    }

    #[test]
    fn one_interface_is_not_two() {
        for (send, reference, receive, word) in [
            ("a", Some("a"), "b", "echo"),
            ("a", None, "a", "other bus"),
            ("a", Some("b"), "b", "other bus"),
        ] {
            let error = different(&names(send, reference, receive)).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        assert!(different(&names("a", Some("b"), "c")).is_ok());
    }

    #[test]
    fn a_virtual_bus_takes_no_time_and_an_unknown_one_is_asked_for() {
        let kind = |kind: &str| NetLink {
            kind: kind.to_owned(),
            ..NetLink::default()
        };
        assert_eq!(rate_of(&kind("vcan"), "v", true), Ok(None));
        let unknown = rate_of(&kind("slcan"), "s", false).unwrap_err();
        assert!(unknown.to_string().contains("--bitrate"));
        let rate = BitRate::new(500_000, None).unwrap();
        let real = NetLink {
            bit_rate: Some(rate),
            ..kind("can")
        };
        assert_eq!(rate_of(&real, "c", false), Ok(Some(rate)));
        assert!(rate_of(&real, "c", true).is_err());
    }

    #[test]
    fn what_the_system_states_becomes_a_sentence() {
        assert!(matches!(fault("x", Errno::NETDOWN), RunFault::Down(_)));
        assert!(matches!(fault("x", Errno::NODEV), RunFault::Gone(_)));
        assert!(matches!(fault("x", Errno::PERM), RunFault::System { .. }));
    }
}
