//! IEEE 1722 (AVTP): CAN frames as ACF messages, in datagrams of UDP (annex J) and on Ethernet.
//!
//! * A datagram over UDP begins with a sequence number of 32 bits. A stream's header follows: NTSCF
//!   (subtype 82) without, or TSCF (subtype 05) with a presentation time; both have a sequence
//!   number of 8 bits and the stream's ID of 64 bits.
//! * An ACF message of CAN has flags, the number of a bus, a time stamp of 64 bits (not in *brief*
//!   messages), the identifier, the payload, and padding to 4 bytes. A remote frame has as many
//!   zero bytes as its length.
//! * The presentation time of TSCF is the low 32 bits of gPTP's clock (TAI), ns. It is that of the
//!   frame with the earliest stamp; the other frames of the datagram are as much later as their
//!   stamps are, if none of them is more than [`LONGEST_SPAN`] later.
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
pub use writer::{AcfWriter, HEADERS, TIMED_HEADERS};

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

/// The bit of a TSCF header's second byte that marks its presentation time as valid (`tv`), and the
/// one of its fourth byte that marks it as uncertain (`tu`).
const TIME_VALID: u8 = 0x01;
const TIME_UNCERTAIN: u8 = 0x01;

/// Greatest time between the stamps of a datagram's frames that one presentation time is for, ns:
/// that of the first one. It is the longest time for which a gateway's frame waits for others.
pub const LONGEST_SPAN: frame::Nanos = 100_000_000;

/// Greatest length of the messages of a datagram, bytes: the field of NTSCF has 11 bits.
const MAX_MESSAGES: usize = 2047;
