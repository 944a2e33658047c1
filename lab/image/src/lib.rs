//! Images without an operating system: built from sources that this program carries, and given a
//! gateway.
//!
//! * [`template`] builds the image of the `baremetal` crate with the user's own `cargo`, once for
//!   each version of cangate, and keeps it.
//! * [`plan`] makes what an image gets from a gateway file, and says by name what an image cannot
//!   do.
//! * [`embed`] writes the one into the other.
#![forbid(unsafe_code)]

mod embed;
mod lock;
mod plan;
mod sources;
mod template;

pub use embed::{EmbedError, embed};
pub use plan::plan;
pub use template::{For, Template, TemplateError, check, template};
