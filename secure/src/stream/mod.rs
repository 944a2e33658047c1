//! Connections over TLS 1.3, without sockets and without a clock.
//!
//! | module | responsibility |
//! |---|---|
//! | [`certificates`] | certificates and keys from files; reasons for a person |
//! | [`pipe`] | one connection: bytes in both directions, bounded, with their ends |

pub mod certificates;
pub mod pipe;
