//! Messages that a gateway makes itself, from the signals of others; no I/O, no clock.
//!
//! A [`MessageComposer`] takes frames ([`MessageComposer::take`]), keeps the last value of each
//! signal that a message needs, and makes frames at its own times ([`MessageComposer::make`]): in a
//! cycle, when a value has changed, or as the answer to a remote frame. A source that is silent for
//! too long gets a substitute value, sets a status signal, or stops the message.
//!
//! All times are passed in, in nanoseconds of any one clock.
//!
//! A made frame is not the copy of a received one, so it has a sum of its own: the number of made
//! frames is what the composer hands over, and each due time without a frame is counted with its
//! reason ([`ComposerCounters`]).

mod composer;
mod definition;
mod source;
mod timing;

#[cfg(test)]
mod tests;

pub use composer::{ComposerCounters, MessageComposer};
pub use definition::{
    AliveCounter, ComposedMessage, CompositionError, InputMessage, InputSignal, SendTiming,
    SignalAssignment, SilenceRule, SilentValue, SourceIndex,
};
