//! IEEE 1722 (AVTP): CAN frames as ACF messages, in datagrams of UDP (annex J) and on Ethernet.
//!
//! * A datagram over UDP begins with a sequence number of 32 bits. A stream's header follows: NTSCF
//!   (subtype 82) without, or TSCF (subtype 05) with a presentation time; both have a sequence
//!   number of 8 bits and the stream's ID of 64 bits.
//! * An ACF message of CAN has flags, the number of a bus, a time stamp of 64 bits (not in *brief*
//!   messages), the identifier, the payload, and padding to 4 bytes. A remote frame has as many
//!   zero bytes as its length.
//! * Version 2 (IEEE 1722-2025) has wider numbers of buses, and messages for CAN XL. A frame that
//!   is divided into segments is not read: a segment is a fault.
//!
//! The layouts are those of COVESA's Open1722. Messages of other types, of other streams and of
//! other buses are passed over. BRS and ESI of a classic frame are ignored: Open1722 leaves them
//! set after an FD frame.

mod message;
mod reader;
mod report;
mod trail;
mod writer;

pub use crate::cannelloni::MAX_DATAGRAM;
pub use message::{MessageVersion, frame_size};
pub use reader::{AcfReader, stream_of, unpadded_len};
pub use report::{PeerReport, REPORT_BIT, REPORT_LENGTH};
pub use trail::OWN_TRAIL;
pub use writer::{AcfWriter, HEADERS};

/// The stream ID of Open1722's programs.
pub const DEFAULT_STREAM: u64 = 0xAABB_CCDD_EEFF_0001;

/// The UDP port for continuous streams (IEEE 1722, annex J).
pub const PORT: u16 = 17_220;

/// The multicast address of streams that have none of their own: the first one of those that MAAP
/// gives away (IEEE 1722, annex B).
pub const MULTICAST: [u8; 6] = [0x91, 0xE0, 0xF0, 0x00, 0x00, 0x00];

/// Length of the sequence number before a stream's header over UDP, bytes.
pub const ENCAPSULATION: usize = 4;

/// The user-defined type of the messages between gateways.
const USER_TYPE: u8 = 0x78;

const NTSCF: u8 = 0x82;
const TSCF: u8 = 0x05;
const NTSCF_HEADER: usize = 12;
const TSCF_HEADER: usize = 24;

/// Greatest length of the messages of an NTSCF datagram, bytes: its field has 11 bits.
const MAX_MESSAGES: usize = 2047;
