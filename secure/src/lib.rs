//! Carries the datagrams and connections of gateways over networks that are not trusted.
//!
//! A gateway's port on loopback, `ieee1722` or `cannelloni` over UDP, has its datagrams carried by
//! DTLS 1.2 with pre-shared keys; ports over TCP have their connections carried by TLS 1.3 with
//! certificates. See docs/secure.md for users, and docs/decisions/0044-secure.md for the reasons.
//!
//! | module | responsibility |
//! |---|---|
//! | [`settings`] | the file of settings |
//! | [`secrets`] | files with keys, which others must not read |
//! | [`datagram`] | datagrams over DTLS: sessions, handshakes, fates; no sockets, no clock |
//! | [`stream`] | connections over TLS: bytes, ends, reasons; no sockets, no clock |
//! | [`counters`] | the fates of datagrams and connections, and their sums |
//! | [`notes`] | a bound for messages |
//! | [`udp`], [`tcp`] | links with their sockets |
//! | [`run`] | all of these together |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod counters;
mod crowd;
pub mod datagram;
pub mod notes;
pub mod run;
pub mod secrets;
pub mod settings;
pub mod stream;
pub mod tcp;
pub mod udp;
mod values;
mod wait;
