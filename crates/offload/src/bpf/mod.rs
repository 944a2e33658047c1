//! The routing table as a BPF program at the entrance of every interface that frames come from.
//!
//! [`Offload`] keeps a gateway's routes there as they should be: start, reload, interfaces that
//! come and go, counters, the end. [`survey`] says which routes it cannot have, before anything is
//! changed.
//!
//! # How a frame goes
//! The program is tried right where a frame comes out of its driver, before AF_CAN: at `tcx` where
//! the kernel has it (Linux 6.6), else as a filter of `clsact` with priority 3238 and handle 1. It
//! looks the frame's ID up in tables that lie in maps, one look for each *different* mask that
//! routes have, however many routes there are; changes the frame in place; and hands it to the
//! outgoing interface. A frame that no route takes goes on to other programs, to can-gw and to
//! local sockets as if nothing were there. A frame that a route takes is used up, unless
//! [`Options::tap`] is set.
//!
//! # What can be expressed
//! All of `cangate-route`: ranges and masks of IDs, inverted ones, kinds of frame, RTR and error
//! frames, lengths, patterns in the payload; drop; AND, OR, XOR, SET of ID, length, flags and
//! payload, offsets and maps of IDs, moves of bytes, CRC-8 and XOR checksums; limits of rate, for a
//! route or for each ID; several destinations; `echo`, hop limits, first match and all matches.
//! Except for:
//!
//! * CAN XL frames, which pass untouched and are counted as [`PortCounts::odd`];
//! * `keep_stamp`: the kernel stamps what a program sends anew;
//! * ports that are no CAN interface of Linux;
//! * a plain `vcan` as a destination (see below);
//! * more than the program's loops reach: 32 different masks of one port and class of frame (a
//!   range of IDs has one for each size of the blocks it is made of), 31 routes of one filter each,
//!   or of several, that one frame could meet, 8 destinations and 4 changes of a route (AND, OR,
//!   XOR and SET in a row are one change).
//!
//! A plain `vcan` consumes what is sent into it and shows it to nobody: for frames of local
//! programs AF_CAN has done that before, and for those of BPF nobody does. Putting the frame into
//! its entrance (`BPF_F_INGRESS`) does not help on any kernel: for an interface of CAN's type the
//! kernel takes the first 14 bytes for an Ethernet header (`__bpf_redirect_common`,
//! `eth_type_trans`), and what comes out is no CAN frame. `vxcan` does the same service. As a
//! source it is fine.
//!
//! # What options cost
//! A classic frame that exactly one route takes, and that route sends to exactly one interface,
//! goes a short way (`cangate()` in gateway.bpf.c), with changes by AND, OR, XOR and SET and one
//! checksum at fixed places; limits, patterns, hop limits, `echo` and all else take the long one.
//! Without options a frame with one destination is not copied. Each further destination costs a
//! copy; so do [`Options::tap`] and [`Options::exact`]. What a route does not need (changes,
//! limits, patterns) is left out of the program when no route of the table needs it.
//!
//! # Reload
//! The new table is loaded and filled beside the old one; then the program of each interface is
//! exchanged between two frames. A frame is routed by the old table or by the new one, as a whole,
//! and none is lost or sent twice. Interfaces follow one another within microseconds, so that for
//! that long frames that come in at two interfaces can meet two tables; no one frame does. Where an
//! interface refuses, all go back to the old table. Counters go on by the routes' names, also of
//! routes that were gone for a while, and so do limits of routes whose name and limit are the same
//! (what passes between the copy of a limit's state and the exchange does not count against it).
//!
//! Where there is no tcx, an interface that frames come from for the first time gets `clsact`, and
//! at that moment (and when it goes, at the end) the kernel takes the interface's transmit queues
//! out of service for an instant: what is sent there then is lost, whoever sends it
//! (`qdisc_graft`).
//!
//! # Interfaces
//! Routes go by name. [`AsFd`](std::os::fd::AsFd) of [`Offload`] is readable when interfaces have
//! changed; call [`Offload::links_changed`]. One that is not there is reported as missing and gets
//! its program when it comes. A classic interface never gets FD frames: each is asked for its MTU,
//! by kernels before 5.12 when the table is made, else at every FD frame.
//!
//! # Others
//! Each interface belongs to one cangate at a time, and each instance to one process. Other
//! people's filters and tcx programs are not touched; a filter with a smaller priority than 3238
//! and a tcx program attached before run first, and what they consume never comes here.
//!
//! # After a crash
//! A tcx link goes with its process: the kernel then routes nothing, and frames go to local
//! programs. A filter stays and goes on routing, as rules of can-gw do. The next start of the same
//! instance takes it over without a gap and goes on with its counters; another gateway at the same
//! interface cleans it away. [`Offload::persist`] leaves a table in place on purpose: as a filter
//! it needs nothing, a tcx link is pinned below `/sys/fs/bpf/cangate`, where that is mounted or can
//! be. Pins were chosen over programs without a link (`BPF_PROG_ATTACH`), because a link is
//! exchanged without a gap and is nobody else's. Limits of rate begin anew with a new process.
//!
//! # Kernels
//! Linux 5.10 to 7.3, plain and PREEMPT_RT. Needs `CAP_BPF`, `CAP_PERFMON` and `CAP_NET_ADMIN`, and
//! `CAP_SYS_ADMIN` to find what an earlier process left. Before 7.0, frames of local programs on
//! `vcan` and `vxcan` have no room for what BPF needs before them: such interfaces get an XDP
//! program that makes the kernel provide it, and one that has another XDP program is refused. On
//! interfaces of hardware such frames are left alone ([`PortCounts::local`]); those from the bus
//! are not concerned.

#[cfg(feature = "bpf")]
mod about;
#[cfg(feature = "bpf")]
mod attach;
#[cfg(feature = "bpf")]
mod check;
#[cfg(feature = "bpf")]
mod compile;
mod error;
#[cfg(feature = "bpf")]
mod generation;
#[cfg(feature = "bpf")]
mod index;
mod interfaces;
#[cfg(feature = "bpf")]
mod kernel;
#[cfg(feature = "bpf")]
mod layout;
#[cfg(feature = "bpf")]
mod ledger;
#[cfg(not(feature = "bpf"))]
mod left_out;
#[cfg(feature = "bpf")]
mod leftovers;
#[cfg(feature = "bpf")]
mod loader;
#[cfg(feature = "bpf")]
mod maps;
#[cfg(feature = "bpf")]
mod offload;
#[cfg(feature = "bpf")]
mod ops;
mod options;
#[cfg(feature = "bpf")]
mod path;
#[cfg(feature = "bpf")]
mod pin;
#[cfg(feature = "bpf")]
mod short;
#[cfg(feature = "bpf")]
mod show;
#[cfg(feature = "bpf")]
mod sweep;
#[cfg(feature = "bpf")]
mod tc;
#[cfg(feature = "bpf")]
mod wanted;

pub use crate::instance::Instance;
#[cfg(feature = "bpf")]
pub use check::{Inexpressible, survey};
pub use error::{Error, Missing};
pub use interfaces::interfaces;
#[cfg(feature = "bpf")]
pub use kernel::{Features, features};
#[cfg(not(feature = "bpf"))]
pub use left_out::{Bpf, Inexpressible, ListedTable, TableInfo, features, left_out, survey};
pub use linux::link::Link as Interface;
#[cfg(feature = "bpf")]
pub use offload::{Offload, Outcome};
pub use options::{Options, TestOptions};
#[cfg(feature = "bpf")]
pub use path::Bpf;
#[cfg(feature = "bpf")]
pub use pin::can_persist;
#[cfg(feature = "bpf")]
pub use show::{ListedTable, TableInfo, show};
#[cfg(feature = "bpf")]
pub use sweep::remove;

/// Why this build has no BPF; `None` where it has, as here.
#[cfg(feature = "bpf")]
#[must_use]
pub const fn left_out() -> Option<String> {
    None
}

use crate::RouteCounts;

/// What was counted of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounts {
    /// Classic and FD frames that came in.
    pub seen: u64,
    /// Of these, those that no route took; they went on to local programs.
    pub unrouted: u64,
    /// Frames that a local program sent through this interface and that were left alone, because
    /// they have no room before them that BPF needs (kernels before 7.0, and only on interfaces of
    /// hardware).
    pub local: u64,
    /// What is no classic or FD frame: XL, or malformed.
    pub odd: u64,
}

/// All that was counted since the table was put into the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// By the route's number.
    pub routes: Vec<RouteCounts>,
    /// By the port's number.
    pub ports: Vec<PortCounts>,
}
