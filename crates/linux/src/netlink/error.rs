//! What can go wrong on a netlink socket.

use crate::Errno;

/// Netlink failed. What the kernel refuses is none of these: see [`super::Ended`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("the netlink socket failed: {doing}")]
    Socket {
        /// What was being done.
        doing: &'static str,
        /// What the kernel said.
        #[source]
        source: Errno,
    },
    /// What the kernel said cannot be read.
    #[error("what the kernel said cannot be read")]
    Answer(#[from] Malformed),
}

/// What came is no netlink message, or its content makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// a netlink message is shorter than it says
    #[error("a netlink message is shorter than it says")]
    Message,
    /// an attribute is shorter than it says
    #[error("an attribute is shorter than it says")]
    Attribute,
    /// attribute {0} has {1} bytes
    #[error("attribute {0} has {1} bytes")]
    Size(u16, usize),
}

/// An error of a system call, with what was being done.
pub(crate) const fn failed(doing: &'static str) -> impl Fn(Errno) -> Error {
    move |source| Error::Socket { doing, source }
}
