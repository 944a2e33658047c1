//! The settings of a CAN interface that a user can choose.

use linux::link::LinkSetup;

/// The way in which frames are received.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ReceiveBy {
    /// `read`: one frame per call, as in the simplest gateway in user space (syscalls-2014
    /// §3.2.4). The worker waits before each call.
    Read,
    /// `read`, and the worker never waits: it polls continuously.
    ReadNonblock,
    /// As [`ReceiveBy::ReadNonblock`], and the calls poll the controller themselves if the
    /// kernel supports it (`SO_BUSY_POLL`).
    ReadBusypoll,
    /// `recvmmsg`: many frames per call, with the kernel's stamps.
    #[default]
    Recvmmsg,
    /// A ring of memory that the kernel writes frames to (`PACKET_MMAP`), without a system call for
    /// each frame.
    Ring,
    /// As [`ReceiveBy::Ring`], and the worker never waits: it polls the ring continuously.
    RingBusy,
    /// `io_uring`: the kernel fills buffers that were provided before.
    IoUring,
}

impl ReceiveBy {
    /// All ways, each with its word in `gateway.toml`.
    pub const ALL: [(&'static str, Self); 7] = [
        ("read", Self::Read),
        ("read-nonblock", Self::ReadNonblock),
        ("read-busypoll", Self::ReadBusypoll),
        ("recvmmsg", Self::Recvmmsg),
        ("ring", Self::Ring),
        ("ring-busy", Self::RingBusy),
        ("io_uring", Self::IoUring),
    ];

    /// Returns its word in `gateway.toml`.
    #[must_use]
    pub fn word(self) -> &'static str {
        word(&Self::ALL, &self)
    }
}

/// The way in which frames are transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TransmitBy {
    /// `write`: one frame per call.
    Write,
    /// `sendmmsg`: many frames per call.
    #[default]
    Sendmmsg,
    /// A ring of memory from which the kernel sends (`PACKET_MMAP`): many frames per call, without
    /// the CAN protocol's part of the kernel.
    Ring,
    /// `io_uring`: many frames per call, from a queue of requests.
    IoUring,
}

impl TransmitBy {
    /// All ways, each with its word in `gateway.toml`.
    pub const ALL: [(&'static str, Self); 4] = [
        ("write", Self::Write),
        ("sendmmsg", Self::Sendmmsg),
        ("ring", Self::Ring),
        ("io_uring", Self::IoUring),
    ];

    /// Returns its word in `gateway.toml`.
    #[must_use]
    pub fn word(self) -> &'static str {
        word(&Self::ALL, &self)
    }
}

fn word<T: PartialEq>(all: &[(&'static str, T)], one: &T) -> &'static str {
    let mut all = all.iter();
    all.find(|(_, each)| each == one)
        .map_or("", |(word, _)| word)
}

/// The configuration of a port on a CAN interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketCanConfig {
    /// Name of the interface.
    pub interface: String,
    /// Settings with which the interface is set up; `None`: it is used as it is.
    pub setup: Option<LinkSetup>,
    /// Whether the interface can be absent; the port then waits for it.
    pub may_be_absent: bool,
    /// Whether to receive and send FD frames, if the interface carries them.
    pub fd: bool,
    /// Whether to receive and send XL frames, if the interface carries them.
    pub xl: bool,
    /// Number of frames that are kept while the interface has no room; at least 1.
    pub queue: usize,
    /// Size of the socket's receive buffer in bytes; the kernel's default where absent.
    pub receive_buffer: Option<u32>,
    /// Whether to use the controller's stamps instead of the kernel's, if the driver has them.
    /// Their epoch is the controller's.
    pub hardware_stamps: bool,
    /// The way in which frames are received.
    pub receive: ReceiveBy,
    /// The way in which frames are transmitted.
    pub transmit: TransmitBy,
    /// Whether frames go straight to the driver, past the interface's queue, with
    /// [`TransmitBy::Ring`].
    pub qdisc_bypass: bool,
    /// Whether to receive the frames that this port itself sends with
    /// [`Outgoing::echo`](crate::OutgoingFrame::echo), when the driver echoes them: at the end of
    /// frame, if the driver waits for that. Not by rings, which do not get them.
    pub own: bool,
}

impl SocketCanConfig {
    /// Returns the configuration of an interface with the defaults: classic and FD frames,
    /// `recvmmsg` and `sendmmsg`, a queue of 128 frames.
    #[must_use]
    pub fn new(interface: impl Into<String>) -> Self {
        Self {
            interface: interface.into(),
            setup: None,
            may_be_absent: false,
            fd: true,
            xl: false,
            queue: 128,
            receive_buffer: None,
            hardware_stamps: false,
            receive: ReceiveBy::default(),
            transmit: TransmitBy::default(),
            qdisc_bypass: false,
            own: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_a_word_of_its_own() {
        for (word, by) in ReceiveBy::ALL {
            assert_eq!(by.word(), word);
        }
        for (word, by) in TransmitBy::ALL {
            assert_eq!(by.word(), word);
        }
    }
}
