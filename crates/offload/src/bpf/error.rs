//! Errors between a table and the kernel.

#[cfg(feature = "bpf")]
pub(crate) use crate::with_causes as whole;
use linux::netlink::Error as NetlinkError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The table could not be put into the kernel, changed or read there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// {0}
    #[error("{0}")]
    Kernel(MissingFeature),
    /// Routes that have no meaning.
    #[error("{}", list(.0))]
    Compile(Vec<route::CompileError>),
    /// Routes that this program cannot execute; one line for each.
    #[error("{}", list(.0))]
    Inexpressible(Vec<super::BpfInexpressible>),
    /// The kernel refused the program.
    #[error("the kernel rejects cangate's BPF program: {0}")]
    Load(String),
    /// A map of the program could not be filled or read.
    #[error("BPF map {map}: {why}")]
    Map {
        /// Its name.
        map: &'static str,
        /// The kernel's error.
        why: String,
    },
    /// The program could not be attached at an interface's ingress.
    #[error("{interface}: cannot attach BPF to its ingress: {why}")]
    Attach {
        /// The interface.
        interface: String,
        /// The kernel's error.
        why: String,
    },
    /// Another cangate routes at the interface.
    #[error(
        "{interface}: another cangate{} has its BPF program there: stop that one, or remove the \
         interface from one of the two configurations",
        .pid.map_or(String::new(), |pid| format!(" (process {pid})"))
    )]
    Taken {
        /// The interface.
        interface: String,
        /// The process.
        pid: Option<u32>,
    },
    /// Another instance has left its routes there on purpose.
    #[error(
        "{interface}: the gateway `{instance}` has left its BPF program there (--persist): start \
         that one again and end it without, or take the interface out of this configuration"
    )]
    Persisted {
        /// The interface.
        interface: String,
        /// The instance.
        instance: String,
    },
    /// Another process runs this instance.
    #[error(
        "{} runs the gateway `{instance}` by BPF in this network namespace: end it, or give one of \
         the two another name", .pid.map_or("another process".to_owned(), |p| format!("process {p}"))
    )]
    Busy {
        /// The instance that should be started.
        instance: String,
        /// The process that runs it.
        pid: Option<u32>,
    },
    /// A process of another user has taken the name.
    #[error("{0}")]
    Foreign(crate::ForeignHolder),
    /// A socket failed.
    #[error("a socket of the kernel failed: {doing}")]
    Socket {
        /// The operation that failed.
        doing: &'static str,
        /// The kernel's error.
        #[source]
        source: linux::netlink::KernelRefusal,
    },
    /// The kernel's answer is malformed.
    #[error("the kernel's answer cannot be read")]
    Answer(#[source] linux::netlink::MalformedMessage),
    /// A table that was left in place cannot be found, pinned or removed.
    #[error("{}: {what}", .path.display())]
    Pin {
        /// The file in the BPF file system.
        path: PathBuf,
        /// The operation that failed, and the remedy.
        what: String,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl From<NetlinkError> for Error {
    fn from(error: NetlinkError) -> Self {
        match error {
            NetlinkError::Socket { doing, source } => Self::Socket { doing, source },
            NetlinkError::Answer(malformed) => Self::Answer(malformed),
        }
    }
}

/// A feature or permission that this kernel, or this process, lacks for BPF on CAN.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MissingFeature {
    /// `bpf(2)` does not support what is needed.
    Bpf(String),
    /// The process is neither root nor has `CAP_BPF`, `CAP_PERFMON` and `CAP_NET_ADMIN`.
    Permission,
    /// There is no hook for the program: neither tcx nor clsact.
    Entrance(String),
    /// The kernel has no CAN.
    Can,
    /// This program was built without the feature `bpf`.
    NotBuilt,
}

impl fmt::Display for MissingFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bpf(what) => write!(
                f,
                "this kernel has no BPF for network interfaces ({what}): cangate needs Linux 5.10 \
                 or newer with CONFIG_BPF_SYSCALL and CONFIG_NET_CLS_BPF"
            ),
            Self::Permission => f.write_str(
                "no permission for BPF: run cangate as root, or give it CAP_BPF, CAP_PERFMON and \
                 CAP_NET_ADMIN (systemd: AmbientCapabilities=)",
            ),
            Self::Entrance(what) => write!(
                f,
                "no BPF program can be attached to the ingress of an interface ({what}): load the \
                 modules sch_ingress and cls_bpf, or use Linux 6.6 or newer"
            ),
            Self::NotBuilt => f.write_str("this program was built without the feature `bpf`"),
            Self::Can => f.write_str("this kernel has no CAN interfaces: `modprobe can` (AF_CAN)"),
        }
    }
}

fn list<T: fmt::Display>(errors: &[T]) -> String {
    let lines: Vec<String> = errors.iter().map(T::to_string).collect();
    lines.join("\n")
}
