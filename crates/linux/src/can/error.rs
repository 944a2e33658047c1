//! Reasons why a raw CAN socket cannot be used on an interface, with messages that state the
//! remedy.

use crate::Errno;
use crate::link::NetLinks;
use std::fmt;

/// A raw CAN socket that could not be opened, set up or attached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenError {
    /// The interface for which the socket was requested.
    pub interface: String,
    /// The obstacle.
    pub obstacle: SocketObstacle,
    /// The kernel's error.
    pub source: Errno,
}

/// An obstacle to a raw CAN socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SocketObstacle {
    /// The kernel has no CAN support.
    NoCan,
    /// The kernel has CAN, but no raw sockets.
    NoRawSockets,
    /// The process or the system has too many open files.
    OpenFiles,
    /// The socket could not be opened for another reason.
    Socket,
    /// The kernel does not know CAN XL.
    NoXl,
    /// The kernel does not know another option of raw sockets.
    OldKernel,
    /// An option was refused for another reason.
    SetUp,
    /// There is no such interface. The names of the CAN interfaces that exist.
    NoInterface(Vec<String>),
    /// The interface exists and is not a CAN interface. The names of those that are.
    NotCan(Vec<String>),
    /// Attaching was refused for another reason. The names of the CAN interfaces that exist.
    Attach(Vec<String>),
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.interface;
        match &self.obstacle {
            SocketObstacle::NoCan => f.write_str(
                "this kernel has no CAN (AF_CAN): load it with `modprobe can`; where the kernel \
                 was built without it, run in a lab guest (`cangate lab exec`)",
            ),
            SocketObstacle::NoRawSockets => f.write_str(
                "this kernel has CAN but no raw sockets: load them with `modprobe can-raw`",
            ),
            SocketObstacle::OpenFiles => f.write_str(
                "no more sockets can be opened: raise the limit of open files (`ulimit -n`)",
            ),
            SocketObstacle::Socket => f.write_str("cannot open a raw CAN socket"),
            SocketObstacle::NoXl => f.write_str(
                "this kernel does not support CAN XL (Linux 6.1 and later do): leave out `xl = \
                 true`",
            ),
            SocketObstacle::OldKernel => f.write_str(
                "this kernel's raw CAN sockets lack an option, FD frames or error frames: Linux \
                 3.6 or later is needed",
            ),
            SocketObstacle::SetUp => write!(f, "cannot set up a raw CAN socket for {name}"),
            SocketObstacle::NoInterface(there) => {
                write!(f, "there is no interface {name}; {}", list(there))
            }
            SocketObstacle::NotCan(there) => {
                write!(f, "{name} is not a CAN interface; {}", list(there))
            }
            SocketObstacle::Attach(there) => write!(f, "cannot attach to {name}; {}", list(there)),
        }
    }
}

fn list(there: &[String]) -> String {
    if there.is_empty() {
        "this machine has no CAN interface; make a virtual one with `ip link add dev vcan0 type \
         vcan && ip link set vcan0 up`"
            .to_owned()
    } else {
        format!("CAN interfaces here: {}", there.join(", "))
    }
}

impl OpenError {
    /// Returns the error for a socket(2) that failed.
    pub(super) fn socket(interface: &str, source: Errno) -> Self {
        let obstacle = match source {
            Errno::AFNOSUPPORT => SocketObstacle::NoCan,
            Errno::PROTONOSUPPORT => SocketObstacle::NoRawSockets,
            Errno::MFILE | Errno::NFILE => SocketObstacle::OpenFiles,
            _ => SocketObstacle::Socket,
        };
        Self::new(interface, obstacle, source)
    }

    /// Returns the error for an option that every kernel with CAN has and that could not be set.
    #[must_use]
    pub fn set_up(interface: &str, source: Errno) -> Self {
        Self::new(interface, SocketObstacle::SetUp, source)
    }

    /// Returns the error for an option that could not be set; with `xl`, it may have been that of
    /// CAN XL.
    pub(super) fn option(interface: &str, xl: bool, source: Errno) -> Self {
        let obstacle = match source {
            Errno::NOPROTOOPT if xl => SocketObstacle::NoXl,
            Errno::NOPROTOOPT => SocketObstacle::OldKernel,
            _ => SocketObstacle::SetUp,
        };
        Self::new(interface, obstacle, source)
    }

    /// Returns the error for an interface that could not be queried, or to which the socket could
    /// not be attached. Asks the kernel which interfaces there are.
    #[must_use]
    pub fn attach(interface: &str, source: Errno) -> Self {
        // Without an answer the message lists no interfaces.
        Self::attach_among(interface, source, &NetLinks::now().unwrap_or_default())
    }

    fn attach_among(interface: &str, source: Errno, links: &NetLinks) -> Self {
        let there = links.all_can().map(|link| link.name.clone()).collect();
        let obstacle = match source {
            Errno::NODEV if links.get(interface).is_some_and(|link| !link.can) => {
                SocketObstacle::NotCan(there)
            }
            Errno::NODEV | Errno::NXIO => SocketObstacle::NoInterface(there),
            _ => SocketObstacle::Attach(there),
        };
        Self::new(interface, obstacle, source)
    }

    fn new(interface: &str, obstacle: SocketObstacle, source: Errno) -> Self {
        Self {
            interface: interface.to_owned(),
            obstacle,
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::NetLink;

    #[test]
    fn what_is_missing_is_reported() {
        let socket = |errno| OpenError::socket("can7", errno).to_string();
        assert!(socket(Errno::AFNOSUPPORT).contains("modprobe can`"));
        assert!(socket(Errno::PROTONOSUPPORT).contains("can-raw"));
        assert!(socket(Errno::MFILE).contains("ulimit -n"));
        let link = |name: &str, can| NetLink {
            name: name.to_owned(),
            can,
            ..NetLink::default()
        };
        let there: NetLinks = [link("can0", true), link("lo", false)]
            .into_iter()
            .collect();
        let attach = |name: &str, errno, links: &NetLinks| {
            OpenError::attach_among(name, errno, links).to_string()
        };
        assert_eq!(
            attach("nosuchcan0", Errno::NODEV, &there),
            "there is no interface nosuchcan0; CAN interfaces here: can0"
        );
        let none = NetLinks::default();
        assert!(attach("nosuchcan0", Errno::NODEV, &none).contains("type vcan"));
        assert!(attach("lo", Errno::NODEV, &there).starts_with("lo is not a CAN interface"));
        assert!(attach("can0", Errno::PERM, &there).starts_with("cannot attach to can0"));
    }

    /// Every Linux has this interface.
    #[test]
    fn the_loopback_interface_is_none_of_can() {
        let error = OpenError::attach("lo", Errno::NODEV);
        assert!(
            matches!(error.obstacle, SocketObstacle::NotCan(_)),
            "{error}"
        );
        let error = OpenError::option("can7", true, Errno::NOPROTOOPT);
        assert!(error.to_string().contains("Linux 6.1"), "{error}");
    }
}
