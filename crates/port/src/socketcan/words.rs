//! The reasons why a port cannot be opened, as messages with the remedy.

use crate::PortError;
use linux::Errno;
use linux::can::{OpenError, SocketObstacle};
use linux::link::SetupError;
use linux::uring::UringUnavailable;

/// The problem that prevents a port from being opened.
pub(super) enum PortProblem {
    /// An error of its raw CAN socket.
    Raw(OpenError),
    /// An error in setting up its interface.
    Setup(SetupError),
    /// An error of a ring on an interface.
    Ring(Errno, String),
    /// Busy polling is not permitted or not supported.
    BusyPoll(Errno, String),
    /// Sent frames cannot be marked.
    Mark(Errno, String),
    /// A transmitting ring on an interface that drops what it sends.
    NoEcho(String),
    /// A receiving ring that would receive the frames that the port sends.
    OwnFrames(String),
    /// No io_uring: the key that requests it, and the alternative value for the key.
    NoUring(UringUnavailable, &'static str, &'static str),
}

impl PortProblem {
    pub(super) const fn no_uring_to_receive(error: UringUnavailable) -> Self {
        Self::NoUring(error, "receive", "recvmmsg")
    }

    pub(super) const fn no_uring_to_transmit(error: UringUnavailable) -> Self {
        Self::NoUring(error, "transmit", "sendmmsg")
    }

    /// Returns the error of this port.
    pub(super) fn into_error(self, port: &str) -> PortError {
        let what = self.words();
        let source = match self {
            Self::Raw(error) => Some(error.source),
            Self::Ring(errno, _) | Self::BusyPoll(errno, _) | Self::Mark(errno, _) => Some(errno),
            Self::NoUring(error, ..) => Some(error.source),
            Self::Setup(_) | Self::NoEcho(_) | Self::OwnFrames(_) => None,
        };
        PortError {
            port: port.to_owned(),
            what,
            source: source.map(Into::into),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Raw(error) => words(error),
            Self::Setup(error) => error.to_string(),
            Self::Ring(Errno::PERM, name) => format!(
                "a ring on {name} needs a packet socket, which needs CAP_NET_RAW: run as root, \
                 give the program that capability, or use `receive = \"recvmmsg\"` and `transmit = \
                 \"sendmmsg\"`, which need none"
            ),
            Self::Ring(Errno::AFNOSUPPORT, name) => format!(
                "a ring on {name} needs a packet socket, which this kernel does not have: load it \
                 with `modprobe af_packet`, or use `receive = \"recvmmsg\"` and `transmit = \
                 \"sendmmsg\"`"
            ),
            Self::Ring(Errno::NOPROTOOPT, name) => format!(
                "this kernel's packet sockets lack an option that a ring on {name} needs: Linux \
                 4.20 or later has it; use `receive = \"recvmmsg\"` and `transmit = \"sendmmsg\"`"
            ),
            Self::Ring(Errno::NOMEM, name) => format!(
                "the kernel has not enough memory for a ring on {name}: make `receive_buffer` or \
                 `queue` smaller"
            ),
            Self::Ring(_, name) => format!("cannot make a ring on {name}"),
            Self::BusyPoll(Errno::NOPROTOOPT, name) => format!(
                "this kernel cannot poll controllers for a socket (CONFIG_NET_RX_BUSY_POLL): use \
                 `receive = \"read-nonblock\"` on {name}"
            ),
            Self::BusyPoll(_, name) => format!(
                "busy polling on {name} needs CAP_NET_ADMIN: run as root, give the program that \
                 capability, or use `receive = \"read-nonblock\"`"
            ),
            Self::Mark(_, name) => format!(
                "a ring on {name} needs a mark on the frames that the port sends (SO_MARK), which \
                 needs CAP_NET_ADMIN: run as root, give the program that capability, or use \
                 `receive = \"recvmmsg\"` and `transmit = \"sendmmsg\"`"
            ),
            Self::NoEcho(name) => format!(
                "{name} is a vcan, which drops what is sent from a ring (it does not echo by itself): \
                 use `transmit = \"sendmmsg\"`, or a vxcan, or load vcan with `modprobe vcan echo=1`"
            ),
            Self::OwnFrames(name) => format!(
                "with `receive = \"ring\"`, the port would receive what it sends on {name}, a \
                 vcan: before Linux 6.3, a ring cannot recognize the port's own frames; use \
                 `receive = \"recvmmsg\"`, or a vxcan"
            ),
            Self::NoUring(error, key, instead) => {
                format!("`{key} = \"io_uring\"`: {error}; `{key} = \"{instead}\"` works everywhere")
            }
        }
    }
}

/// Returns a description of the problem; if the kernel has no CAN, with alternatives for the port.
pub(super) fn words(error: &OpenError) -> String {
    match error.obstacle {
        SocketObstacle::NoCan => {
            "this kernel has no CAN (AF_CAN): load it with `modprobe can`; where \
             the kernel was built without it, use a port of kind = \"bus\" instead, which needs \
             no kernel, or run in a lab guest"
                .to_owned()
        }
        _ => error.to_string(),
    }
}
