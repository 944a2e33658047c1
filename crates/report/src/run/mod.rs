//! The page of one run: one file, which opens from the disk and needs no network.
//!
//! [`write()`] makes it from [`RunData`], together with the results file. The page contains the
//! figures and thinned curves as data; the scripts in it draw them, as they draw a site.

mod data;
mod digest;
mod lead;
mod names;
mod page;
mod write;

pub use data::{BusRow, FrameAccount, RouteRow, RunData};
pub use lead::{RunFrames, sentence};
pub use names::IdNames;
pub use page::page;
pub use write::{Error, WrittenRun, write};
