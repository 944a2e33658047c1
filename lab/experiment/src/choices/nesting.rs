//! The ways in which a program in an inner machine gets access to a controller of the hypervisor.

use super::word::plain_words;

plain_words! {
    /// The way in which a program in an inner machine gets access to a controller of the hypervisor
    /// (virtualization-2015 §3 and §4).
    pub enum Nesting, "way into an inner machine" {
        /// A program on the hypervisor itself.
        ///
        /// There is no inner machine: the program runs next to the hypervisor's programs, on the
        /// interface itself. The other ways are compared with this one.
        Native = "native",
        /// A program in an inner machine; cangate shares the controller by virtio.
        ///
        /// The hypervisor runs `cangate run` with a port of kind `virtio`, and
        /// `[controllers.NAME]` on the interface.
        Host = "host",
        /// As vm:host, with our own monitor in QEMU's place.
        ///
        /// Its virtio device has MSI-X.
        Own = "own",
        /// A program in an inner machine; a second machine, which owns the controller, routes by
        /// shared memory.
        ///
        /// This is the driver VM (§3). Its controller is a virtual function with all rights; an
        /// ordinary `cangate run` in it routes between the function's interface and memory that it
        /// shares with the other machine (a port of kind `shm`).
        Driver = "driver",
        /// A program in an inner machine, which drives a virtual function; the controller shares
        /// itself.
        ///
        /// This is the proposal of §4.
        Function = "vf",
        /// As vm:native, on an SJA1000 on a PCI card, whose bus takes no time.
        ///
        /// QEMU emulates the card. `Trap` is compared with this way.
        Card = "card",
        /// A program in an inner machine that has this card; each register access is an exit.
        ///
        /// The machine gets the card by VFIO and drives it with Linux's own driver. Its registers
        /// are ports.
        Trap = "trap",
    }
}

impl Nesting {
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
