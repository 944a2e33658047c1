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
//! counted in exactly one place of [`CaptureCounts`].
//!
//! * [`live`]: from interfaces and devices; [`FileRecorder`]: from chunks into files;
//!   [`FrameKeeper`]: the last seconds in memory, and a file for each trigger.
//! * [`convert()`]: from a log of any format into a file.
//! * [`FrameDatabases`]: the messages of frames, in formats that have them.
//! * [`SignalSelection`], [`SignalLines`]: the signals of a log, as lines; `dataset`: as Parquet
//!   files.
//! * [`CaptureOutput`]: a file, its format (one of those that `logs` writes), and its
//!   [`Packing`]: gzip, Zstandard. Parquet is the feature `parquet`; without it, the result is
//!   [`FormError::NotBuilt`].

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing))]

mod chunk;
mod convert;
mod counts;
mod databases;
#[cfg(feature = "parquet")]
pub mod dataset;
mod file;
mod form;
mod interfaces;
mod keeper;
mod lines;
pub mod live;
mod names;
mod pack;
mod queue;
mod recorder;
mod selection;
mod trigger;

pub use chunk::{Chunk, ChunkEntry, FrameGap, LossPlace, RecordedFrame};
pub use convert::{Conversion, ConversionResult, ConvertError, FoundShortfall, convert};
pub use counts::{CaptureCounts, InterfaceCounts};
pub use databases::FrameDatabases;
pub use file::{FileError, RotationRule};
pub use form::{CaptureOutput, FormError};
pub use interfaces::{ChoiceError, InterfaceChoice};
pub use keeper::{FrameKeeper, KeepRule};
pub use lines::{LineForm, LiveInput, SignalLines};
pub use names::InterfaceNames;
pub use pack::Packing;
pub use recorder::{FileRecorder, RecorderRemark, RecorderTotals};
pub use selection::{FoundMessage, SelectedMessage, SignalSelection};
pub use trigger::{CaptureTrigger, TriggerError};
