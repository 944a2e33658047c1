//! `kind = "messages"`: messages that the gateway makes itself, from the signals of others.
//!
//! The port is no bus. Its transmitting half takes the frames that routes lead to it, and reads
//! signals from them; its receiving half hands over the messages that it makes, for routes to carry
//! to a bus. [`rules`] has the rules; this module has the keys, and finds the messages and
//! signals in the databases of the gateway file.

mod bind;
mod consistency;
mod halves;
mod kind;
mod lookup;
pub mod rules;
mod settings;
mod spec;

#[cfg(test)]
mod tests;

pub use bind::ComposedSettings;
pub use kind::ComposedPorts;
