//! CAN frames in the protocols that other programs speak over IP networks.
//!
//! | module | protocol | peer |
//! |---|---|---|
//! | [`cannelloni`] | datagrams of version 2, and its byte stream | cannelloni 2 |
//! | [`ieee1722`] | ACF messages in datagrams (AVTP) | Open1722, Zephyr |
//! | [`multicast`] | one msgpack map a datagram | python-can's `udp_multicast` |
//! | [`slcan`] | Lawicel's text lines over a stream | python-can's `slcan`, network adapters |
//! | [`socketcand`] | text elements over a stream | socketcand, python-can's `socketcand` |
//!
//! The crate has no I/O and no clock. A protocol of datagrams is a [`DatagramReader`] and a
//! [`DatagramWriter`]; one of streams is a [`StreamSession`], the state of one conversation. The
//! decoders are strict: input that is not exactly as the protocol defines is a fault, and a
//! datagram with a fault is left out as a whole. [`SequenceWindow`] counts what a network lost,
//! doubled or delayed, and [`FrameLedger`] how many frames that were; [`PlayOut`] gives frames the
//! gaps again with which they were sent, by their stamps or by the [`PresentationTime`] that their
//! sender set. A [`FrameTrail`] shows frames that go round in a loop; an [`IdRange`] names the
//! frames that leave before others.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod bus_frame;
pub mod cannelloni;
mod datagram;
mod digits;
mod id_range;
pub mod ieee1722;
mod ledger;
pub mod multicast;
mod play_out;
mod presentation;
mod sequence;
pub mod slcan;
pub mod socketcand;
mod stream;
mod trail;

pub use datagram::{DatagramFault, DatagramFrame, DatagramReader, DatagramWriter, NotWritten};
pub use id_range::IdRange;
pub use ledger::FrameLedger;
pub use play_out::{LateRule, PlayOut, PlayOutCounters, PlayOutRules, PlayOutStep, StampClock};
pub use presentation::PresentationTime;
pub use sequence::{Arrival, DatagramNumber, SequenceCounters, SequenceWindow};
pub use stream::{StreamEnd, StreamSession, StreamStep};
pub use trail::FrameTrail;
