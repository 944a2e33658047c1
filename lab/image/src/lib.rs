//! Images without an operating system: they are built from sources that this program contains, and
//! get a gateway.
//!
//! * [`template`] builds the image of the `baremetal` crate with the user's own `cargo`, once for
//!   each version of cangate, and keeps it.
//! * [`plan`] makes the plan for an image from a gateway file, and reports each setting that an
//!   image does not support by its name.
//! * [`embed`] writes the plan into the image.
#![forbid(unsafe_code)]

mod embed;
mod lock;
mod plan;
mod sources;
mod template;

pub use embed::{EmbedError, embed};
pub use plan::plan;
pub use template::{ImageTarget, ImageTemplate, TemplateError, check, template};
