//! The priorities in the gateway's machine.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};

/// The scheduling of a gateway in user space, and of the kernel's soft interrupts. The guest has
/// one processor, which these two share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// The gateway has real-time priority 90 (gateway-2011 §3.7); a gateway that polls for frames
    /// without pause has none, because nothing else would then run.
    Gateway,
    /// The gateway is an ordinary process.
    Ordinary,
    /// The gateway is an ordinary process, and ksoftirqd has real-time priority 50: work that the
    /// kernel defers (receiving, when many frames come) is done before the gateway continues. Thus
    /// a controller's FIFO is read in time, and the gateway finds several frames at once.
    Softirq,
}

plain_words!(
    Priority,
    "priority",
    Priority::Gateway = "gateway",
    Priority::Ordinary = "ordinary",
    Priority::Softirq = "softirq"
);
