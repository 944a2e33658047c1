//! What a user can choose of a CAN interface.

/// The system calls that move frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Io {
    /// `recvmmsg` and `sendmmsg`: many frames a call, with the kernel's stamps.
    #[default]
    Mmsg,
    /// `read` and `write`: one frame a call, as the simplest gateway in user space does it
    /// (syscalls-2014 §3.2.4). Frames have the gateway's own stamps, and what the socket lost is
    /// asked for when somebody looks at the counters.
    ReadWrite,
}

/// A CAN interface and what to do with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketCanConfig {
    /// The interface's name.
    pub interface: String,
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
    /// How frames are moved.
    pub io: Io,
}
