//! Which frame that came out is which frame that went in.
//!
//! A [`Matcher`] knows a frame again by a key: a number in the payload as in gateway-2011 §2.1,
//! identifier and payload, where the caller says what a frame is expected to look like when it
//! comes out ([`Rule`], [`Key`]), or anything else that can be hashed, such as a port and a token.
//! What it remembers of the frames that went in is one of two:
//!
//! * [`Queued`]: any key; frames with one key come out in the order in which they went in. A frame
//!   that did not come out in time is lost, and only so many are remembered.
//! * [`Numbered`]: a 16-bit number; the frame that had it last has it. Nothing is allocated, and
//!   nothing is given up by time: that is for callers who learn the time of a frame only later.
//!
//! What this cannot see: with a key that several frames share (identifier only, or a payload that
//! repeats), the loss of one frame shifts its latency to those with the same key. Such matches are
//! marked [`Match::ambiguous`] and counted.

mod key;
mod matcher;
mod numbered;
mod order;
mod queued;

pub use key::{Key, Rule};
pub use matcher::{Counts, GivenUp, Match, Matcher, Origin, Outcome, Remember, Sent};
pub use numbered::Numbered;
pub use order::Order;
pub use queued::{Queued, Settings};
