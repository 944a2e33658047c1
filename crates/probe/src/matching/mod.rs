//! The assignment of frames that came out to frames that went in.
//!
//! A [`FrameMatcher`] recognises a frame by a key: a number in the payload as in gateway-2011 §2.1,
//! identifier and payload, where the caller specifies what a frame is expected to look like when it
//! comes out ([`KeyRule`], [`FrameKey`]), or anything else that can be hashed, such as a port and a
//! token. A frame that did not come out in time is lost.
//!
//! A limitation: with a key that several frames share (identifier only, or a payload that repeats),
//! frames are matched first in, first out, so that the loss of one shifts its latency to those with
//! the same key. Such matches are marked [`MatchedFrame::ambiguous`] and counted.
//!
//! The tester of `cangate bench` and of the lab has its own table instead of a matcher:
//! docs/decisions/0009-one-matcher.md gives the reasons.

mod key;
mod matcher;
mod order;

pub use key::{FrameKey, KeyRule};
pub use matcher::{
    FrameMatcher, MatchOutcome, MatchedFrame, MatcherSettings, OutcomeCounts, SentFrame,
};
pub use order::ReorderCount;
