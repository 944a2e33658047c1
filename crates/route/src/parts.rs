//! The parts of a table, for crates that put it elsewhere: into the kernel as BPF.
//!
//! A frame has one [`KeyClass`], by its ID, and one sort, by its kind and flags. A route matches
//! IDs by blocks `(raw & mask) == value` in each class, and takes certain [`sort`]s.

pub use crate::filter::blocks;
pub use crate::match_key::{KeyClass, sort, sorts};
#[cfg(feature = "config")]
pub use crate::text::ids::{Wrong, filters as id_filters, raw_filter};
pub use signals::{
    BitMeaning, ByteOrder, FieldLayout, FieldSource, FieldTest, FieldWrite, LinearMap, OutOfRange,
    RangePolicy, SignalField,
};
