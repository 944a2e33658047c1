//! The machine: a QEMU process, its command line, and its output.

mod console;
pub(crate) mod halt;
pub(crate) mod monitor;
mod options;
mod patience;
mod process;
mod trace;

pub(crate) use console::{Trouble, end_of, trouble};
pub(crate) use options::{Options, module_folder, quoted};
pub(crate) use process::{End, Process, STANDS_STILL, pass_on};
pub(crate) use trace::accesses;
