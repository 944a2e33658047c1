//! Errors of can-gw, with messages that name the remedy.

use super::wire::MalformedMessage;
use linux::netlink::{Error as NetlinkError, KernelRefusal};
use route::cangw::CanGwInexpressible;
use std::fmt;

/// The reason why can-gw does not carry out a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// can-gw is not loaded and could not be loaded
    #[error(
        "can-gw is not loaded in this kernel: load it with `modprobe can-gw` (a kernel without the \
         module needs CONFIG_CAN_GW, or its package of extra modules)"
    )]
    NoModule,
    /// this process is not allowed to change the rules of can-gw
    #[error(
        "changing can-gw's rules needs CAP_NET_ADMIN: run as root, or give the program the \
         capability (`setcap cap_net_admin+ep`, `AmbientCapabilities=CAP_NET_ADMIN`)"
    )]
    NoPermission,
    /// another process holds these rules
    #[error(
        "{} holds the can-gw rules of `{instance}` in this network namespace: end it, or give one \
         of the two another name", .pid.map_or("another process".to_owned(), |p| format!("process {p}"))
    )]
    Busy {
        /// The name of the instance that should be started.
        instance: String,
        /// The process that holds it.
        pid: Option<u32>,
    },
    /// a process of another user has taken the name
    #[error("{0}")]
    Foreign(crate::ForeignHolder),
    /// routes that can-gw has no rules for
    #[error("can-gw cannot run these routes: {}", list(.0))]
    Inexpressible(Vec<CanGwInexpressible>),
    /// the gateway wants more hops than the module allows
    #[error(
        "the gateway allows {wanted} hops, and can-gw was loaded with max_hops={module}: `modprobe \
         -r can-gw && modprobe can-gw max_hops={wanted}` (built in: can_gw.max_hops={wanted} on the \
         kernel's command line), or `max_hops = {module}` in the gateway's file"
    )]
    MaxHops {
        /// The number of hops that the routes need.
        wanted: u8,
        /// The module's parameter.
        module: u8,
    },
    /// more rules than there are marks
    #[error("{0} rules of can-gw: a gateway can have at most {max}", max = u16::MAX)]
    TooMany(usize),
    /// the kernel refused a rule
    #[error("{}can-gw refuses the rule `{rule}`: {why}", describe_route(.route))]
    Refused {
        /// The route; empty where it is not known.
        route: String,
        /// The rule, in cangw's syntax.
        rule: String,
        /// The reason.
        why: RefusalReason,
        /// The kernel's error.
        #[source]
        source: KernelRefusal,
    },
    /// netlink failed
    #[error("the netlink socket of can-gw failed: {doing}")]
    Socket {
        /// The operation that failed.
        doing: &'static str,
        /// The kernel's error.
        #[source]
        source: KernelRefusal,
    },
    /// the kernel's answer is malformed
    #[error("the kernel's list of can-gw's rules cannot be read")]
    Answer(#[from] MalformedMessage),
    /// the list changed each time that it was read
    #[error("the list of can-gw's rules changed during every read: another program is changing it")]
    Restless,
}

impl From<NetlinkError> for Error {
    fn from(error: NetlinkError) -> Self {
        match error {
            NetlinkError::Socket { doing, source } => Self::Socket { doing, source },
            NetlinkError::Answer(malformed) => Self::Answer(malformed),
        }
    }
}

/// The reason why the kernel refused a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefusalReason {
    /// An interface does not exist (any more), or is not a CAN interface.
    Interface,
    /// Another program has removed the rule.
    Gone,
    /// More hops than the module allows.
    Hops(u8),
    /// Source and destination are the same.
    SamePort,
    /// Its mark belongs to another rule.
    MarkTaken,
    /// There is no memory.
    Memory,
    /// Something else.
    Other(KernelRefusal),
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface => f.write_str(
                "an interface of it is missing or is not a CAN interface (`ip -br link` shows them)",
            ),
            Self::Gone => f.write_str("it is not in can-gw's list any more"),
            Self::Hops(most) => write!(f, "can-gw was loaded with max_hops={most}"),
            Self::SamePort => {
                f.write_str("it leads back to where frames come from, which needs `same_port`")
            }
            Self::MarkTaken => f.write_str(
                "another rule has just been given its mark (CGW_MOD_UID); try again",
            ),
            Self::Memory => f.write_str("the kernel has no memory left"),
            Self::Other(refusal) => refusal.fmt(f),
        }
    }
}

fn describe_route(route: &str) -> String {
    if route.is_empty() {
        String::new()
    } else {
        format!("route `{route}`: ")
    }
}

fn list(all: &[CanGwInexpressible]) -> String {
    let texts: Vec<_> = all.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
