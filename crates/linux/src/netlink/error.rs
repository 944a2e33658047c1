//! What can go wrong on a netlink socket.

use crate::Errno;
use std::fmt;

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
        source: Refusal,
    },
    /// What the kernel said cannot be read.
    #[error("what the kernel said cannot be read")]
    Answer(#[from] Malformed),
}

/// Why the kernel did not do what it was asked to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Its error.
    pub errno: Errno,
    /// Its reason in words (`NLMSGERR_ATTR_MSG` of the extended acknowledgement), where it gives
    /// one.
    pub reason: Option<String>,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        let reason = None;
        Self { errno, reason }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{}; the kernel says: {reason}", self.errno),
            None => self.errno.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

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
pub(crate) fn failed<E: Into<Refusal>>(doing: &'static str) -> impl Fn(E) -> Error {
    move |source| Error::Socket {
        doing,
        source: source.into(),
    }
}
