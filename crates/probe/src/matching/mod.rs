//! Which frame that came out is which frame that went in.
//!
//! A [`Matcher`] knows a frame again by a key: a number in the payload as in gateway-2011 §2.1,
//! identifier and payload, where the caller says what a frame is expected to look like when it
//! comes out ([`Rule`], [`Key`]), or anything else that can be hashed, such as a port and a token.
//! A frame that did not come out in time is lost.
//!
//! What this cannot see: with a key that several frames share (identifier only, or a payload that
//! repeats), frames are matched first in, first out, so that the loss of one shifts its latency to
//! those with the same key. Such matches are marked [`Match::ambiguous`] and counted.
//!
//! The tester of `cangate bench` and of the lab has a table of its own, in place of a matcher:
//! docs/decisions/0009-one-matcher.md says why.

mod key;
mod matcher;
mod order;

pub use key::{Key, Rule};
pub use matcher::{Counts, Match, Matcher, Outcome, Sent, Settings};
pub use order::Order;
