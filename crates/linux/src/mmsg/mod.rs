//! Many datagrams a call: buffers that are allocated once, for recvmmsg(2) and sendmmsg(2), and for
//! write(2) of one; and the ancillary data of a datagram.
//!
//! They work on any datagram socket: everything that matters is in the buffers, not in the
//! descriptor.

mod control;
mod header;
mod inbox;
mod outbox;
mod prepared;
mod send;
#[cfg(test)]
mod tests;

pub use control::{CONTROL_SIZE, DatagramControl};
pub use inbox::MmsgInbox;
pub use outbox::MmsgOutbox;
pub use prepared::{MOST_A_CALL, PreparedDatagrams};
