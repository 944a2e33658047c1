//! `kind = "split"`: FD frames as numbered classic frames, and back.
//!
//! The port is no bus. An FD frame that a route leads to it comes out as several classic frames,
//! its *parts*, for other routes to carry to a bus without FD. Parts that a route leads to it come
//! out as the FD frame again. No frame is ever cut: a frame of which a part is missing is dropped
//! as a whole, and its parts count as lost.
//!
//! `format` has the layout of parts, `joiner` the rules for putting them together.

mod format;
mod halves;
mod joiner;
mod settings;

#[cfg(test)]
mod tests;

pub use format::part_lens;
pub use settings::{SplitPorts, SplitSettings};
