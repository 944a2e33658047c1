//! Routes, the compiled routing table and its decisions; no I/O, no clock.
//!
//! A [`Routes`] value says what is wanted; compiling it gives an immutable `Table` that decides
//! about frames, and a `Memory` for what it has to remember between them (rate limits).
//!
//! The meaning starts from can-gw's (`net/can/gw.c`): what can-gw can express comes out byte for
//! byte the same.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod model;

pub use model::*;
