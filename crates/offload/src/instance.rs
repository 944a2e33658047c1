//! The identity of a gateway: its name, and the only process that may act for it.
//!
//! Everything that is put into the kernel carries a mark of the instance, so that the next process
//! finds what a crash left. While one process runs, no other can: a process that acts for an
//! instance holds an abstract Unix socket named after its mark, and a network namespace can have
//! only one socket of that name. The kernel closes the socket with the process, in whatever way it
//! ends.

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen,
    shutdown, socket_with,
};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The bit that is set in every cangate mark; `cangw -u` of can-utils has no reason to set it.
const OURS: u16 = 0x8000;

/// A gateway, identified by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatewayInstance {
    name: String,
    mark: u16,
}

impl GatewayInstance {
    /// Creates the instance of a name. The same name gives the same marks, also after a restart and
    /// in later versions.
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

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the mark of its can-gw rule with this number.
    #[must_use]
    pub const fn uid(&self, number: u16) -> u32 {
        (self.mark as u32) << 16 | number as u32
    }

    /// Returns whether a can-gw rule with this mark belongs to this instance.
    #[must_use]
    pub const fn owns(&self, uid: u32) -> bool {
        uid >> 16 == self.mark as u32
    }

    /// Returns whether a can-gw rule with this mark belongs to any cangate instance.
    #[must_use]
    pub const fn any_owns(uid: u32) -> bool {
        uid >> 16 & OURS as u32 != 0
    }

    /// Makes sure that no other process acts for the instance in one `way`, until the result is
    /// dropped.
    pub(crate) fn hold(&self, way: &str) -> Result<InstanceHold, InstanceHeld> {
        InstanceHold::new(&self.held(way))
    }

    #[cfg(any(feature = "bpf", test))]
    /// Returns the process that acts for the instance in one `way`, if there is one; the inner
    /// `None` means that its number is unknown.
    pub(crate) fn holder(&self, way: &str) -> Option<Option<u32>> {
        let name = self.held(way);
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?;
        match holder(&address) {
            Ok(holder) => Some(holder.pid),
            Err(Errno::CONNREFUSED) => None,
            Err(_) => Some(None),
        }
    }

    fn held(&self, way: &str) -> String {
        format!("cangate/{way}/{:04x}", self.mark)
    }
}

/// A process of another user that has taken a cangate name. Any user in the network namespace can
/// do so, also on purpose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignHolder {
    /// The abstract socket's name, as in /proc/net/unix.
    pub socket: String,
    /// The process.
    pub pid: Option<u32>,
    /// The user of the process.
    pub user: u32,
}

impl std::fmt::Display for ForeignHolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { socket, pid, user } = self;
        let process = pid.map_or("a process".to_owned(), |pid| format!("process {pid}"));
        write!(
            f,
            "{process} of user {user}, which is neither root nor the user of this gateway, listens at the socket {socket}, which \
             distinguishes two gateways with the same routes in the kernel: if it is a gateway, give one of the two \
             another name; if not, end it (any user can take this place), or set `offload = \"none\"`"
        )
    }
}

/// The reason why something cannot be held.
#[derive(Debug)]
pub(crate) enum InstanceHeld {
    /// A process of this user or of root holds it, or one about which nothing is known.
    By(Option<u32>),
    /// A process of another user holds it, which may not be a gateway.
    Foreign(ForeignHolder),
    /// The socket failed.
    Failed(Errno),
}

/// The exclusive right of one process to do something.
#[derive(Debug)]
pub(crate) struct InstanceHold(OwnedFd);

impl InstanceHold {
    /// Takes a name in this network namespace.
    ///
    /// A name that is taken but whose socket does not listen is in transition: it is just being
    /// released or just being taken. A program that another thread starts has a copy of every
    /// descriptor until its exec, and keeps the name until then. This function waits for the end of
    /// the transition.
    pub(crate) fn new(name: &str) -> Result<Self, InstanceHeld> {
        let address =
            SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(InstanceHeld::Failed)?;
        let fd = socket().map_err(InstanceHeld::Failed)?;
        for _ in 0..CHANGES_HANDS {
            match bind(&fd, &address) {
                Ok(()) => {
                    listen(&fd, ASKING).map_err(InstanceHeld::Failed)?;
                    return Ok(Self(fd));
                }
                Err(Errno::ADDRINUSE) => match holder(&address) {
                    Err(Errno::CONNREFUSED) => std::thread::sleep(MOMENT),
                    Ok(holder) => {
                        return Err(holder.held(name, rustix::process::geteuid().as_raw()));
                    }
                    Err(_) => return Err(InstanceHeld::By(None)),
                },
                Err(errno) => return Err(InstanceHeld::Failed(errno)),
            }
        }
        Err(InstanceHeld::By(None))
    }
}

impl Drop for InstanceHold {
    /// Releases the name immediately, even if another process has a copy of the descriptor.
    fn drop(&mut self) {
        // This can fail only if the descriptor is not a socket.
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

/// Number of attempts for a name in transition, a [`MOMENT`] apart: they last one second.
const CHANGES_HANDS: u32 = 1000;
/// Time between two attempts; see [`CHANGES_HANDS`].
const MOMENT: Duration = Duration::from_millis(1);

/// Maximum number of processes that can ask for the holder. They are never accepted, and the kernel
/// keeps them all in the backlog. Later ones learn that the name is held, but not by which process.
const ASKING: i32 = 1024;

fn socket() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// The process that listens at a name. The kernel reports the state at the time when it began to
/// listen (SO_PEERCRED, unix(7)).
struct TestHolder {
    pid: Option<u32>,
    user: u32,
}

impl TestHolder {
    fn held(self, name: &str, us: u32) -> InstanceHeld {
        if self.user == us || self.user == 0 {
            return InstanceHeld::By(self.pid);
        }
        InstanceHeld::Foreign(ForeignHolder {
            socket: format!("@{name}"),
            pid: self.pid,
            user: self.user,
        })
    }
}

/// Returns the process that listens at an address.
fn holder(address: &SocketAddrUnix) -> rustix::io::Result<TestHolder> {
    let fd = socket()?;
    connect(&fd, address)?;
    let peer = socket_peercred(&fd)?;
    Ok(TestHolder {
        pid: u32::try_from(peer.pid.as_raw_nonzero().get()).ok(),
        user: peer.uid.as_raw(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_the_same_for_ever() {
        assert_eq!(GatewayInstance::new("").uid(1), 0x9CD9_0001);
        assert_eq!(GatewayInstance::new("gateway").uid(0xFFFF), 0xA633_FFFF);
        let one = GatewayInstance::new("one");
        assert!(one.owns(one.uid(7)));
        assert!(!one.owns(GatewayInstance::new("two").uid(7)) && !one.owns(0) && !one.owns(7));
        assert!(GatewayInstance::any_owns(one.uid(7)) && !GatewayInstance::any_owns(7));
    }

    #[test]
    fn one_process_at_a_time() {
        let instance = GatewayInstance::new("one process at a time");
        let hold = instance.hold("one").unwrap();
        let Err(InstanceHeld::By(pid)) = instance.hold("one") else {
            panic!("held twice");
        };
        assert_eq!(pid, Some(std::process::id()));
        assert_eq!(instance.holder("one"), Some(pid));
        assert_eq!(instance.holder("another"), None);
        instance.hold("another").unwrap();
        drop(hold);
        instance.hold("one").unwrap();
    }

    /// Any user can take the name first; the error then names that user.
    #[test]
    fn a_holder_of_another_user_is_named() {
        let found = |user| TestHolder {
            pid: Some(77),
            user,
        };
        let words = |user, us| match found(user).held("cangate/bpf/9cd9", us) {
            InstanceHeld::By(pid) => format!("{pid:?}"),
            InstanceHeld::Foreign(holder) => holder.to_string(),
            InstanceHeld::Failed(errno) => panic!("{errno}"),
        };
        assert_eq!(words(1000, 1000), "Some(77)");
        // Root may do everything to a gateway anyway.
        assert_eq!(words(0, 1000), "Some(77)");
        for us in [0, 61184] {
            let output = words(1000, us);
            assert!(output.contains("process 77 of user 1000"), "{output}");
            assert!(output.contains("@cangate/bpf/9cd9"), "{output}");
        }
    }

    /// The same with the kernel's report: root holds it for another user.
    #[test]
    fn the_kernel_states_whose_a_holder_is() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED because only root can take another user's place");
            return;
        }
        let instance = GatewayInstance::new("taken by another user");
        let held = std::thread::spawn(|| {
            // This applies to this thread only.
            let user = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_uid(user).unwrap();
            GatewayInstance::new("taken by another user")
                .hold("bpf")
                .unwrap()
        });
        let hold = held.join().unwrap();
        let Err(InstanceHeld::Foreign(holder)) = instance.hold("bpf") else {
            panic!("it is another user's");
        };
        assert_eq!(holder.user, 65534);
        assert_eq!(holder.pid, Some(std::process::id()));
        drop(hold);
        instance.hold("bpf").unwrap();
    }

    #[test]
    fn what_was_given_back_can_be_taken_although_a_copy_is_left() {
        let instance = GatewayInstance::new("given back");
        let hold = instance.hold("one").unwrap();
        let copy = hold.0.try_clone().unwrap();
        drop(hold);
        // A process that no longer holds the name is not reported.
        assert_eq!(instance.holder("one"), None);
        let later = std::thread::spawn(move || {
            std::thread::sleep(MOMENT * 20);
            drop(copy);
        });
        instance.hold("one").unwrap();
        later.join().unwrap();
    }
}
