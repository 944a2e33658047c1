//! Conversion of logs and datasets.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod convert;
mod tshark;
