//! The ways in which a program in an inner machine gets access to a controller of the hypervisor.

use super::word::{WordError, plain_words};
use serde::{Deserialize, Serialize};

/// The way in which a program in an inner machine gets access to a controller of the hypervisor
/// (virtualization-2015 §3 and §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nesting {
    /// There is no inner machine: the program runs next to the hypervisor's programs, on the
    /// interface itself. The other ways are compared with this one.
    Native,
    /// The hypervisor shares the controller: `cangate run` with a port of kind `virtio`, and
    /// `[controllers.NAME]` on the interface.
    Host,
    /// Like `Host`, with a machine whose monitor is our own instead of QEMU: its virtio device has
    /// MSI-X.
    Own,
    /// A machine that owns the controller shares it: the driver VM (§3). Its controller is a
    /// virtual function with all rights; an ordinary `cangate run` in it routes between the
    /// function's interface and memory that it shares with the other machine (a port of kind
    /// `shm`).
    Driver,
    /// The controller shares itself (§4): the machine drives a virtual function of it.
    Function,
    /// Like `Native`, on a PCI card with an SJA1000 that QEMU emulates, where frames take no time
    /// on the bus. `Trap` is compared with this way.
    Card,
    /// The machine has that card (VFIO) and drives it with Linux's own driver. Its registers are
    /// ports, and each access to one is an exit.
    Trap,
}

impl Nesting {
    /// All ways.
    pub const ALL: [Self; 7] = [
        Self::Native,
        Self::Host,
        Self::Own,
        Self::Driver,
        Self::Function,
        Self::Card,
        Self::Trap,
    ];

    /// Returns whether the controller is a PCI card, on whose bus frames take no time.
    #[must_use]
    pub const fn is_card(self) -> bool {
        matches!(self, Self::Card | Self::Trap)
    }

    /// Returns whether there are inner machines.
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
