//! Errors of a netlink socket.

use crate::Errno;
use std::fmt;

/// An error of netlink. A refusal by the kernel is not among these: see [`super::AnswerEnd`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("the netlink socket failed: {doing}")]
    Socket {
        /// The operation that failed.
        doing: &'static str,
        /// The kernel's error.
        #[source]
        source: KernelRefusal,
    },
    /// The kernel's answer cannot be parsed.
    #[error("the kernel's answer cannot be read")]
    Answer(#[from] MalformedMessage),
}

/// The reason for which the kernel refused a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelRefusal {
    /// The kernel's error code.
    pub errno: Errno,
    /// The kernel's reason as text (`NLMSGERR_ATTR_MSG` of the extended acknowledgement), where it
    /// gives one.
    pub reason: Option<Box<str>>,
    /// The place of the attribute in the request that the kernel refuses, in bytes from its header
    /// on (`NLMSGERR_ATTR_OFFS`), where it names one.
    pub offset: Option<u32>,
}

impl From<Errno> for KernelRefusal {
    fn from(errno: Errno) -> Self {
        Self {
            errno,
            reason: None,
            offset: None,
        }
    }
}

impl fmt::Display for KernelRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.errno.fmt(f)?;
        if let Some(reason) = &self.reason {
            write!(f, "; the kernel reports: {reason}")?;
        }
        match self.offset {
            Some(offset) => write!(f, " (byte {offset} of the request)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for KernelRefusal {}

/// Received data that is not a netlink message, or whose content is inconsistent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MalformedMessage {
    /// A netlink message is shorter than its length field.
    #[error("a netlink message is shorter than its length field")]
    Message,
    /// An attribute is shorter than its length field.
    #[error("an attribute is shorter than its length field")]
    Attribute,
    /// An attribute, of this type, has a wrong number of bytes.
    #[error("attribute {0} has {1} bytes")]
    Size(u16, usize),
}

/// Returns a function that makes a system call's error an [`Error`], with the operation that
/// failed.
pub(crate) fn failed<E: Into<KernelRefusal>>(doing: &'static str) -> impl Fn(E) -> Error {
    move |source| Error::Socket {
        doing,
        source: source.into(),
    }
}
