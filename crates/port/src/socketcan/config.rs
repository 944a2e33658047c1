//! What a user can choose of a CAN interface.

use linux::link::Setup;

/// By which way frames are received.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ReceiveBy {
    /// `read`: one frame a call, as the simplest gateway in user space does it (syscalls-2014
    /// §3.2.4). The worker waits before.
    Read,
    /// `read`, and the worker never waits: it asks again and again.
    ReadNonblock,
    /// As [`ReceiveBy::ReadNonblock`], and the calls poll the controller themselves where the
    /// kernel knows how (`SO_BUSY_POLL`).
    ReadBusypoll,
    /// `recvmmsg`: many frames a call, with the kernel's stamps.
    #[default]
    Recvmmsg,
    /// A ring of memory that the kernel writes frames to (`PACKET_MMAP`); no call for a frame.
    Ring,
    /// As [`ReceiveBy::Ring`], and the worker never waits: it looks into the ring again and again.
    RingBusy,
    /// `io_uring`: the kernel fills buffers that were provided before.
    IoUring,
}

impl ReceiveBy {
    /// Each with its word in `gateway.toml`.
    pub const ALL: [(&'static str, Self); 7] = [
        ("read", Self::Read),
        ("read-nonblock", Self::ReadNonblock),
        ("read-busypoll", Self::ReadBusypoll),
        ("recvmmsg", Self::Recvmmsg),
        ("ring", Self::Ring),
        ("ring-busy", Self::RingBusy),
        ("io_uring", Self::IoUring),
    ];

    /// Its word in `gateway.toml`.
    #[must_use]
    pub fn word(self) -> &'static str {
        word(&Self::ALL, &self)
    }
}

/// By which way frames are transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum TransmitBy {
    /// `write`: one frame a call.
    Write,
    /// `sendmmsg`: many frames a call.
    #[default]
    Sendmmsg,
    /// A ring of memory from which the kernel sends (`PACKET_MMAP`): many frames a call, without
    /// the CAN protocol's part of the kernel.
    Ring,
    /// `io_uring`: many frames a call, from a queue of requests.
    IoUring,
}

impl TransmitBy {
    /// Each with its word in `gateway.toml`.
    pub const ALL: [(&'static str, Self); 4] = [
        ("write", Self::Write),
        ("sendmmsg", Self::Sendmmsg),
        ("ring", Self::Ring),
        ("io_uring", Self::IoUring),
    ];

    /// Its word in `gateway.toml`.
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

/// A CAN interface and what to do with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketCanConfig {
    /// The interface's name.
    pub interface: String,
    /// How the interface is set up; `None`: it is taken as it is.
    pub setup: Option<Setup>,
    /// The interface can be absent; the port then waits for it.
    pub may_be_absent: bool,
    /// Take and send FD frames, where the interface can.
    pub fd: bool,
    /// Take and send XL frames, where the interface can.
    pub xl: bool,
    /// Frames that are kept while the interface has no room; at least 1.
    pub queue: usize,
    /// The socket's receive buffer in bytes; the kernel's default where absent.
    pub receive_buffer: Option<u32>,
    /// The controller's stamps instead of the kernel's, where the driver has them. Their epoch
    /// is the controller's.
    pub hardware_stamps: bool,
    /// How frames come in.
    pub receive: ReceiveBy,
    /// How frames go out.
    pub transmit: TransmitBy,
    /// With [`TransmitBy::Ring`]: straight to the driver, past the interface's queue.
    pub qdisc_bypass: bool,
    /// Receive what this very port sends with [`Outgoing::echo`](crate::Outgoing::echo), when the
    /// driver echoes it: where the driver waits for that, at its end of frame. Not by rings, which
    /// do not see it.
    pub own: bool,
}

impl SocketCanConfig {
    /// An interface with the defaults: classic and FD frames, `recvmmsg` and `sendmmsg`, a queue of
    /// 128 frames.
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
