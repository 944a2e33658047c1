//! The routing table in the kernel.
//!
//! * [`cangw`]: routes as rules of can-gw (`net/can/gw.c`), over netlink.
//! * [`bpf`]: the table as a BPF program at the ingress of every interface (tcx, or clsact on
//!   kernels before 6.6), with its routes in maps.
//!
//! [`KERNEL_PATHS`] contains both, behind one trait; [`choose`] selects the best one for each
//! route.
//!
//! BPF is the feature `bpf`. Without it, [`bpf::left_out`] returns the reason, and BPF has that
//! objection to every route. can-gw needs only netlink and is always included.
//!
//! Both name the routes that they cannot express before anything is changed in the kernel. Both
//! change only what belongs to their instance, count in 64 bits, and switch from one table to the
//! next so that no frame ever meets half of a table.

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
pub use instance::{ForeignHolder, GatewayInstance};
pub use kernel_path::{Error, KernelPath, PathAssignment, PathListing, PathReport, PathRun};
pub use kernel_paths::{KERNEL_PATHS, kernel_path};
pub use linux::link::{NetLink, NetLinks};
pub use linux::with_causes;
pub use machine::HostMachine;
