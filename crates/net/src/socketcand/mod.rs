//! socketcand's protocol in raw mode: text elements `< … >`.
//!
//! The elements are those of socketcand 0.6.1 (`doc/protocol.md`, `state_raw.c`). `< list >` is
//! that of its proposed extension (pull request 78): a client may send it before it opens a bus. A
//! conversation begins with `< hi >`, `< open BUS >`, `< ok >`, `< rawmode >` and `< ok >`. Then
//! `< frame ID SECONDS.MICROSECONDS HEX >` is a received frame, and `< send ID DLC B B … >` one to
//! send. 3 digits are a standard identifier, 8 an extended one.
//!
//! The protocol has no remote frames, no FD, and of an error frame only its class. socketcand reads
//! the DLC as a decimal number and python-can writes it in hex, which is the same up to 8.

mod client;
mod element;
mod server;

pub use client::SocketcandClient;
pub use element::{carries, is_bus_name};
pub use server::SocketcandServer;
