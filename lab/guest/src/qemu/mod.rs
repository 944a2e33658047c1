//! The machine: a QEMU process, its command line, and its output.

mod console;
pub(crate) mod monitor;
mod options;
mod patience;
mod plugin;
mod process;
mod trace;

pub(crate) use console::{ConsoleTrouble, end_of, trouble};
pub(crate) use options::{QemuOptions, module_folder, quoted};
pub(crate) use plugin::Plugin;
pub(crate) use process::{ProcessEnd, QemuProcess, STALL_TIMEOUT, pass_on};
pub(crate) use trace::accesses;
