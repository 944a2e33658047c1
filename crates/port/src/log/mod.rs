//! Logs as source and sink. Ports read any format that `logs` supports, and write candump's.
//!
//! * [`LogSource`]: a receiving half that replays a log: with its own timing, scaled, or as fast
//!   as its frames are taken.
//! * [`LogSink`]: a transmitting half that writes one.
//!
//! # Why standard input is polled
//! A gateway must not stop because no input comes. Making standard input non-blocking would make
//! it so for every process that shares it, the user's shell among them; a thread that reads it
//! could not be ended while it blocks. So the source calls `poll` before each read: when standard
//! input is readable, one read returns the bytes that are there. (If another process reads the
//! same pipe in that moment, the read can block: a log has one reader.)
//!
//! # Time
//! A line is due when the clock has moved as far as the log has, at the configured pace, counted
//! from the first frame of the port, or of all ports that replay logs of one clock
//! (`origin.rs`). Logs of several interfaces are often slightly out of order: a
//! frame that is at most a second older than one before it is due at once, with its own stamp.
//! A larger step back is treated as another recording that was appended: it follows without a
//! pause, and its own times count from there. With `repeat`, the next round begins a pause after
//! the last frame of all logs of the same clock (`rounds.rs`).

mod due;
mod lines;
mod old_files;
mod origin;
mod output;
mod rotation;
mod rounds;
mod settings;
mod sink;
mod source;
mod source_config;
mod target;

pub use due::ReplaySpeed;
pub use logs::{
    BadLine, BadLines, Database, FileFormat, InterfaceName, LogEntry, LogError, LogPlace,
    LogReader, LoggedFrame, ONLY_A_SIMULATION_WAITS, PassedRecords, asks_to_wait, loss_words,
};
pub use old_files::OldFiles;
pub use rotation::RotationRule;
pub use rounds::LogRounds;
pub use settings::{LogOrigin, LogPorts, LogSettings};
pub use sink::{LogSink, SinkConfig};
pub use source::LogSource;
pub use source_config::{OnFull, SourceConfig};
