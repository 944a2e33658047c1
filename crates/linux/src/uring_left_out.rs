//! Replacement of `uring` in a build without io_uring: it has the same names, and nothing can be
//! opened. Code that uses it compiles unchanged, and shows its users the text of [`left_out`].

use crate::Errno;
use std::convert::Infallible;
use std::fmt;
use std::os::fd::{AsFd, RawFd};

/// The most datagrams of one call.
pub const MOST_A_CHAIN: usize = 64;

/// Returns the reason why this build has no io_uring; `None` where it has.
#[must_use]
pub fn left_out() -> Option<String> {
    Some(if cfg!(feature = "io-uring") {
        format!(
            "this program was built for {}, whose io_uring the library `io-uring` does not support",
            std::env::consts::ARCH
        )
    } else {
        "this program was built without the feature `io-uring`".to_owned()
    })
}

/// io_uring cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UringUnavailable {
    /// The error that a kernel without io_uring would return.
    pub source: Errno,
}

impl UringUnavailable {
    const fn new() -> Self {
        Self {
            source: Errno::NOSYS,
        }
    }
}

impl std::error::Error for UringUnavailable {}

impl fmt::Display for UringUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&left_out().unwrap_or_default())
    }
}

/// Buffers for received datagrams. No value of it exists in this build.
pub struct UringInbox(Infallible);

impl UringInbox {
    /// Always fails.
    ///
    /// # Errors
    /// [`UringUnavailable`], always.
    pub fn open(_: impl AsFd, _: usize, _: usize) -> Result<Self, UringUnavailable> {
        Err(UringUnavailable::new())
    }

    /// Never called.
    #[must_use]
    pub const fn fd(&self) -> RawFd {
        match self.0 {}
    }

    /// Never called.
    #[must_use]
    pub const fn is_armed(&self) -> bool {
        match self.0 {}
    }

    /// Never called.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        match self.0 {}
    }

    /// Never called.
    #[must_use]
    pub const fn starved(&self) -> u64 {
        match self.0 {}
    }

    /// Never called.
    #[must_use]
    pub const fn get(&self, _: usize) -> Option<(&[u8], &[u8])> {
        match self.0 {}
    }

    /// Never called.
    #[must_use]
    pub const fn is_local(&self, _: usize) -> bool {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub const fn receive(&mut self, _: usize) -> Result<usize, Errno> {
        match self.0 {}
    }
}

/// Buffers for datagrams to send. No value of it exists in this build.
pub struct UringOutbox(Infallible);

impl UringOutbox {
    /// Always fails.
    ///
    /// # Errors
    /// [`UringUnavailable`], always.
    pub fn open(_: impl AsFd, _: usize, _: usize) -> Result<Self, UringUnavailable> {
        Err(UringUnavailable::new())
    }

    /// Never called.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        match self.0 {}
    }

    /// Never called.
    pub const fn slot(&mut self, _: usize) -> Option<(&mut [u8], &mut usize)> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub const fn send(&mut self, _: usize, _: usize) -> Result<usize, Errno> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_gives_the_reason() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let inbox = UringInbox::open(&socket, 1, 16).err().unwrap();
        let outbox = UringOutbox::open(&socket, 1, 16).err().unwrap();
        assert_eq!(inbox, outbox);
        let why = inbox.to_string();
        assert_eq!(Some(&why), left_out().as_ref());
        assert!(why.starts_with("this program was built "), "{why}");
    }
}
