//! A site from a folder of results: filters, overlaid latency profiles, a table, the claims.
//!
//! [`write()`] makes an `index.html`, one script, one style sheet, and data as scripts in the same
//! folder, because a page opened as a file may load scripts but no other files. The index contains
//! each experiment's settings and figures; an experiment's curves are in a file of their own, which
//! is loaded when they are drawn. The same results give the same bytes.

mod claims;
mod data;
mod digest;
mod failed;
mod figures;
mod find;
mod left_out;
mod lookup;
mod page;
mod write;

pub use left_out::LeftOut;
pub use write::{Error, WrittenSite, write};
