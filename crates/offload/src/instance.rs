//! Which gateway is it? Its name, and the one process that may act for it.
//!
//! What is put into the kernel carries a mark of the instance, so that the next process finds what
//! a crash left. While one runs no other can: whoever acts for an instance holds an abstract Unix
//! socket of its mark, of which there can be one in a network namespace. The kernel closes it with
//! the process, however that ends.

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::os::fd::OwnedFd;

/// A gateway by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    name: String,
    mark: u16,
}

impl Instance {
    /// The same name gives the same marks, also after a restart and in later versions.
    #[must_use]
    pub fn new(name: &str) -> Self {
        // FNV-1a of 32 bits (Fowler, Noll, Vo), folded.
        let hash = name.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        Self {
            name: name.to_owned(),
            mark: 0x8000 | (hash >> 16 ^ hash) as u16,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mark of its rule of can-gw with a number.
    #[must_use]
    pub const fn uid(&self, number: u16) -> u32 {
        (self.mark as u32) << 16 | number as u32
    }

    /// Is a rule of can-gw with this mark one of ours?
    #[must_use]
    pub const fn owns(&self, uid: u32) -> bool {
        uid >> 16 == self.mark as u32
    }

    /// Makes sure that no other process acts for it in one `way`, until the result is dropped.
    pub(crate) fn hold(&self, way: &str) -> Result<Hold, Held> {
        Hold::new(&format!("cangate/{way}/{:04x}", self.mark))
    }
}

/// Why something cannot be held.
#[derive(Debug)]
pub(crate) enum Held {
    /// A process has it.
    By(Option<u32>),
    /// The socket failed.
    Failed(Errno),
}

/// The right to do something that one process at a time may do.
#[derive(Debug)]
pub(crate) struct Hold(#[expect(dead_code, reason = "it is held, not used")] OwnedFd);

impl Hold {
    /// Takes what a name stands for, in this network namespace.
    pub(crate) fn new(name: &str) -> Result<Self, Held> {
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(Held::Failed)?;
        let socket = || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        };
        let fd = socket().map_err(Held::Failed)?;
        match bind(&fd, &address) {
            Ok(()) => {
                listen(&fd, 1).map_err(Held::Failed)?;
                Ok(Self(fd))
            }
            Err(Errno::ADDRINUSE) => {
                let holder = || {
                    let fd = socket()?;
                    connect(&fd, &address)?;
                    socket_peercred(&fd)
                };
                let pid = holder().ok().map(|who| who.pid.as_raw_nonzero().get());
                Err(Held::By(pid.and_then(|pid| u32::try_from(pid).ok())))
            }
            Err(errno) => Err(Held::Failed(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_the_same_for_ever() {
        assert_eq!(Instance::new("").uid(1), 0x9CD9_0001);
        assert_eq!(Instance::new("gateway").uid(0xFFFF), 0xA633_FFFF);
        let one = Instance::new("one");
        assert!(one.owns(one.uid(7)));
        assert!(!one.owns(Instance::new("two").uid(7)) && !one.owns(0) && !one.owns(7));
    }

    #[test]
    fn one_process_at_a_time() {
        let instance = Instance::new("one process at a time");
        let hold = instance.hold("one").unwrap();
        let Err(Held::By(pid)) = instance.hold("one") else {
            panic!("held twice");
        };
        assert_eq!(pid, Some(std::process::id()));
        instance.hold("another").unwrap();
        drop(hold);
        instance.hold("one").unwrap();
    }
}
