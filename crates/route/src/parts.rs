//! What a table is made of, for those who put it elsewhere: into the kernel as BPF.
//!
//! A frame is of one [`Class`] by its ID and of one sort by its kind and flags. A route names IDs
//! by blocks `(raw & mask) == value` in each class, and takes some [`sort`]s.

pub use crate::filter::blocks;
pub use crate::match_key::{Class, sort, sorts};
#[cfg(feature = "config")]
pub use crate::text::ids::{Wrong, filters as id_filters, raw_filter};
