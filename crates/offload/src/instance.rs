//! Which gateway is it? Its name, and the one process that may act for it.
//!
//! What is put into the kernel carries a mark of the instance, so that the next process finds what
//! a crash left. While one runs no other can: whoever acts for an instance holds an abstract Unix
//! socket of its mark, of which there can be one in a network namespace. The kernel closes it with
//! the process, however that ends.

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen,
    shutdown, socket_with,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The bit that every mark of ours has; `cangw -u` of can-utils has no reason to set it.
const OURS: u16 = 0x8000;

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
            mark: OURS | (hash >> 16 ^ hash) as u16,
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

    /// Is a rule of can-gw with this mark a cangate's, whichever it is?
    #[must_use]
    pub const fn any_owns(uid: u32) -> bool {
        uid >> 16 & OURS as u32 != 0
    }

    /// Makes sure that no other process acts for it in one `way`, until the result is dropped.
    pub(crate) fn hold(&self, way: &str) -> Result<Hold, Held> {
        Hold::new(&self.held(way))
    }

    #[cfg(any(feature = "bpf", test))]
    /// Does a process act for it in one `way`, and which, as far as it can be known?
    pub(crate) fn holder(&self, way: &str) -> Option<Option<u32>> {
        let name = self.held(way);
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?;
        match holder(&address) {
            Ok(pid) => Some(pid),
            Err(Errno::CONNREFUSED) => None,
            Err(_) => Some(None),
        }
    }

    fn held(&self, way: &str) -> String {
        format!("cangate/{way}/{:04x}", self.mark)
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
pub(crate) struct Hold(OwnedFd);

impl Hold {
    /// Takes what a name stands for, in this network namespace.
    ///
    /// A name that is taken and whose socket does not listen is just being given back, or just
    /// being taken: a program that another thread starts has a copy of every descriptor until it
    /// begins, and keeps the name for so long. That is waited for.
    pub(crate) fn new(name: &str) -> Result<Self, Held> {
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(Held::Failed)?;
        let fd = socket().map_err(Held::Failed)?;
        for _ in 0..CHANGES_HANDS {
            match bind(&fd, &address) {
                Ok(()) => {
                    listen(&fd, ASKING).map_err(Held::Failed)?;
                    return Ok(Self(fd));
                }
                Err(Errno::ADDRINUSE) => match holder(&address) {
                    Err(Errno::CONNREFUSED) => std::thread::sleep(MOMENT),
                    found => return Err(Held::By(found.unwrap_or(None))),
                },
                Err(errno) => return Err(Held::Failed(errno)),
            }
        }
        Err(Held::By(None))
    }
}

impl Drop for Hold {
    /// Says at once that nobody holds it any more, whoever has a copy of the descriptor.
    fn drop(&mut self) {
        // It can only fail for a socket that is none.
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

/// So often a name that changes hands is looked at again, a [`MOMENT`] apart: for a second.
const CHANGES_HANDS: u32 = 1000;
/// See [`CHANGES_HANDS`].
const MOMENT: Duration = Duration::from_millis(1);

/// So many can ask who holds something; nobody answers them, and the kernel keeps them all. Those
/// who come later learn that it is held and not by whom.
const ASKING: i32 = 1024;

fn socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// The process that listens there.
fn holder(address: &SocketAddrUnix) -> rustix::io::Result<Option<u32>> {
    let fd = socket()?;
    connect(&fd, address)?;
    Ok(u32::try_from(socket_peercred(&fd)?.pid.as_raw_nonzero().get()).ok())
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
        assert!(Instance::any_owns(one.uid(7)) && !Instance::any_owns(7));
    }

    #[test]
    fn one_process_at_a_time() {
        let instance = Instance::new("one process at a time");
        let hold = instance.hold("one").unwrap();
        let Err(Held::By(pid)) = instance.hold("one") else {
            panic!("held twice");
        };
        assert_eq!(pid, Some(std::process::id()));
        assert_eq!(instance.holder("one"), Some(pid));
        assert_eq!(instance.holder("another"), None);
        instance.hold("another").unwrap();
        drop(hold);
        instance.hold("one").unwrap();
    }

    #[test]
    fn what_was_given_back_can_be_taken_although_a_copy_is_left() {
        let instance = Instance::new("given back");
        let hold = instance.hold("one").unwrap();
        let copy = hold.0.try_clone().unwrap();
        drop(hold);
        // Nobody is named who does not hold it any more.
        assert_eq!(instance.holder("one"), None);
        let later = std::thread::spawn(move || {
            std::thread::sleep(MOMENT * 20);
            drop(copy);
        });
        instance.hold("one").unwrap();
        later.join().unwrap();
    }
}
