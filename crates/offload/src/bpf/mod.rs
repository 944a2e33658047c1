//! The routing table as a BPF program at the ingress of every interface where frames come in.
//!
//! [`BpfOffload`] keeps a gateway's routes in place: it handles the start, reloads, interfaces that
//! appear and disappear, counters, and the end. [`survey`] returns the routes that BPF cannot
//! express, before anything is changed.
//!
//! # The path of a frame
//! The program runs right where a frame comes out of its driver, before AF_CAN: at `tcx` where the
//! kernel has it (Linux 6.6), else as a filter of `clsact` with priority 3238 and handle 1. It
//! looks up the frame's ID in tables in maps, with one look-up for each *different* mask of the
//! routes, regardless of the number of routes. It changes the frame in place and hands it to the
//! outgoing interface. A frame that no route takes goes on to other programs, to can-gw and to
//! local sockets as if there were no program. A frame that a route takes is consumed, unless
//! [`BpfOptions::tap`] is set.
//!
//! # Features
//! BPF supports all of `cangate-route`: ranges and masks of IDs, inverted ones, kinds of frame, RTR
//! and error frames, lengths, patterns in the payload, conditions on signals; drop; AND, OR, XOR,
//! SET of ID, length, flags and payload, offsets and maps of IDs, moves of bytes, assignments to
//! signals, CRC-8 and XOR checksums; limits of rate, for a route or for each ID; several
//! destinations; `echo`, hop limits, first match and all matches. The exceptions are:
//!
//! * CAN XL frames, which pass untouched and are counted as [`PortCounts::odd`];
//! * `keep_stamp`, because the kernel gives a new time stamp to the frames that a program sends;
//! * ports that are not CAN interfaces of Linux;
//! * a plain `vcan` as a destination (see below);
//! * conditions on floating-point signals, on signals that are spread over nine bytes, and with
//!   more than 8 comparisons (those that one value passes are patterns if there is no `||`);
//! * assignments that swap signals, or that need numbers of more than 64 bits;
//! * tables that exceed the program's loops: 32 different masks of one port and class of frame (a
//!   range of IDs has one for each size of the blocks it is made of), 31 routes of one filter each,
//!   or of several, that one frame could match, 8 destinations and 4 changes of a route (AND, OR,
//!   XOR, SET and constants of signals in a row are one change; each copy of a signal is one).
//!
//! A plain `vcan` consumes frames that are sent into it without showing them to any receiver: for
//! frames of local programs AF_CAN has done that before, but for those of BPF no code does. Sending
//! the frame to the ingress of the vcan (`BPF_F_INGRESS`) does not help on any kernel: for an
//! interface of CAN's type the kernel takes the first 14 bytes for an Ethernet header
//! (`__bpf_redirect_common`, `eth_type_trans`), and the result is not a CAN frame. `vxcan` can be
//! used instead. As a source a `vcan` works.
//!
//! # Cost of options
//! A classic frame that exactly one route takes, and that this route sends to exactly one
//! interface, uses a short path (`cangate()` in gateway.bpf.c). It supports changes by AND, OR, XOR
//! and SET and one checksum at fixed positions; limits, patterns, hop limits, `echo` and everything
//! else use the long path. Without options a frame with one destination is not copied. Each further
//! destination costs a copy; so do [`BpfOptions::tap`] and [`BpfOptions::exact`]. A feature
//! (changes, limits, patterns, conditions) is removed from the program when no route of the table
//! needs it.
//!
//! # Reload
//! The new table is loaded and filled while the old one is still in use; then the program of each
//! interface is exchanged between two frames. A frame is routed by the old table or by the new one,
//! as a whole, and none is lost or sent twice. The interfaces are switched within microseconds of
//! each other. During that time frames that come in at two interfaces can meet two different
//! tables, but a single frame never does. If an interface refuses, all go back to the old table.
//! Counters continue by the routes' names, also those of routes that were absent for a while. So do
//! the limits of routes whose name and limit are the same (frames that pass between the copy of a
//! limit's state and the exchange do not count against it).
//!
//! Where there is no tcx, an interface gets `clsact` when frames come in there for the first time
//! in a table. At that moment (and when clsact is removed, at the end) the kernel takes the
//! interface's transmit queues out of service for an instant: frames that any program sends there
//! at that time are lost (`qdisc_graft`).
//!
//! # Interfaces
//! Routes refer to interfaces by name. [`AsFd`](std::os::fd::AsFd) of [`BpfOffload`] is readable
//! when interfaces have changed; the caller must then call [`BpfOffload::links_changed`]. A missing
//! interface is reported, and gets its program when it appears. A classic interface never gets FD
//! frames: the MTU of each interface is checked, on kernels before 5.12 when the table is made,
//! else at every FD frame.
//!
//! # Other programs
//! Each interface belongs to one cangate at a time, and each instance to one process. Filters and
//! tcx programs of other software are not touched. A filter with a smaller priority than 3238 and a
//! tcx program that was attached before run first, and frames that they consume never reach this
//! program.
//!
//! # After a crash
//! A tcx link is removed with its process: the kernel then routes nothing, and frames go to local
//! programs. A filter stays and continues to route, as rules of can-gw do. The next start of the
//! same instance takes it over without a gap and continues its counters; another gateway at the
//! same interface removes it. [`BpfOffload::persist`] leaves a table in place on purpose. A filter
//! needs nothing for that; a tcx link is pinned below `/sys/fs/bpf/cangate`, where that is mounted
//! or can be mounted. Pins were chosen over programs without a link (`BPF_PROG_ATTACH`), because a
//! link can be exchanged without a gap and cannot belong to other software. Rate limits start anew
//! with a new process.
//!
//! # Kernels
//! Linux 5.10 to 7.3, plain and PREEMPT_RT. Needs `CAP_BPF`, `CAP_PERFMON` and `CAP_NET_ADMIN`, and
//! `CAP_SYS_ADMIN` to find what an earlier process left. Before 7.0, frames of local programs on
//! `vcan` and `vxcan` do not have the headroom that BPF needs. Such interfaces get an XDP program
//! that makes the kernel provide it, and an interface that has another XDP program is refused. On
//! hardware interfaces such frames are left alone ([`PortCounts::local`]); frames from the bus are
//! not affected.

#[cfg(feature = "bpf")]
mod about;
#[cfg(feature = "bpf")]
mod attach;
#[cfg(feature = "bpf")]
mod check;
#[cfg(feature = "bpf")]
mod compile;
#[cfg(feature = "bpf")]
mod condition;
#[cfg(feature = "bpf")]
mod constants;
#[cfg(feature = "bpf")]
mod contents;
#[cfg(all(test, feature = "bpf"))]
mod emulator;
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

pub use crate::instance::GatewayInstance;
#[cfg(feature = "bpf")]
pub use check::{BpfInexpressible, survey};
pub use error::{Error, MissingFeature};
pub use interfaces::interfaces;
#[cfg(feature = "bpf")]
pub use kernel::{BpfFeatures, features};
#[cfg(not(feature = "bpf"))]
pub use left_out::{BpfInexpressible, BpfPath, ListedTable, TableInfo, features, left_out, survey};
pub use linux::link::NetLink as Interface;
#[cfg(feature = "bpf")]
pub use offload::{BpfOffload, BpfOutcome};
pub use options::{BpfOptions, TestOptions};
#[cfg(feature = "bpf")]
pub use path::BpfPath;
#[cfg(feature = "bpf")]
pub use pin::can_persist;
#[cfg(feature = "bpf")]
pub use show::{ListedTable, TableInfo, show};
#[cfg(feature = "bpf")]
pub use sweep::remove;

/// Returns the reason why this build has no BPF; `None` in builds that have it, such as this one.
#[cfg(feature = "bpf")]
#[must_use]
pub const fn left_out() -> Option<String> {
    None
}

use crate::RouteCounts;

/// The counters of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounts {
    /// Classic and FD frames that came in.
    pub seen: u64,
    /// Frames among these that no route took; they went on to local programs.
    pub unrouted: u64,
    /// Frames that a local program sent through this interface and that were left alone, because
    /// they do not have the headroom that BPF needs (kernels before 7.0, and only on hardware
    /// interfaces).
    pub local: u64,
    /// Frames that are neither classic nor FD frames: XL, or malformed.
    pub odd: u64,
}

/// All counters since the table was put into the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BpfCounts {
    /// By the route's number.
    pub routes: Vec<RouteCounts>,
    /// By the port's number.
    pub ports: Vec<PortCounts>,
}
