//! The small texts in which routes and operations are written: IDs, bytes, parts of arguments.

pub(crate) mod ids;
pub(crate) mod limits;
pub(crate) mod message;
pub(crate) mod scan;
pub(crate) mod words;
