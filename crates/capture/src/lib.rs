//! Recording any number of CAN interfaces and character devices.
//!
//! ```text
//! ring of blocks ──► chunks ──► queue ──► formats ──► packing ──► files
//!   (kernel)      ▲   reader's thread   │  writer's thread
//! devices' queues ┘                     └─ or memory, until a trigger
//! ```
//!
//! The reader copies frames out of the kernel's ring into [`Chunk`]s and never waits for a file.
//! The queue between the threads is bounded; a chunk that finds no room is dropped, and its frames
//! are counted by interface. The kernel counts the frames that found no room in the ring, and a
//! device's driver those that found no room in its queue. So every frame that passed the filter is
//! counted in exactly one place of [`Counts`].
//!
//! * [`live`]: from interfaces and devices; [`Recorder`]: from chunks into files; [`Keeper`]: the
//!   last seconds in memory, and a file for each trigger.
//! * [`convert()`]: from a log of any format into a file.
//! * [`Form`]: candump's text, Vector ASC, pcapng, Parquet; [`Limits`]: the information that each
//!   cannot express; [`Packing`]: gzip, Zstandard. Parquet is the feature `parquet`; without it,
//!   the result is [`FormError::NotBuilt`].

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod asc;
mod chunk;
mod convert;
mod counts;
mod file;
mod form;
mod interfaces;
mod keeper;
mod limits;
pub mod live;
mod names;
mod pack;
mod pcapng;
mod queue;
mod recorder;
#[cfg(feature = "parquet")]
mod table;
#[cfg(not(feature = "parquet"))]
#[path = "table_left_out.rs"]
mod table;
mod text;
mod trigger;

pub use chunk::{Chunk, Entry, Gap, Record, Where};
pub use convert::{Conversion, ConvertError, Converted, Found, convert};
pub use counts::{Counts, InterfaceCounts};
pub use file::{FileError, Rotate};
pub use form::{Form, FormError, Output};
pub use interfaces::{Choice, ChoiceError};
pub use keeper::{Keep, Keeper};
pub use limits::{Limits, Shortfall};
pub use names::Names;
pub use pack::Packing;
pub use recorder::{Done, Recorder, Remark};
pub use trigger::{Trigger, TriggerError};
