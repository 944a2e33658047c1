//! The ways to receive and to transmit frames that a user can choose.

use config::word_of;

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
        word_of(&Self::ALL, &self)
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
        word_of(&Self::ALL, &self)
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
