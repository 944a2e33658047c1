//! The one netlink socket (`uapi/linux/netlink.h`): messages and attributes as bytes, requests and
//! their acknowledgements, lists that may change while they are read.
//!
//! The meaning of a message is known to the code that sends it; this module knows its framing and
//! when an answer is complete.

mod conversation;
mod error;
mod message;
mod socket;

pub use conversation::{AnswerEnd, Listed};
pub(crate) use error::failed;
pub use error::{Error, KernelRefusal, MalformedMessage};
pub use message::{
    NetlinkMessage, NetlinkRequest, attribute, attributes, inner, messages, nested, number, text,
};
pub use netlink_packet_core::{NLM_F_CREATE as CREATE, NLM_F_EXCL as EXCLUSIVE};
pub use socket::NetlinkSocket;
pub(crate) use socket::bound;
