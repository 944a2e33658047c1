//! The small texts that routes and operations are written in: IDs, bytes, parts of arguments.

pub(crate) mod ids;
pub(crate) mod limits;
pub(crate) mod scan;
pub(crate) mod words;
