//! How a program in an inner machine has a controller of the hypervisor's.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};

/// How a program in an inner machine has a controller of the hypervisor's (virtualization-2015 §3 and §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nesting {
    /// There is no inner machine: the program runs beside the hypervisor's, on the interface itself. With it the
    /// others are compared.
    Native,
    /// The hypervisor shares it: `cangate run` with a port of kind `virtio`, and `[controllers.NAME]` on the interface.
    Host,
}

impl Nesting {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Native, Self::Host];

    /// Are there inner machines?
    #[must_use]
    pub const fn has_machines(self) -> bool {
        !matches!(self, Self::Native)
    }
}

plain_words!(
    Nesting,
    "way into an inner machine",
    Nesting::Native = "native",
    Nesting::Host = "host",
);
