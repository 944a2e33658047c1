//! Whose rule is it? Marks, and the one process that may use them.
//!
//! A rule carries 32 bits for whoever made it ([`Job::marked`](super::Job::marked) says where:
//! `CGW_MOD_UID`, or an operand). Ours hold the name of
//! the instance, hashed, in the upper half and the rule's number in the lower one. The uppermost
//! bit is always set, because people who type `cangw -u` choose small numbers.
//!
//! A mark that two instances shared by accident (1 in 32768 for two names) would let one take away
//! what the other left behind. While both run that cannot happen: whoever uses a mark holds an
//! abstract Unix socket of its name, of which there can be one in a network namespace. The kernel
//! closes it with the process, however that ends.

use super::error::Error;
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

/// The most rules that one instance can have.
pub const MOST: usize = 0xFFFF;

/// A gateway by its name, as its rules carry it.
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

    /// The mark of its rule with a number.
    #[must_use]
    pub const fn uid(&self, number: u16) -> u32 {
        (self.mark as u32) << 16 | number as u32
    }

    /// Is a rule with this mark one of ours?
    #[must_use]
    pub const fn owns(&self, uid: u32) -> bool {
        uid >> 16 == self.mark as u32
    }

    /// Makes sure that no other process uses the marks, until the result is dropped.
    pub(super) fn hold(&self) -> Result<Hold, Error> {
        let failed = |source| Error::Socket {
            doing: "seeing to it that no other process uses the same rules",
            source,
        };
        let name = format!("cangate/can-gw/{:04x}", self.mark);
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(failed)?;
        let socket = || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        };
        let fd = socket().map_err(failed)?;
        match bind(&fd, &address) {
            Ok(()) => {
                listen(&fd, 1).map_err(failed)?;
                Ok(Hold(fd))
            }
            Err(Errno::ADDRINUSE) => {
                let holder = || {
                    let fd = socket()?;
                    connect(&fd, &address)?;
                    socket_peercred(&fd)
                };
                let pid = holder().ok().map(|who| who.pid.as_raw_nonzero().get());
                Err(Error::Busy {
                    instance: self.name.clone(),
                    pid: pid.and_then(|pid| u32::try_from(pid).ok()),
                })
            }
            Err(errno) => Err(failed(errno)),
        }
    }
}

/// The right to use an instance's marks.
#[derive(Debug)]
pub(super) struct Hold(#[expect(dead_code, reason = "it is held, not used")] OwnedFd);

/// Gives out numbers that no rule has. A number that was given back is used again only after all
/// others, so that old and new rules are not mixed up.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    last: u16,
}

impl Numbers {
    /// The next mark that is not among those that are taken.
    pub(super) fn next(&mut self, instance: &Instance, taken: &BTreeSet<u32>) -> Option<u32> {
        for _ in 0..=u16::MAX {
            self.last = self.last.wrapping_add(1);
            let uid = instance.uid(self.last);
            // Number 0 stays free: counting begins behind it.
            if self.last != 0 && !taken.contains(&uid) {
                return Some(uid);
            }
        }
        None
    }

    /// Begins behind what is there.
    pub(super) fn after(&mut self, uids: impl Iterator<Item = u32>) {
        if self.last == 0 {
            self.last = uids.map(|uid| uid as u16).max().unwrap_or(0);
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
    fn numbers_are_used_again_last() {
        let instance = Instance::new("n");
        let mut numbers = Numbers::default();
        numbers.after([instance.uid(0xFFFD), instance.uid(3)].into_iter());
        let mut taken = BTreeSet::from([instance.uid(0xFFFE), instance.uid(1)]);
        let mut next = |taken: &BTreeSet<u32>| numbers.next(&instance, taken);
        assert_eq!(next(&taken), Some(instance.uid(0xFFFF)));
        assert_eq!(next(&taken), Some(instance.uid(2)));
        taken.extend((0..=u16::MAX).map(|n| instance.uid(n)));
        assert_eq!(next(&taken), None);
    }

    #[test]
    fn one_process_at_a_time() {
        let instance = Instance::new("one process at a time");
        let hold = instance.hold().unwrap();
        let Err(Error::Busy { pid, .. }) = instance.hold() else {
            panic!("held twice");
        };
        assert_eq!(pid, Some(std::process::id()));
        drop(hold);
        instance.hold().unwrap();
    }
}
