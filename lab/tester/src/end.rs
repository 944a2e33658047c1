//! One of the tester's ends of a bus: an interface or a character device.

use crate::sockets::SetUpError;
use frame::wire::BitRate;
use frame::{CanId, Frame, FrameRef, Nanos};
use linux::Errno;
use linux::can::layout::{FD_SIZE, decode, encode};
use linux::can::{FrameOptions, FrameSocket};
use linux::chardev::area::{FRAME_FD, MappedArea, TX_PENDING, at, both, first, second};
use linux::chardev::{CharControl, CharDevice, ReceiveQueue};
use std::os::fd::RawFd;
use std::time::Duration;

/// Prefix of the names of character devices.
const DEVICES: &str = "/dev/";
/// All classes of error frames (`CAN_ERR_MASK`).
const ERRORS: u32 = CanId::EFF_MASK;
/// Number of checks, and the pause between them, for the carrier of an interface that is up.
const MAX_CARRIER_CHECKS: u32 = 30;
const CARRIER_PAUSE: Duration = Duration::from_millis(100);

/// The purpose for which an end is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndPurpose<'a> {
    /// How an interface is opened.
    pub(crate) options: &'a FrameOptions,
    /// Whether the end must carry FD frames as well.
    pub(crate) fd: bool,
    /// The bus's bit rate, if it was given: a device that is stopped is started with it.
    pub(crate) rate: Option<BitRate>,
}

/// A received frame.
pub(crate) struct ArrivedFrame<'a> {
    pub(crate) frame: FrameRef<'a>,
    /// The kernel's timestamp, ns of `CLOCK_REALTIME`.
    pub(crate) software: Option<Nanos>,
    pub(crate) hardware: Option<Nanos>,
    /// Whether this machine sent the frame.
    pub(crate) local: bool,
}

pub(crate) enum BusEnd {
    Socket(FrameSocket),
    Device(Box<DeviceEnd>),
}

/// Returns whether the name is that of a character device.
pub(crate) fn is_device(name: &str) -> bool {
    name.starts_with(DEVICES)
}

impl BusEnd {
    /// Opens an end, which must be up and able to carry the frames wanted.
    pub(crate) fn open(name: &str, want: &EndPurpose<'_>) -> Result<Self, SetUpError> {
        if is_device(name) {
            return Ok(Self::Device(Box::new(DeviceEnd::open(name, want)?)));
        }
        Ok(Self::Socket(socket(name, want.options, want.fd)?))
    }

    pub(crate) fn fd(&self) -> RawFd {
        match self {
            Self::Socket(socket) => socket.fd(),
            Self::Device(device) => device.device.fd(),
        }
    }

    pub(crate) fn send(&mut self, frame: &Frame) -> Result<(), Errno> {
        match self {
            Self::Socket(socket) => socket.send(frame.view()),
            Self::Device(device) => device.send(frame),
        }
    }

    pub(crate) fn receive(
        &mut self,
        take: &mut dyn FnMut(ArrivedFrame<'_>),
    ) -> Result<usize, Errno> {
        match self {
            Self::Socket(socket) => socket.receive(&mut |arrival| {
                take(ArrivedFrame {
                    frame: arrival.frame,
                    software: arrival.software,
                    hardware: arrival.hardware,
                    local: arrival.local,
                });
            }),
            Self::Device(device) => device.receive(take),
        }
    }

    /// Returns the number of frames lost here because the receive queue was full.
    pub(crate) fn lost(&self) -> u64 {
        match self {
            Self::Socket(socket) => u64::from(socket.lost().unwrap_or(0)),
            Self::Device(device) => {
                let lost = device.queue.lost(&device.device);
                u64::from(lost.queue) + u64::from(lost.controller)
            }
        }
    }

    /// Returns the size, in bytes, of the buffer for frames not yet taken; `None` where the queue
    /// consists of slots.
    pub(crate) fn receive_buffer(&self) -> Option<u32> {
        match self {
            Self::Socket(socket) => socket.receive_buffer().ok(),
            Self::Device(_) => None,
        }
    }
}

/// An open character device, with the positions in both of its queues.
pub(crate) struct DeviceEnd {
    device: CharDevice,
    queue: ReceiveQueue,
    head: u32,
}

impl DeviceEnd {
    fn open(path: &str, want: &EndPurpose<'_>) -> Result<Self, SetUpError> {
        let device = CharDevice::open(path)?;
        let fail = |what, errno: Errno| SetUpError::System {
            interface: path.to_owned(),
            what,
            source: errno.into(),
        };
        if !device.is_on_bus() {
            let Some(rate) = want.rate else {
                return Err(SetUpError::Stopped(path.to_owned()));
            };
            let control = CharControl {
                bitrate: rate.nominal(),
                data_bitrate: want.fd.then(|| rate.data().unwrap_or(rate.nominal())),
                ..CharControl::default()
            };
            let started = device.start(&control);
            started.map_err(|errno| fail("cannot be started", errno))?;
        }
        let info = device.info().map_err(|e| fail("cannot be queried", e))?;
        let runs_fd = info.control.is_some_and(|c| c.data_bitrate.is_some());
        if want.fd && !runs_fd {
            return Err(SetUpError::NoFdDevice(path.to_owned()));
        }
        // An end that listens receives all frames; the sending end receives error frames only.
        let all: &[(u32, u32)] = if want.options.hear { &[(0, 0)] } else { &[] };
        let filtered = device.set_filters(all, ERRORS);
        filtered.map_err(|errno| fail("takes no filter", errno))?;
        let queue = ReceiveQueue::from_now(&device);
        let head = first(device.get(at::TX_HEAD));
        Ok(Self {
            device,
            queue,
            head,
        })
    }

    fn send(&mut self, frame: &Frame) -> Result<(), Errno> {
        let slot = at::tx(self.head);
        if second(self.device.get(slot + at::FLAGS)) == TX_PENDING {
            return Err(Errno::AGAIN);
        }
        let mut bytes = [0; FD_SIZE];
        let size = encode(frame.view(), &mut bytes).ok_or(Errno::INVAL)?;
        for (i, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_ne_bytes(*word);
            self.device.set(slot + at::FRAME + 8 * i, word);
        }
        let fd = if size == FD_SIZE { FRAME_FD } else { 0 };
        self.device.set(slot + at::FLAGS, both(fd, 0));
        self.head = self.head.wrapping_add(1);
        self.device.set(at::TX_HEAD, both(self.head, 0));
        self.device.ring().map(|_| ())
    }

    fn receive(&mut self, take: &mut dyn FnMut(ArrivedFrame<'_>)) -> Result<usize, Errno> {
        let waiting = self.queue.waiting(&self.device).map_err(|_| Errno::IO)?;
        for _ in 0..waiting {
            let mut bytes = [0; FD_SIZE];
            let slot = self.queue.take(&self.device, &mut bytes);
            if let Some(frame) = decode(slot.bytes) {
                take(ArrivedFrame {
                    frame,
                    software: Some(slot.time),
                    hardware: None,
                    local: slot.sent,
                });
            }
        }
        if waiting > 0 {
            self.queue.release(&self.device);
        } else if self.device.info().is_err() {
            return Err(Errno::NODEV);
        } else if !self.device.is_on_bus() {
            return Err(Errno::NETDOWN);
        }
        Ok(waiting as usize)
    }
}

/// Returns the bit rates with which a device runs; `None` where it is stopped.
pub(crate) fn device_rate(path: &str) -> Result<Option<BitRate>, SetUpError> {
    let device = CharDevice::open(path)?;
    device.bit_rate().map_err(|errno| SetUpError::System {
        interface: path.to_owned(),
        what: "cannot be queried",
        source: errno.into(),
    })
}

/// Opens a socket on an interface, which must be up and able to carry the frames wanted.
fn socket(name: &str, options: &FrameOptions, fd: bool) -> Result<FrameSocket, SetUpError> {
    let socket = FrameSocket::open(name, options)?;
    let look = || {
        socket.query_state().map_err(|errno| SetUpError::System {
            interface: name.to_owned(),
            what: "cannot be queried",
            source: errno.into(),
        })
    };
    let mut state = look()?;
    let mut looks = 0;
    // The kernel may report the carrier of an interface late.
    while state.up && !state.is_usable() && looks < MAX_CARRIER_CHECKS {
        std::thread::sleep(CARRIER_PAUSE);
        state = look()?;
        looks += 1;
    }
    if !state.is_usable() {
        return Err(SetUpError::Down(name.to_owned()));
    }
    if fd && !state.carries_fd() {
        return Err(SetUpError::NoFd(name.to_owned()));
    }
    Ok(socket)
}
