//! How a program in an inner machine has a controller of the hypervisor's.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};

/// How a program in an inner machine has a controller of the hypervisor's (virtualization-2015 §3
/// and §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nesting {
    /// There is no inner machine: the program runs beside the hypervisor's, on the interface
    /// itself. With it the others are compared.
    Native,
    /// The hypervisor shares it: `cangate run` with a port of kind `virtio`, and
    /// `[controllers.NAME]` on the interface.
    Host,
    /// As `Host`, with a machine whose monitor is our own instead of QEMU: its virtio device has
    /// MSI-X.
    Own,
    /// A machine that owns the controller shares it: the driver VM (§3). Its controller is a
    /// virtual function with all rights; an ordinary `cangate run` in it routes between the
    /// function's interface and memory that it shares with the other machine (a port of kind
    /// `shm`).
    Driver,
    /// The controller shares itself (§4): the machine drives a virtual function of it.
    Function,
    /// As `Native`, on a PCI card with an SJA1000 that QEMU emulates, where frames take no time on
    /// the bus. With it `Trap` is compared.
    Card,
    /// The machine has that card (VFIO) and drives it with Linux's own driver. Its registers are
    /// ports, and each access to one is an exit.
    Trap,
}

impl Nesting {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Native,
        Self::Host,
        Self::Own,
        Self::Driver,
        Self::Function,
        Self::Card,
        Self::Trap,
    ];

    /// Is the controller a PCI card, on whose bus frames take no time?
    #[must_use]
    pub const fn is_card(self) -> bool {
        matches!(self, Self::Card | Self::Trap)
    }

    /// Are there inner machines?
    #[must_use]
    pub const fn has_machines(self) -> bool {
        !matches!(self, Self::Native | Self::Card)
    }
}

plain_words!(
    Nesting,
    "way into an inner machine",
    Nesting::Native = "native",
    Nesting::Host = "host",
    Nesting::Own = "own",
    Nesting::Driver = "driver",
    Nesting::Function = "vf",
    Nesting::Card = "card",
    Nesting::Trap = "trap",
);
