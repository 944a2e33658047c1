//! The routing table, put into the kernel.
//!
//! * [`cangw`]: routes as rules of can-gw (`net/can/gw.c`), over netlink.
//! * [`bpf`]: the table as a BPF program at the entrance of every interface (tcx, or clsact on
//!   kernels before 6.6), with its routes in maps.
//!
//! [`KERNEL_PATHS`] are both, behind one trait; [`choose`] says which is best for which route.
//!
//! BPF is the feature `bpf`: without it, [`bpf::left_out`] says so, and every route has that
//! objection to it. can-gw needs nothing but netlink and is always there.
//!
//! Both say by name which routes they cannot express, before anything is changed in the kernel;
//! both change only what is theirs, count in 64 bits, and go from one table to the next without
//! a moment in which a frame meets half of it.

pub mod bpf;
pub mod cangw;
pub mod choose;
mod counts;
mod data_path;
mod instance;
mod kernel_path;
mod kernel_paths;
mod machine;

pub use counts::RouteCounts;
pub use data_path::DataPath;
pub use instance::{ForeignHolder, Instance};
pub use kernel_path::{Assignment, Error, KernelPath, Listing, Report, Running};
pub use kernel_paths::{KERNEL_PATHS, kernel_path};
pub use linux::link::{Link, Links};
pub use linux::with_causes;
pub use machine::Machine;
