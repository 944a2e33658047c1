//! The places where a route can run.

use std::fmt;

/// A place where a route can run; the fastest is first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DataPath {
    /// In the kernel, at the ingress of its interfaces.
    Bpf,
    /// In the kernel, as rules of can-gw.
    CanGw,
    /// In the process of the gateway.
    Process,
}

impl fmt::Display for DataPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bpf => "bpf",
            Self::CanGw => "can-gw",
            Self::Process => "process",
        })
    }
}
