//! python-can's `udp_multicast`: a datagram is one frame, as a msgpack map of the arguments of
//! `can.Message` (`can/interfaces/udp_multicast/utils.py` of python-can 4.6).
//!
//! A key that is left out has the default of `can.Message`; an unknown key makes python-can's
//! receiver fail, so none is written and none is read. The time stamp is written, and python-can
//! replaces it by the time of the reception.

mod message;
mod msgpack;

pub use message::{MulticastReader, MulticastWriter, carries};

/// The group of python-can for IPv4.
pub const GROUP_V4: std::net::Ipv4Addr = std::net::Ipv4Addr::new(239, 74, 163, 2);

/// python-can's UDP port.
pub const PORT: u16 = 43113;

/// Greatest length of a datagram that python-can reads, bytes.
pub const MAX_DATAGRAM: usize = 4096;
