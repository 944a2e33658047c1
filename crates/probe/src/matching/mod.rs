//! Which frame that came out is which frame that went in.
//!
//! Frames are known again by a key ([`Rule`], [`Key`]): a number in the payload as in
//! gateway-2011 §2.1, or content, where the caller says what a frame is expected to look like
//! when it comes out. A frame that did not come out in time is lost.
//!
//! What this cannot see: with a key that several frames share (identifier only, or a payload that
//! repeats), frames are matched first in, first out, so that the loss of one shifts its latency to
//! its twins. Such matches are marked [`Match::ambiguous`] and counted.

mod key;
mod matcher;

pub use key::{Key, Rule};
pub use matcher::{Counts, Match, Matcher, Outcome, Sent, Settings};
