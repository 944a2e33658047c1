//! The protocols against bytes and peers of other programs, random streams and each other.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cannelloni;
mod common;
mod ieee1722;
mod multicast;
mod play_out;
mod presentation;
mod reports;
mod sequence;
mod sequence_model;
mod slcan;
mod socketcand;
mod trails;
mod tshark;
